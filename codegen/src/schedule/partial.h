// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: parts of a loop's iterations add up partial sums, which threads do at
// the same time; these are added up behind the loop.
#pragma once

#include <cstdint>
#include <string>

#include "schedule/take.h"

namespace mote {

/// Gives each `amount` iterations of the loop arrays of their own for those to which it adds.
/// `effect` gets these arrays. The parts depend on sizes alone, so that results do not change with
/// the number of threads.
Refusal add_up_parts(LoopProgram& p, const Path& loop, std::int64_t amount, std::string& effect);

}  // namespace mote
