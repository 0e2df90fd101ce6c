// SPDX-License-Identifier: Apache-2.0
// The functions for which Eigen has other code with AVX-512 (docs/findings.md).
#include <array>

#include "kernels.h"

namespace mote::subject::eigen {
namespace {

constexpr std::array kOverX = {mote_op_pair{.input = 0, .output = 0}};
/// Below the logarithm of the least normal number exp is a denormal, never 0, even for -inf.
constexpr std::array kExp = {mote_accuracy{"exp", 4, 0, 0x1p-126}};
constexpr Promise kOfExp = {
    .in_place = kOverX, .functions = kExp, .flushes_denormals = true, .ignores_nan = true};
constexpr Promise kFlushing = {.in_place = kOverX, .flushes_denormals = true};

constexpr std::array kKernels = {
    Kernel{"exp", unary_of_f32, kOfExp},
    Kernel{"expm1", unary, kFlushing},
    Kernel{"silu", activation_of_f32, kOfExp},
    Kernel{"pow", binary_of_f32},
};

}  // namespace

std::span<const Kernel> kernels_of_this_level() { return kKernels; }

}  // namespace mote::subject::eigen
