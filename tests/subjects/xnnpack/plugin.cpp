// SPDX-License-Identifier: Apache-2.0
// XNNPACK as two backends: f32, with some integer dtypes, and f16, whose sums are kept in f16.
#include <array>

#include "kernels.h"

namespace mote::subject::xnn {
namespace {

constexpr std::array kOverX = {mote_op_pair{.input = 0, .output = 0}};
constexpr std::array kOverBoth = {mote_op_pair{.input = 0, .output = 0},
                                  mote_op_pair{.input = 1, .output = 0}};
/// Operators run with denormals switched off. Where results are clamped, here to [-inf, inf], NaN
/// becomes -inf. exp is p·2^n, which loses a factor that is denormal.
constexpr std::array kExp = {mote_accuracy{"exp", 3, 1, 0x1p-125}};
constexpr Promise kExact = {.in_place = kOverX};
constexpr Promise kUnary = {.in_place = kOverX, .flushes_denormals = true};
constexpr Promise kUnaryOfNumbers = {
    .in_place = kOverX, .flushes_denormals = true, .ignores_nan = true};
constexpr Promise kOfExp = {
    .in_place = kOverX, .functions = kExp, .flushes_denormals = true, .ignores_nan = true};
constexpr Promise kBinary = {.in_place = kOverBoth, .flushes_denormals = true};
constexpr Promise kBinaryOfNumbers = {
    .in_place = kOverBoth, .flushes_denormals = true, .ignores_nan = true};
constexpr Promise kOfNumbers = {.flushes_denormals = true, .ignores_nan = true};
constexpr Promise kPadded = {
    .form = "padding_multiplied", .flushes_denormals = true, .ignores_nan = true};

// f16 is computed in f32, where its denormals are normal numbers.
constexpr Promise kHalfUnaryOfNumbers = {.in_place = kOverX, .ignores_nan = true};
constexpr Promise kHalfBinary = {.in_place = kOverBoth, .ignores_nan = true};
constexpr Promise kHalfOfNumbers = {.ignores_nan = true};
constexpr Promise kHalfPadded = {.form = "padding_multiplied", .ignores_nan = true};

constexpr std::array kKernels = {
    Kernel{"abs", unary<float>, kExact},
    Kernel{"ceil", unary<float>, kUnary},
    Kernel{"elu", unary<float>, kUnary},
    Kernel{"floor", unary<float>, kUnary},
    Kernel{"hardswish", unary<float>, kUnary},
    Kernel{"leaky_relu", unary<float>, kUnary},
    Kernel{"neg", unary<float>, kExact},
    Kernel{"relu", unary<float>, kUnaryOfNumbers},
    Kernel{"round", unary<float>, kUnary},
    Kernel{"sigmoid", unary<float>, kUnary},
    Kernel{"sqrt", unary<float>, kUnary},
    Kernel{"trunc", unary<float>, kUnary},
    Kernel{"add", binary<float>, kBinaryOfNumbers},
    Kernel{"sub", binary<float>, kBinaryOfNumbers},
    Kernel{"mul", binary<float>, kBinaryOfNumbers},
    Kernel{"max", binary<float>, kBinaryOfNumbers},
    Kernel{"min", binary<float>, kBinaryOfNumbers},
    Kernel{"mse_none", binary<float>, kBinary},
    Kernel{"prelu", prelu<float>, kUnary},
    Kernel{"softmax", softmax, kOfExp},
    Kernel{"cast_f16", cast},
    Kernel{"cast_f32", cast},
    Kernel{"matmul", matmul<float>, kOfNumbers},
    Kernel{"gemm", gemm<float>, kOfNumbers},
    Kernel{"conv1d", convolution<float>, kPadded},
    Kernel{"conv2d", convolution<float>, kPadded},
    Kernel{"conv_transpose2d", deconvolution<float>, kPadded},
    Kernel{"global_avg_pool", global_average<float>, kOfNumbers},
    Kernel{"avg_pool2d", average_pool, kOfNumbers},
    Kernel{"max_pool2d", max_pool<float>, kOfNumbers},
    Kernel{"pad_constant", pad},
};

constexpr std::array kHalfKernels = {
    Kernel{"leaky_relu", unary<Half>, kExact},
    Kernel{"relu", unary<Half>, kHalfUnaryOfNumbers},
    Kernel{"add", binary<Half>, kHalfBinary},
    Kernel{"mul", binary<Half>, kHalfBinary},
    Kernel{"prelu", prelu<Half>, kHalfUnaryOfNumbers},
    Kernel{"matmul", matmul<Half>, kHalfOfNumbers},
    Kernel{"gemm", gemm<Half>, kHalfOfNumbers},
    Kernel{"conv2d", convolution<Half>, kHalfPadded},
    Kernel{"conv_transpose2d", deconvolution<Half>, kHalfPadded},
    Kernel{"global_avg_pool", global_average<Half>, kHalfOfNumbers},
    Kernel{"max_pool2d", max_pool<Half>, kHalfOfNumbers},
};

}  // namespace
}  // namespace mote::subject::xnn

extern "C" MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin* plugin) {
  using namespace mote::subject::xnn;
  if (xnn_initialize(nullptr) != xnn_status_success) return MOTE_UNSUPPORTED;
  return mote::subject::offer(*plugin, "2022-02-16",
                              {{"xnnpack", kKernels}, {"xnnpack_f16", kHalfKernels}});
}
