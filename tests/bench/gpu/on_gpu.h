// SPDX-License-Identifier: Apache-2.0
// A case whose tensors lie on the GPU, and functions that run kernels on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/device.h"
#include "mote/base/plugin.h"
#include "mote/oracle/case.h"
#include "run/buffer.h"
#include "run/call_frame.h"

namespace mote::bench {

/// Owns memory of the GPU whose context is current. Throws cuda::DriverError.
class DeviceMemory {
 public:
  DeviceMemory(const cuda::Driver& driver, std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  cuda::DevicePointer at() const { return at_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const cuda::Driver& driver_;
  cuda::DevicePointer at_ = 0;
  std::size_t bytes_;
};

class CaseOnGpu {
 public:
  /// Fills the inputs with the first kFilled elements that the case's fill gives them, repeated.
  CaseOnGpu(Case c, const cuda::Driver& driver, cuda::DriverStream* stream);

  const Case& subject_case() const { return case_; }
  /// The bytes of the elements of all tensors, each counted once.
  double bytes() const;
  /// Returns the backend's kernel that takes the call, with workspace for it; or the reason why
  /// none does.
  KernelChoice choose(const mote_backend& backend);
  /// Queues one call. Throws Error with the kernel's message.
  void run(const mote_kernel& kernel);
  /// Returns at most kSampled elements of each output's memory, at even distances, after all queued
  /// work is done.
  std::vector<double> sampled_outputs();

 private:
  struct Placed {
    Placed(const CaseTensor& t, const cuda::Driver& driver);
    Placement placement;
    std::vector<std::int64_t> shape;
    DeviceMemory memory;
    DLTensor tensor{};
  };
  static constexpr std::int64_t kFilled = 1'000'003;
  static constexpr std::int64_t kSampled = 100'003;

  void fill(std::size_t input);
  void check(int status, const char* call) const { driver_.check(status, call); }

  Case case_;
  const cuda::Driver& driver_;
  cuda::DriverStream* stream_;
  std::vector<std::unique_ptr<Placed>> inputs_;
  std::vector<std::unique_ptr<Placed>> outputs_;
  std::unique_ptr<DeviceMemory> workspace_;
  std::unique_ptr<CallFrame> frame_;
};

}  // namespace mote::bench
