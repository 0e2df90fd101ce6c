// SPDX-License-Identifier: Apache-2.0
// The backends cuda and cuda_reference: every kernel of the catalogue on the first GPU, in the
// variants gen and reference; and cuda_tf32, with the kernels that multiply f32 rounded to tf32. If
// there is no GPU, they decline each call with the reason.
#include <array>

#include "gpu.h"
#include "gpu_call.h"
#include "kernel_table.h"
#include "offered_device.h"

namespace mote::cuda {
namespace {

struct GpuMachine {
  static const Grid& grid() {
    static const Grid large;
    return large;
  }

  static backend::Check ready(const mote_call& call) {
    bool on_gpu = false;
    if (backend::Check check = find_location(call, on_gpu)) return check;
    try {
      if (const auto lost = Gpu::open()->device().lost())
        return backend::unsupported("the GPU's context was lost: " + *lost);
    } catch (const Error& e) {
      return backend::unsupported(e.what());
    }
    return {};
  }

  /// Returns 0 for tensors of the host: then the workspace is allocated on the GPU with their
  /// copies.
  static std::size_t workspace_bytes(const mote_call& call, const Plan& plan) {
    bool on_gpu = false;
    return !find_location(call, on_gpu) && on_gpu ? plan.workspace_bytes() : 0;
  }

  static backend::Check run(const mote_call& call, void* stream, const OpInstance& instance,
                            Variant variant, const Plan& plan) {
    return run_on_gpu(call, stream, instance, variant, plan);
  }
};

}  // namespace
}  // namespace mote::cuda

extern "C" mote_status mote_plugin_devices(const mote_device** devices, int32_t* count) {
  return mote::cuda::offer_device(devices, count);
}

extern "C" mote_status mote_plugin_init(mote_plugin* plugin) {
  using namespace mote::cuda;
  static const std::vector<mote_kernel> gen = gen_kernels<GpuMachine>();
  static const std::vector<mote_kernel> reference = reference_kernels<GpuMachine>();
  static const std::vector<mote_kernel> tf32 = tf32_kernels<GpuMachine>();
  static const std::array<mote_backend, 3> all = {
      backend_of("cuda", MOTE_VERSION, gen), backend_of("cuda_reference", MOTE_VERSION, reference),
      backend_of("cuda_tf32", MOTE_VERSION, tf32)};
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = static_cast<std::int32_t>(all.size());
  plugin->backends = all.data();
  return MOTE_OK;
}
