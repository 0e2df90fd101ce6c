// SPDX-License-Identifier: Apache-2.0
// One step of a schedule: asks a condition on data once, before the loop that it does not change
// in.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// Turns `for d { y[d] = t >= 0 ? w[t, d] : 0 }`, where t is an element or a name, into a loop
/// under t >= 0, which copies, and one under t < 0, which fills: each runs in whole vectors without
/// a condition. Returns the steps taken.
std::vector<std::string> hoist_conditions(LoopProgram& p);

}  // namespace mote
