// SPDX-License-Identifier: Apache-2.0
// Declares what versions that are searched for and versions by hand have in common.
#pragma once

#include "mote/codegen/schedule.h"

namespace mote {

/// Returns the version without steps.
Version native(const LoopProgram& p);
/// Shares the outermost loops among threads, including those under conditions.
void share_outermost(Version& v, const ScheduleOptions& options);

}  // namespace mote
