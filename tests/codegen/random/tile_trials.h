// SPDX-License-Identifier: Apache-2.0
// Draws trials whose sizes lie around the amounts of a schedule's steps: whole tiles and blocks,
// one element less or more, several of them. The amounts are those that the versions have.
#pragma once

#include <cstdint>
#include <vector>

#include "mote/codegen/schedule.h"
#include "trial.h"

namespace mote::test {

/// Draws `count` trials for the versions of `schedule`, which were made of the loops with the
/// options. No trial computes more than `most` elements of all nodes together, which takes what a
/// few small trials take.
std::vector<Trial> tile_trials(const LoopProgram& loops, const Schedule& schedule,
                               const ScheduleOptions& options, std::uint64_t seed, int count,
                               std::int64_t most);

}  // namespace mote::test
