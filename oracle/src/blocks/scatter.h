// SPDX-License-Identifier: Apache-2.0
// Writes blocks of elements onto an array.
#pragma once

#include <span>

#include "cell.h"
#include "index.h"
#include "mote/uops/uop.h"

namespace mote::blocks {

/// Computes y[to(k)] = op(y[to(k)], x[k]), one element after another; elements that are out of
/// range are dropped. The stretches give a position for each element of x; y and x have that dtype.
void scatter_onto(ScatterOp op, DType dtype, Cell* y, const Operand& x,
                  std::span<const Stretch> to);

}  // namespace mote::blocks
