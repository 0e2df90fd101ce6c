// SPDX-License-Identifier: Apache-2.0
// The GPU that generated kernels run on: the compiler for it, and its modules.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "catalogue_kernels.h"
#include "device.h"
#include "nvrtc.h"

namespace mote::cuda {

class Gpu {
 public:
  /// Returns the GPU, which the first call that succeeds opens and which is kept as long as the
  /// process. Throws Error if there is no driver, no GPU or no NVRTC whose code the driver takes.
  static std::shared_ptr<Gpu> open();

  Device& device() const { return *device_; }
  /// Returns the functions of kernels of the instance that are launched together. New ones are
  /// compiled as one program by NVRTC, or taken from the cache; the context must be current. Throws
  /// Error with the compiler's log, or DriverError.
  std::vector<DriverFunction*> functions(const OpInstance& instance, Variant variant,
                                         std::span<const CudaKernel* const> kernels);

 private:
  Gpu(std::shared_ptr<Device> device, std::shared_ptr<const Nvrtc> nvrtc, int driver_version);
  void load(const OpInstance& instance, Variant variant,
            const std::vector<const CudaKernel*>& kernels);

  std::shared_ptr<Device> device_;
  std::shared_ptr<const Nvrtc> nvrtc_;
  Target target_;
  int driver_version_ = 0;
  std::mutex mutex_;
  std::map<const CudaKernel*, DriverFunction*> functions_;
};

}  // namespace mote::cuda
