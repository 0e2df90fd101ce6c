#include "gpu.h"

#include <fmt/format.h>

#include <vector>

#include "file_cache.h"
#include "groups.h"

namespace mote::cuda {
namespace {

/// Kernels multiply 16-bit reals by instructions that older ones have not.
constexpr int kLeastArchitecture = 80;

/// What NVRTC compiles for such a GPU: code for an older one of the same generation runs on it.
int known_architecture(const Nvrtc& nvrtc, int architecture) {
  if (architecture < kLeastArchitecture)
    throw Error(
        fmt::format("the GPU is sm_{}, expected sm_{} or later", architecture, kLeastArchitecture));
  for (int a = architecture; a >= architecture / 10 * 10; --a)
    if (nvrtc.knows(a)) return a;
  throw Error(fmt::format("NVRTC {} does not know sm_{}", nvrtc.version(), architecture));
}

/// Of the kernels that are parts of stages, or of the others.
std::string text_of(CudaProgram program, bool parts) {
  std::erase_if(program.kernels, [&](const CudaKernel& k) { return (k.part > 0) != parts; });
  if (parts) program.distributed.clear();
  return emit_cuda(program, false);
}

}  // namespace

Gpu::Gpu(std::shared_ptr<Device> device, std::shared_ptr<const Nvrtc> nvrtc)
    : device_(std::move(device)),
      nvrtc_(std::move(nvrtc)),
      architecture_(known_architecture(*nvrtc_, device_->architecture())) {
  const Driver& driver = device_->driver();
  driver.check(driver.calls().version(&driver_version_), "cuDriverGetVersion");
}

std::shared_ptr<Gpu> Gpu::open() {
  static std::mutex mutex;
  static std::shared_ptr<Gpu> known;
  const std::lock_guard lock(mutex);
  if (known != nullptr) return known;
  auto device = Device::open();
  std::string why;
  auto nvrtc = Nvrtc::find(why);
  if (nvrtc == nullptr) throw Error("no NVRTC: " + why);
  known = std::shared_ptr<Gpu>(new Gpu(std::move(device), std::move(nvrtc)));
  return known;
}

DriverModule* Gpu::module_of(const OpInstance& instance, Variant variant, bool parts) {
  const std::tuple key(&instance, variant, parts);
  const auto known = modules_.find(key);
  if (known != modules_.end()) return known->second;
  const Compiled code = nvrtc_->compile_cached(
      FileCache(cache_folder() / "nvrtc"),
      fmt::format("{}{}, driver {}", key_of_instance(instance, variant), parts ? ", parts" : "",
                  driver_version_),
      architecture_, effort_for(variant), [&] { return text_of(instance.source(variant), parts); });
  DriverModule* made = nullptr;
  const Driver& driver = device_->driver();
  driver.check(driver.calls().load(&made, code.cubin.data()), "cuModuleLoadData");
  modules_.emplace(key, made);
  return made;
}

DriverFunction* Gpu::function(const OpInstance& instance, Variant variant,
                              const CudaKernel& kernel) {
  const std::lock_guard lock(mutex_);
  DriverModule* const module = module_of(instance, variant, kernel.part > 0);
  DriverFunction* found = nullptr;
  const Driver& driver = device_->driver();
  driver.check(driver.calls().function(&found, module, kernel.function.c_str()),
               "cuModuleGetFunction");
  return found;
}

}  // namespace mote::cuda
