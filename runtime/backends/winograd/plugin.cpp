// SPDX-License-Identifier: Apache-2.0
// The plug-in's table: one backend, "winograd", with conv2d.
#include "kernels.h"

namespace {

constexpr mote_contract kContract = {.size = sizeof(mote_contract),
                                     .accumulator = MOTE_ACC_NATIVE,
                                     .multiply_rounding = 0,
                                     .flushes_denormals = 0,
                                     .deterministic = 1,
                                     .form = "winograd_f4",
                                     .function_count = 0,
                                     .in_place_count = 0,
                                     .functions = nullptr,
                                     .in_place = nullptr,
                                     .ignores_nan = 0,
                                     .reserved = 0,
                                     .indices = MOTE_INDICES_ANY,
                                     .reserved_end = 0};

constexpr mote_kernel kKernel = {.size = sizeof(mote_kernel),
                                 .op = "conv2d",
                                 .contract = &kContract,
                                 .can_run = mote::winograd::can_run_conv2d,
                                 .workspace_bytes = mote::winograd::workspace_of_conv2d,
                                 .run = mote::winograd::run_conv2d,
                                 .run_checked = nullptr};

constexpr mote_backend kBackend = {.size = sizeof(mote_backend),
                                   .name = "winograd",
                                   .version = MOTE_VERSION,
                                   .kernel_count = 1,
                                   .reserved = 0,
                                   .kernels = &kKernel};

}  // namespace

extern "C" mote_status mote_plugin_init(mote_plugin* plugin) {
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &kBackend;
  return MOTE_OK;
}
