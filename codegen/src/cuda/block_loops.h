// SPDX-License-Identifier: Apache-2.0
// Asks how the threads of a block share a loop.
#pragma once

#include "mote/codegen/loops.h"

namespace mote::emit {

/// Returns true for a loop that threads of a block share, or in which they share one.
bool is_shared_within_block(const Loop& l);
/// Returns the simd loop that takes the iterations of each step of the loop; null if there is none.
const Loop* simd_loop_of(const Loop& l);

}  // namespace mote::emit
