// SPDX-License-Identifier: Apache-2.0
// Finds loops in vectors of which a compiler knows, for each iteration, which loads and stores run.
// gcc 12 makes one access to a whole vector of those, beyond the end of the tensor: `vblendpd $1,
// (%rax), %ymm0, %ymm0` for `k <= 0 ? x[k] : 0` in a loop over 0 <= k < 4.
#pragma once

#include "mote/codegen/loops.h"

namespace mote::emit {

/// Returns true if conditions in the loop's body, which are those of an access, depend on nothing
/// but the variables of loops of p whose limits are constants, of which the loop is one.
bool has_known_mask(const LoopProgram& p, const Loop& loop, const Body& body);

}  // namespace mote::emit
