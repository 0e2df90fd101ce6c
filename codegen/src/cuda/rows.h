// Rounds that a block of threads takes together.
#pragma once

#include <optional>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

/// `loop` is the innermost of the shared loops of p. Each loop in it can be shared among the
/// threads of a block where the strides returned are 1: it is innermost, its rounds are independent
/// but for sums, products, maxima and minima of reals. nullopt: some loop can't, or none of them
/// reduces.
std::optional<std::vector<KnownStride>> strides_of_rows(const LoopProgram& p, const Loop& loop);

}  // namespace mote::cuda
