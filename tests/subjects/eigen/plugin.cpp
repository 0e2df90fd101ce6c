// SPDX-License-Identifier: Apache-2.0
// Eigen as a backend, compiled for the machine that it is built on.
#include <fmt/format.h>

#include <Eigen/Core>
#include <array>
#include <vector>

#include "kernels.h"

namespace mote::subject::eigen {
namespace {

constexpr std::array kOverX = {mote_op_pair{.input = 0, .output = 0}};
constexpr Promise kUnary = {.in_place = kOverX};
/// Square roots of floats use an approximate 1/sqrt (EIGEN_FAST_MATH is on by default): the last
/// digits differ, the root of a denormal is 0, that of inf NaN. The logistic function of floats is
/// a quotient of polynomials for a hyperbolic tangent.
constexpr std::array kRoots = {mote_accuracy{"sqrt", 3, 0, 0}, mote_accuracy{"rsqrt", 4, 0, 0}};
constexpr Promise kRoot = {
    .in_place = kOverX, .functions = kRoots, .flushes_denormals = true, .ignores_nan = true};
constexpr Promise kFlushing = {.in_place = kOverX, .flushes_denormals = true};
constexpr Promise kLogistic = {.form = "tanh", .in_place = kOverX};
/// max() and min() of arrays do not define the result for NaN.
constexpr Promise kUnaryOfNumbers = {.in_place = kOverX, .ignores_nan = true};
constexpr Promise kOfNumbers = {.ignores_nan = true};

constexpr std::array kKernels = {
    Kernel{"abs", unary, kUnary},
    Kernel{"acos", unary, kUnary},
    Kernel{"asin", unary, kUnary},
    Kernel{"atan", unary, kUnary},
    Kernel{"ceil", unary, kUnary},
    Kernel{"cos", unary, kUnary},
    Kernel{"cosh", unary, kUnary},
    Kernel{"erf", unary, kFlushing},
    Kernel{"floor", unary, kUnary},
    Kernel{"log1p", unary, kUnary},
    Kernel{"neg", unary, kUnary},
    Kernel{"recip", unary, kUnary},
    Kernel{"relu", unary, kUnaryOfNumbers},
    Kernel{"round", unary, kUnary},
    Kernel{"rsqrt", unary, kRoot},
    Kernel{"sigmoid", unary_of_f32, kLogistic},
    Kernel{"sign", unary, kUnary},
    Kernel{"sin", unary, kUnary},
    Kernel{"sinh", unary, kUnary},
    Kernel{"sqrt", unary, kRoot},
    Kernel{"tan", unary, kUnary},
    Kernel{"tanh", unary, kUnary},
    Kernel{"elu", activation, kUnary},
    Kernel{"gelu", activation, kUnary},
    Kernel{"hardsigmoid", activation, kUnaryOfNumbers},
    Kernel{"leaky_relu", activation, kUnary},
    Kernel{"selu", activation, kUnary},
    Kernel{"softplus", activation, kUnaryOfNumbers},
    Kernel{"softsign", activation, kUnary},
    Kernel{"threshold", activation, kUnary},
    Kernel{"add", binary},
    Kernel{"sub", binary},
    Kernel{"mul", binary},
    Kernel{"div", binary},
    Kernel{"max", binary, kOfNumbers},
    Kernel{"min", binary, kOfNumbers},
    Kernel{"equal", comparison},
    Kernel{"greater", comparison},
    Kernel{"greater_or_equal", comparison},
    Kernel{"less", comparison},
    Kernel{"less_or_equal", comparison},
    Kernel{"not_equal", comparison},
    Kernel{"cast_f32", cast},
    Kernel{"cast_f64", cast},
    Kernel{"cast_f16", cast},
    Kernel{"cast_bf16", cast},
    Kernel{"sum", reduction},
    Kernel{"mean", reduction},
    Kernel{"prod", reduction},
    Kernel{"norm1", reduction},
    Kernel{"norm2", reduction},
    Kernel{"sumsq", reduction},
    Kernel{"reduce_max", reduction},
    Kernel{"reduce_min", reduction},
    Kernel{"argmax", position, kOfNumbers},
    Kernel{"argmin", position, kOfNumbers},
    Kernel{"softmax", along_axis},
    Kernel{"log_softmax", along_axis},
    Kernel{"matmul", matmul},
    Kernel{"gemm", gemm},
    Kernel{"conv2d", conv2d, {.form = "padding_multiplied"}},
    Kernel{"cumsum", cumsum},
    Kernel{"pad_constant", moved},
    Kernel{"flip", moved},
    Kernel{"tile", moved},
    Kernel{"concat", moved},
    Kernel{"transpose", moved},
};

}  // namespace
}  // namespace mote::subject::eigen

extern "C" MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin* plugin) {
  using namespace mote::subject;
  const std::string version = fmt::format("{}.{}.{} {}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                                          EIGEN_MINOR_VERSION, Eigen::SimdInstructionSetsInUse());
  static std::vector<Kernel> all(eigen::kKernels.begin(), eigen::kKernels.end());
  for (const Kernel& kernel : eigen::kernels_of_this_level()) all.push_back(kernel);
  return offer(*plugin, version, {{"eigen", all}});
}
