// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: a loop moves inside the loops that it holds.
#pragma once

#include <optional>
#include <string>

#include "mote/codegen/loops.h"

namespace mote {

/// `for c { for n with s { s += f(n, c) } y[c] = s }` becomes a loop over tiles of c, in which each
/// statement has a loop over c of its own, inside n, and s is an array with an element for each c
/// of the tile; so is a scalar that lives in a round of c. What `loop` holds must be in p,
/// unmarked. Adds the arrays to p.tensors; the order in which each sum is taken stays. nullopt,
/// with p as it was, where that is not possible: limits that depend on c, accumulators that
/// remember a position, temporaries of a round.
std::optional<Stmt> moved_inward(LoopProgram& p, const Stmt& loop, std::int64_t tile,
                                 std::string& step);

}  // namespace mote
