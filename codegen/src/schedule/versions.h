// SPDX-License-Identifier: Apache-2.0
// Declares what versions that are searched for and versions by hand have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mote/codegen/schedule.h"
#include "schedule/paths.h"

namespace mote {

/// Returns the version without steps.
Version native(const LoopProgram& p);
/// Returns the names of the loops' variables.
std::vector<std::string> names_of_loops(const LoopProgram& p, const std::vector<Path>& paths);
/// Runs every loop in vectors that can; either the version or the loop asks for the strides.
/// Reads may go on by `widest` elements from one iteration to the next, where it is given.
void mark_simd(Version& v, StepKind who, const ScheduleOptions& options, std::int64_t widest = -1);
/// Returns the version in which a loop over columns, along which elements are adjacent, lies inside
/// the reductions over rows; without steps if there is none. `is_tiled`: others have tiles.
Version with_columns_inward(const Version& start, const ScheduleOptions& options, bool is_tiled);
/// Puts loops over columns inside the only reduction that they hold, in the nests of which no loop
/// runs in vectors, if the strides that the version relies on let these run in vectors then.
void add_up_other_columns(Version& v, const ScheduleOptions& options);
/// Returns true if all loops that add to the sums of columns run in vectors.
bool add_up_columns_in_vectors(const LoopProgram& p);
/// Returns the versions in which another loop than the last of a nest is the innermost: first those
/// with sums in registers. `is_tiled`: others have tiles, and only loops whose sizes must be 1 are
/// left.
std::vector<Version> innermost_versions(const Version& start, const ScheduleOptions& options,
                                        bool is_tiled);
/// Shares the outermost loops among threads, including those under conditions.
void share_outermost(Version& v, const ScheduleOptions& options);

}  // namespace mote
