// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: moves a loop inside the loops that it holds.
#pragma once

#include <optional>
#include <string>

#include "mote/codegen/loops.h"

namespace mote {

/// Turns `for c { for n with s { s += f(n, c) } y[c] = s }` into a loop over tiles of c, in which
/// each statement has a loop over c of its own, inside n, and s is an array with an element for
/// each c of the tile; so is a scalar that is local to an iteration of c. `loop` must be in p, and
/// the loops in it must be serial. Adds the arrays to p.tensors; the order of each sum stays.
/// Returns nullopt, with p as it was, if this is not possible: limits that depend on c,
/// accumulators that remember a position, temporaries of an iteration.
std::optional<Stmt> moved_inward(LoopProgram& p, const Stmt& loop, std::int64_t tile,
                                 std::string& step);

}  // namespace mote
