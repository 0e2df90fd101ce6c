// SPDX-License-Identifier: Apache-2.0
// The products of the transformed: m[co][t] = sum_ci u[co][ci] v[ci][t] over the tiles of a block.
// Compiled for each level of instruction sets that there may be.
#pragma once

#include <cstddef>

namespace mote::winograd {

/// Tiles that are computed together.
constexpr std::size_t kBlock = 32;

using Multiply = void(const float* u, const float* v, float* m, std::size_t outputs,
                      std::size_t inputs);
Multiply multiply_v0;
#ifdef MOTE_X86_LEVELS
Multiply multiply_v3, multiply_v4;
#endif
/// The best for this machine.
Multiply* best_multiply();

}  // namespace mote::winograd
