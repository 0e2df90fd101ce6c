// SPDX-License-Identifier: Apache-2.0
// The counters that functions of the caller's see (loop_counters()), by thread.
#pragma once

#include "mote/graph/control.h"

namespace mote::graph {

/// Gives this thread other counters.
void set_counters(LoopCounters counters);

}  // namespace mote::graph
