// SPDX-License-Identifier: Apache-2.0
#include "gpu.h"

#include <fmt/format.h>

#include <algorithm>

#include "file_cache.h"
#include "groups.h"

namespace mote::cuda {
namespace {

/// The minimum architecture: kernels multiply 16-bit reals by instructions that older ones lack.
constexpr int kLeastArchitecture = 80;

/// CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, in percent: a hint.
constexpr int kSharedMemoryShare = 9;

/// Returns the target that NVRTC compiles for on such a GPU: the nearest architecture that is not
/// newer. Its code runs on the GPU if both are of one generation; else the target is PTX, which the
/// driver compiles.
Target target_for(const Nvrtc& nvrtc, int architecture) {
  if (architecture < kLeastArchitecture)
    throw Error(
        fmt::format("the GPU is sm_{}, expected sm_{} or later", architecture, kLeastArchitecture));
  int nearest = 0;
  for (const int known : nvrtc.architectures())
    if (known <= architecture) nearest = std::max(nearest, known);
  if (nearest < kLeastArchitecture)
    throw Error(fmt::format("NVRTC {} knows neither sm_{} nor one from sm_{} on that is older",
                            nvrtc.version(), architecture, kLeastArchitecture));
  return {nearest, nearest / 10 != architecture / 10};
}

/// Returns the program's text with only these kernels.
std::string text_of(const CudaProgram& whole, const std::vector<const CudaKernel*>& kernels) {
  CudaProgram program{.comment = whole.comment, .kernels = {}, .temporaries = {}};
  for (const CudaKernel* kernel : kernels) program.kernels.push_back(*kernel);
  return emit_cuda(program, false);
}

}  // namespace

Gpu::Gpu(std::shared_ptr<Device> device, std::shared_ptr<const Nvrtc> nvrtc, int driver_version)
    : device_(std::move(device)),
      nvrtc_(std::move(nvrtc)),
      target_(target_for(*nvrtc_, device_->architecture())),
      driver_version_(driver_version) {}

std::shared_ptr<Gpu> Gpu::open() {
  static std::mutex mutex;
  static std::shared_ptr<Gpu> known;
  const std::lock_guard lock(mutex);
  if (known != nullptr) return known;
  auto device = Device::open();
  int version = 0;
  device->driver().check(device->driver().calls().version(&version), "cuDriverGetVersion");
  std::string why;
  auto nvrtc = Nvrtc::find(why, version);
  if (nvrtc == nullptr) throw Error("no NVRTC: " + why);
  known = std::shared_ptr<Gpu>(new Gpu(std::move(device), std::move(nvrtc), version));
  return known;
}

/// Compiles the kernels as one program: NVRTC's start takes longer than most kernels.
void Gpu::load(const OpInstance& instance, Variant variant,
               const std::vector<const CudaKernel*>& kernels) {
  std::string key = key_of_instance(instance, variant);
  for (const CudaKernel* kernel : kernels) key += " " + kernel->function;
  const Compiled code = nvrtc_->compile_cached(
      FileCache(cache_folder() / "nvrtc"), fmt::format("{}, driver {}", key, driver_version_),
      target_, effort_for(variant), [&] { return text_of(instance.source(variant), kernels); });
  DriverModule* module = nullptr;
  const Driver& driver = device_->driver();
  driver.check(driver.calls().load(&module, code.code.data()), "cuModuleLoadData");
  std::vector<DriverFunction*> found(kernels.size());
  for (std::size_t k = 0; k < kernels.size(); ++k)
    driver.check(driver.calls().function(&found[k], module, kernels[k]->function.c_str()),
                 "cuModuleGetFunction");
  // A multiprocessor must hold two blocks of 48 KiB each, whose copies bypass its cache.
  for (std::size_t k = 0; k < kernels.size(); ++k)
    if (kernels[k]->has_pipelined_tiles())
      driver.check(driver.calls().set_attribute(found[k], kSharedMemoryShare, 100),
                   "cuFuncSetAttribute");
  for (std::size_t k = 0; k < kernels.size(); ++k) functions_.emplace(kernels[k], found[k]);
}

std::vector<DriverFunction*> Gpu::functions(const OpInstance& instance, Variant variant,
                                            std::span<const CudaKernel* const> kernels) {
  const std::lock_guard lock(mutex_);
  std::vector<const CudaKernel*> missing;
  for (const CudaKernel* kernel : kernels)
    if (!functions_.contains(kernel) && std::ranges::find(missing, kernel) == missing.end())
      missing.push_back(kernel);
  if (!missing.empty()) load(instance, variant, missing);
  std::vector<DriverFunction*> all;
  for (const CudaKernel* kernel : kernels) all.push_back(functions_.at(kernel));
  return all;
}

}  // namespace mote::cuda
