// SPDX-License-Identifier: Apache-2.0
// Splits long reductions with few iterations, for more threads than there are iterations.
#pragma once

#include <optional>

#include "mote/codegen/loops.h"

namespace mote::cuda {

struct SplitReduction {
  LoopProgram program;  ///< the loops, with named sizes of its own
  Expr terms;           ///< the number of terms of the longest reduction
};

/// Turns each loop that folds all its iterations into sums, products, maxima or minima into two
/// nests: one that folds each part of its iterations into memory, and one that combines these.
/// `p`'s statements may be those of one stage. Returns nullopt if there is no such loop.
std::optional<SplitReduction> with_split_reduction(const LoopProgram& p);

}  // namespace mote::cuda
