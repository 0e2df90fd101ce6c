// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: shares the iterations of outermost loops among threads.
#pragma once

#include "mote/codegen/schedule.h"

namespace mote {

/// Marks the outermost loops with independent iterations, including those under conditions; what an
/// iteration fills before it reads becomes its own.
void share_among_threads(Version& v);

}  // namespace mote
