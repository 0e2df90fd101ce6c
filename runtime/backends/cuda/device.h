// SPDX-License-Identifier: Apache-2.0
// The first GPU as kernels and NVIDIA's libraries share it: its context, and whether that can still
// be used.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "driver.h"

namespace mote::cuda {

class Device {
 public:
  /// The first GPU, through its primary context, which other users of CUDA in this process share.
  /// Opened at the first call that succeeds, and kept as long as the process. Throws Error where
  /// there is no driver or no GPU.
  static std::shared_ptr<Device> open();

  const Driver& driver() const { return *driver_; }
  int architecture() const { return architecture_; }  ///< 90: sm_90
  /// Makes the context current for this thread.
  Held enter() const;

  /// After an error that ends the context: why.
  std::optional<std::string> lost() const;
  void lose(const std::string& why);

 private:
  explicit Device(std::shared_ptr<const Driver> driver);

  std::shared_ptr<const Driver> driver_;
  int architecture_ = 0;
  DriverContext* context_ = nullptr;
  mutable std::mutex mutex_;
  std::optional<std::string> lost_;
};

}  // namespace mote::cuda
