// SPDX-License-Identifier: Apache-2.0
// Batch axes of an op: the op is computed separately for each index along them, so they may be
// merged with others, or taken one index at a time.
#pragma once

#include "mote/uops/program.h"

namespace mote {

/// True if every output has the size exactly once as an axis, and an element there depends only on
/// elements of inputs with the same index along that size. May return false for a batch that the
/// analysis does not recognise.
bool is_batch(const Program& program, Symbol size);

}  // namespace mote
