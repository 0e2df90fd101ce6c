// SPDX-License-Identifier: Apache-2.0
// Map of a block of elements.
#pragma once

#include <span>

#include "cell.h"

namespace mote::blocks {

/// y[k] = op(args[0][k], …) for k < count, as apply() defines it: arguments of dtype `from`, result
/// of `to`. Blocks may be the same, but overlap in no other way.
void map_block(MapOp op, std::span<const Operand> args, DType from, DType to, Cell* y,
               std::int64_t count);

}  // namespace mote::blocks
