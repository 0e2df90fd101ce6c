// SPDX-License-Identifier: Apache-2.0
// Lifetimes on one line of time for blocks that are used on several streams.
#pragma once

#include <span>
#include <vector>

#include "mote/graph/schedule.h"
#include "mote/memory/problem.h"

namespace mote {

/// Returns a lifetime for each block, such that two blocks do not interfere if theirs do not meet:
/// of one of them all uses have ended before the other one is written, whatever the streams do.
/// Takes (n·log n + e)·k steps for n blocks and e steps on k streams.
std::vector<Lifetime> stream_bounds(const StreamSchedule& schedule, const HappensBefore& before,
                                    std::span<const StreamLife> lives,
                                    std::span<const MemoryBlock> blocks);

}  // namespace mote
