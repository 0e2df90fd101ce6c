#include "gpu.h"

#include <fmt/format.h>

#include "file_cache.h"
#include "groups.h"

namespace mote::cuda {
namespace {

// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
constexpr int kMajor = 75;
constexpr int kMinor = 76;

/// What NVRTC compiles for such a GPU: code for an older one of the same generation runs on it.
int known_architecture(const Nvrtc& nvrtc, int architecture) {
  for (int a = architecture; a >= architecture / 10 * 10; --a)
    if (nvrtc.knows(a)) return a;
  throw Error(fmt::format("NVRTC {} does not know sm_{}", nvrtc.version(), architecture));
}

}  // namespace

Gpu::Gpu(std::shared_ptr<const Driver> driver, std::shared_ptr<const Nvrtc> nvrtc)
    : driver_(std::move(driver)), nvrtc_(std::move(nvrtc)) {
  const DriverCalls& c = driver_->calls();
  driver_->check(c.init(0), "cuInit");
  int count = 0;
  driver_->check(c.device_count(&count), "cuDeviceGetCount");
  if (count == 0) throw Error("a driver, but no GPU");
  int device = 0, major = 0, minor = 0;
  driver_->check(c.device(&device, 0), "cuDeviceGet");
  driver_->check(c.attribute(&major, kMajor, device), "cuDeviceGetAttribute");
  driver_->check(c.attribute(&minor, kMinor, device), "cuDeviceGetAttribute");
  architecture_ = known_architecture(*nvrtc_, 10 * major + minor);
  driver_->check(c.retain(&context_, device), "cuDevicePrimaryCtxRetain");
}

std::shared_ptr<Gpu> Gpu::open() {
  static std::mutex mutex;
  static std::shared_ptr<Gpu> known;
  const std::lock_guard lock(mutex);
  if (known != nullptr) return known;
  std::string why;
  auto driver = Driver::find(why);
  if (driver == nullptr) throw Error(why);
  auto nvrtc = Nvrtc::find(why);
  if (nvrtc == nullptr) throw Error("no NVRTC: " + why);
  known = std::shared_ptr<Gpu>(new Gpu(std::move(driver), std::move(nvrtc)));
  return known;
}

Held Gpu::enter() const {
  const DriverCalls& c = driver_->calls();
  driver_->check(c.push(context_), "cuCtxPushCurrent");
  return {*driver_, "cuCtxPopCurrent", [&c] {
            DriverContext* popped = nullptr;
            return c.pop(&popped);
          }};
}

DriverModule* Gpu::module_of(const OpInstance& instance, Variant variant) {
  const auto known = modules_.find({&instance, variant});
  if (known != modules_.end()) return known->second;
  const Compiled code = nvrtc_->compile_cached(
      FileCache(cache_folder() / "nvrtc"), key_of_instance(instance, variant), architecture_,
      [&] { return emit_cuda(instance.source(variant), false); });
  DriverModule* made = nullptr;
  driver_->check(driver_->calls().load(&made, code.cubin.data()), "cuModuleLoadData");
  modules_.emplace(std::pair(&instance, variant), made);
  return made;
}

DriverFunction* Gpu::function(const OpInstance& instance, Variant variant,
                              const std::string& kernel) {
  const std::lock_guard lock(mutex_);
  DriverModule* const module = module_of(instance, variant);
  DriverFunction* found = nullptr;
  driver_->check(driver_->calls().function(&found, module, kernel.c_str()), "cuModuleGetFunction");
  return found;
}

std::optional<std::string> Gpu::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

void Gpu::lose(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = why;
}

}  // namespace mote::cuda
