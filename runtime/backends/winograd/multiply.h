// SPDX-License-Identifier: Apache-2.0
// The products of transformed values: m[co][t] = sum_ci u[co][ci] v[ci][t] over the tiles of a
// block. They are compiled for each supported level of instruction sets.
#pragma once

#include <cstddef>

namespace mote::winograd {

/// The number of tiles that are computed together.
constexpr std::size_t kBlock = 32;

using Multiply = void(const float* u, const float* v, float* m, std::size_t outputs,
                      std::size_t inputs);
Multiply multiply_v0;
#ifdef MOTE_X86_LEVELS
Multiply multiply_v3, multiply_v4;
#endif
/// Returns the best one for this machine.
Multiply* best_multiply();

}  // namespace mote::winograd
