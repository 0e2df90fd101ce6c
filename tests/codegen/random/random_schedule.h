// SPDX-License-Identifier: Apache-2.0
// Draws schedules: steps of every kind on the loops of a program, most of which are refused.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "mote/codegen/emit_cuda.h"
#include "mote/codegen/schedule.h"
#include "rng.h"

namespace mote::test {

struct DrawnSchedule {
  Version version;                ///< after all steps that were taken
  std::set<std::string> taken;    ///< their words
  std::set<std::string> refused;  ///< the words of those that were not
  bool reorders = false;          ///< a step changed the order of sums
};

/// Tiles in registers are small, so that sizes of trials are enough for them. Half of the programs
/// may multiply padding.
ScheduleOptions small_tiles(const LoopProgram& p);

/// Returns the shapes of tiles of gen kernels that this processor can run.
std::vector<RegisterShape> shapes_here();
/// The tiles of gen kernels, of a shape that is drawn for the program.
ScheduleOptions whole_tiles(const LoopProgram& p);
/// Returns a seed that follows from the program, so that what is drawn for it is drawn again.
std::uint64_t seed_of(const LoopProgram& p);

/// Tries up to `most` steps, one behind the other. Each try takes
/// all steps again from their text. Throws InternalError if a refusal does not name its step and a
/// reason.
DrawnSchedule draw_schedule(const LoopProgram& p, Rng& rng, int most);

struct DrawnCuda {
  CudaProgram program;            ///< after all steps that were taken
  std::vector<Step> steps;        ///< these steps
  std::set<std::string> taken;    ///< their words
  std::set<std::string> refused;  ///< the words of those that were not
};

/// Tries up to `most` steps of a GPU's schedule behind a few on loops, as draw_schedule() does.
DrawnCuda draw_cuda(const LoopProgram& p, Rng& rng, int most, const EmitOptions& options = {});

}  // namespace mote::test
