// SPDX-License-Identifier: Apache-2.0
// The plug-in's tables: one backend, "openblas", with gemm, matmul and conv2d.
#include <cblas.h>

#include <array>
#include <string>

#include "kernels.h"

namespace {

namespace ob = mote::openblas;

constexpr mote_op_pair kCToY = {.input = 2, .output = 0};

constexpr mote_contract contract(const char* form, const mote_op_pair* pair = nullptr) {
  return {.size = sizeof(mote_contract),
          .accumulator = MOTE_ACC_NATIVE,
          .multiply_rounding = 0,
          .flushes_denormals = 0,
          .deterministic = 1,
          .form = form,
          .function_count = 0,
          .in_place_count = pair != nullptr ? 1 : 0,
          .functions = nullptr,
          .in_place = pair,
          .ignores_nan = 0,
          .reserved = 0,
          .indices = MOTE_INDICES_ANY,
          .reserved_end = 0};
}

constexpr mote_contract kDirect = contract("direct");
constexpr mote_contract kGemm = contract("direct", &kCToY);
constexpr mote_contract kPaddingMultiplied = contract("padding_multiplied");

constexpr std::array<mote_kernel, 3> kKernels = {{
    {.size = sizeof(mote_kernel),
     .op = "gemm",
     .contract = &kGemm,
     .can_run = ob::can_run_gemm,
     .workspace_bytes = nullptr,
     .run = ob::run_gemm,
     .run_checked = nullptr},
    {.size = sizeof(mote_kernel),
     .op = "matmul",
     .contract = &kDirect,
     .can_run = ob::can_run_matmul,
     .workspace_bytes = nullptr,
     .run = ob::run_matmul,
     .run_checked = nullptr},
    {.size = sizeof(mote_kernel),
     .op = "conv2d",
     .contract = &kPaddingMultiplied,
     .can_run = ob::can_run_conv2d,
     .workspace_bytes = ob::workspace_of_conv2d,
     .run = ob::run_conv2d,
     .run_checked = nullptr},
}};

/// Returns "0.3.21" from "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …".
std::string library_version() {
  const std::string config = openblas_get_config();
  const std::size_t begin = config.find(' ') + 1;
  return config.substr(begin, config.find(' ', begin) - begin);
}

}  // namespace

extern "C" MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin* plugin) {
  static const std::string version = library_version();
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = "openblas",
                                       .version = version.c_str(),
                                       .kernel_count = static_cast<std::int32_t>(kKernels.size()),
                                       .reserved = 0,
                                       .kernels = kKernels.data()};
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}
