// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: computes a block of a loop's iterations, and at once what later loops
// make of the arrays that it fills, so that these hold one block only. In the gradient of
// attention, a block of queries has its weights, from which gq is stored and gk and gv are added
// up.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/take.h"

namespace mote {

/// Takes `amount` iterations of the loop at a time. Sums over it are kept in arrays from one block
/// to the next. `effect` gets the arrays of a block.
Refusal run_in_blocks(LoopProgram& p, const Path& loop, std::int64_t amount, std::string& effect);

}  // namespace mote
