// SPDX-License-Identifier: Apache-2.0
// Finds iterations that a block of threads takes together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote::cuda {

/// Returns the loop and those directly below it, while each body is just the next loop, which
/// must have no accumulators of its own.
std::vector<const Loop*> nest_of(const Loop& loop);

/// Checks whether the threads of a block can share each loop in `loop`, the innermost of the shared
/// loops of p, and returns the strides that must be 1 for it: each loop is innermost, or a nest
/// over whole rows or planes, and its iterations are independent except for sums, products, maxima
/// and minima of reals. Returns nullopt if some loop cannot be shared, or if none reduces although
/// `reduces` asks for one.
std::optional<std::vector<KnownStride>> strides_of_rows(const LoopProgram& p, const Loop& loop,
                                                        bool reduces = true);
/// Returns why the threads of a block cannot share each loop in `loop`, whose loops need not
/// reduce: the dependence that forbids it, or the statement.
std::string why_no_rows(const LoopProgram& p, const Loop& loop);

/// Returns the number of elements of the longest innermost loop whose length is the same in every
/// iteration; nullopt if none is known.
std::optional<Expr> longest_row(const Body& stage);

}  // namespace mote::cuda
