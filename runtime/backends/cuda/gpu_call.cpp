// In: a plan; out: its launches as work of the device.
#include "gpu_call.h"

#include "gpu.h"

namespace mote::cuda {
namespace {

void launch(const OpInstance& instance, Variant variant, const Plan& plan, const OnDevice& at) {
  Gpu& gpu = *Gpu::open();
  const Driver& driver = gpu.device().driver();
  std::string launched;
  for (Launch& l : plan.launches(at.data, at.workspace)) {
    const std::string& name = l.kernel->function;
    at.doing = name;
    std::vector<void*> arguments;
    for (ArgumentValue& a : l.arguments) arguments.push_back(a.words.data());
    DriverFunction* const function = gpu.function(instance, variant, *l.kernel);
    driver.check(driver.calls().launch(function, static_cast<unsigned>(l.blocks), 1, 1,
                                       static_cast<unsigned>(l.threads), 1, 1, 0, at.stream,
                                       arguments.data(), nullptr),
                 "cuLaunchKernel");
    launched += (launched.empty() ? "" : ", ") + name;
  }
  if (!launched.empty()) at.doing = launched;
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
