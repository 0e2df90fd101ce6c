// The GPU that generated kernels run on: the compiler for it, and its modules.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "catalogue_kernels.h"
#include "device.h"
#include "nvrtc.h"

namespace mote::cuda {

class Gpu {
 public:
  /// Opened at the first call that succeeds, and kept as long as the process. Throws Error where
  /// there is no driver, no GPU or no NVRTC.
  static std::shared_ptr<Gpu> open();

  Device& device() const { return *device_; }
  /// Of the instance's code, compiled by NVRTC or taken from the cache at the first call; the
  /// context is current. Throws Error with the compiler's log, or DriverError.
  DriverFunction* function(const OpInstance& instance, Variant variant, const CudaKernel& kernel);

 private:
  Gpu(std::shared_ptr<Device> device, std::shared_ptr<const Nvrtc> nvrtc);
  DriverModule* module_of(const OpInstance& instance, Variant variant, bool parts);

  std::shared_ptr<Device> device_;
  std::shared_ptr<const Nvrtc> nvrtc_;
  int architecture_ = 0;  ///< that code is compiled for; 90: sm_90
  int driver_version_ = 0;
  std::mutex mutex_;
  /// Parts of stages have a module of their own: most calls take none.
  std::map<std::tuple<const OpInstance*, Variant, bool>, DriverModule*> modules_;
};

}  // namespace mote::cuda
