// SPDX-License-Identifier: Apache-2.0
// Rounds that a block of threads takes together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

/// Who of how many takes rounds of a loop, as text.
struct Share {
  std::string who;
  std::string count;
};

/// The loop and those right below it, each body but the last's just the next, that fold into its
/// own accumulators alone.
std::vector<const Loop*> nest_of(const Loop& loop);

/// `loop` is the innermost of the shared loops of p. Each loop in it can be shared among the
/// threads of a block where the strides returned are 1: it is innermost, or a nest over whole rows
/// or planes, its rounds are independent but for sums, products, maxima and minima of reals.
/// nullopt: some loop can't, or none of them reduces where one has to.
std::optional<std::vector<KnownStride>> strides_of_rows(const LoopProgram& p, const Loop& loop,
                                                        bool reduces = true);

/// How many elements the longest of the innermost loops has, where that doesn't change from round
/// to round; 0: none is known.
Expr longest_row(const Body& stage);

}  // namespace mote::cuda
