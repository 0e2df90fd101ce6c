// SPDX-License-Identifier: Apache-2.0
// Long reductions of few rounds, for more threads than there are rounds.
#pragma once

#include <optional>

#include "mote/codegen/loops.h"

namespace mote::cuda {

struct Chunked {
  LoopProgram program;  ///< with named sizes of its own
  Expr terms;           ///< that the longest reduction goes over
};

/// A loop that folds all its rounds into sums, products, maxima or minima becomes two nests: one
/// that folds each chunk of its rounds into memory, and one that folds these. `p`'s statements may
/// be those of a stage alone. nullopt where there is no such loop.
std::optional<Chunked> in_chunks(const LoopProgram& p);

}  // namespace mote::cuda
