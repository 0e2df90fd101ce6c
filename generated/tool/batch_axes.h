// SPDX-License-Identifier: Apache-2.0
// Which axes of an op are a batch: the op is computed for each index along them by itself, so that
// they may be merged with others, or taken one index at a time.
#pragma once

#include "mote/uops/program.h"

namespace mote {

/// True if every output holds the size exactly once as an axis, and an element there depends on
/// elements of inputs with the same index along that size only. False where that is not seen.
bool is_batch(const Program& program, Symbol size);

}  // namespace mote
