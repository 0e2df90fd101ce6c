// The GPU that kernels run on: its context, its modules, and whether it can still be used.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "catalogue_kernels.h"
#include "driver.h"
#include "nvrtc.h"

namespace mote::cuda {

class Gpu {
 public:
  /// The first GPU, through its primary context, which other users of CUDA in this process share.
  /// Opened at the first call that succeeds, and kept as long as the process. Throws Error where
  /// there is no driver, no GPU or no NVRTC.
  static std::shared_ptr<Gpu> open();

  const Driver& driver() const { return *driver_; }
  /// Makes the context current for this thread.
  Held enter() const;
  /// Of the instance's code, compiled by NVRTC or taken from the cache at the first call; the
  /// context is current. Throws Error with the compiler's log, or DriverError.
  DriverFunction* function(const OpInstance& instance, Variant variant, const std::string& kernel);

  /// After an error that ends the context: why.
  std::optional<std::string> lost() const;
  void lose(const std::string& why);

 private:
  Gpu(std::shared_ptr<const Driver> driver, std::shared_ptr<const Nvrtc> nvrtc);
  DriverModule* module_of(const OpInstance& instance, Variant variant);

  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<const Nvrtc> nvrtc_;
  int architecture_ = 0;  ///< 90: sm_90
  DriverContext* context_ = nullptr;
  mutable std::mutex mutex_;
  std::map<std::pair<const OpInstance*, Variant>, DriverModule*> modules_;
  std::optional<std::string> lost_;
};

}  // namespace mote::cuda
