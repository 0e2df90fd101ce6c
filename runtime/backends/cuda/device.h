// SPDX-License-Identifier: Apache-2.0
// The first GPU as kernels and NVIDIA's libraries share it: its context, and whether that is still
// usable.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "driver.h"

namespace mote::cuda {

class Device {
 public:
  /// Returns the first GPU, through its primary context, which other users of CUDA in this process
  /// share. The first call that succeeds opens it, and it is kept as long as the process. Throws
  /// Error if there is no driver or no GPU.
  static std::shared_ptr<Device> open();

  const Driver& driver() const { return *driver_; }
  int architecture() const { return architecture_; }  ///< 90: sm_90
  /// Makes the context current for this thread.
  Held enter() const;

  /// Returns the reason after an error that ended the context.
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
