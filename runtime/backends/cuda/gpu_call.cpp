// SPDX-License-Identifier: Apache-2.0
// Runs a plan. In: a plan; out: its launches as work of the device.
#include "gpu_call.h"

#include "gpu.h"

namespace mote::cuda {
namespace {

void launch(const OpInstance& instance, Variant variant, const Plan& plan, const OnDevice& at) {
  Gpu& gpu = *Gpu::open();
  const Driver& driver = gpu.device().driver();
  std::vector<Launch> launches = plan.launches(at.data, at.workspace);
  std::vector<const CudaKernel*> kernels;
  std::string all;
  for (const Launch& l : launches) {
    kernels.push_back(l.kernel);
    all += (all.empty() ? "" : ", ") + l.kernel->function;
  }
  if (!all.empty()) at.doing = all;
  const std::vector<DriverFunction*> functions = gpu.functions(instance, variant, kernels);
  for (std::size_t k = 0; k < launches.size(); ++k) {
    Launch& l = launches[k];
    at.doing = l.kernel->function;
    std::vector<void*> arguments;
    for (ArgumentValue& a : l.arguments) arguments.push_back(a.words.data());
    driver.check(driver.calls().launch(functions[k], static_cast<unsigned>(l.blocks), 1, 1,
                                       static_cast<unsigned>(l.threads), 1, 1, 0, at.stream,
                                       arguments.data(), nullptr),
                 "cuLaunchKernel");
  }
  if (!all.empty()) at.doing = all;
}

}  // namespace

backend::Check run_on_gpu(const mote_call& call, void* stream, const OpInstance& instance,
                          Variant variant, const Plan& plan) {
  DeviceWork work{.name = instance.function(),
                  .tensors = {},
                  .workspace_bytes = plan.workspace_bytes(),
                  .keeps_alignment = true,
                  .run = [&](const OnDevice& at) { launch(instance, variant, plan, at); }};
  for (std::size_t k = 0; k < plan.views().size(); ++k) {
    const TensorView& view = plan.views()[k];
    work.tensors.push_back({view.tensor, view.data, k >= plan.input_count()});
  }
  return run_on_device(call, stream, work);
}

}  // namespace mote::cuda
