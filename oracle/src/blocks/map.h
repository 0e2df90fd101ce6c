// SPDX-License-Identifier: Apache-2.0
// Applies a Map operation to a block of elements.
#pragma once

#include <span>

#include "cell.h"

namespace mote::blocks {

/// Computes y[k] = op(args[0][k], …) for k < count, as apply() defines it: arguments of dtype
/// `from`, result of `to`. Blocks may be identical, but must not overlap otherwise.
void map_block(MapOp op, std::span<const Operand> args, DType from, DType to, Cell* y,
               std::int64_t count);

}  // namespace mote::blocks
