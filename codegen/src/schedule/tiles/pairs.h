// SPDX-License-Identifier: Apache-2.0
// Sums of products of small integers, two products at a time: processors multiply pairs of 16 bits
// and add both products to a sum of 32 bits in one instruction.
#pragma once

#include <optional>

#include "mote/base/dtype.h"
#include "schedule/tiles/panels.h"

namespace mote {

/// Returns the reduction with half of the iterations of one loop, each of which has two terms: its
/// operands depend on kHalf. Returns nullopt unless all terms are products of two operands that fit
/// 16 bits, and if a condition that is the same for the whole tile depends on the loop; the result
/// demands that the sums fit 32.
std::optional<TiledReduction> in_pairs(const LoopProgram& p, TiledReduction r);

}  // namespace mote
