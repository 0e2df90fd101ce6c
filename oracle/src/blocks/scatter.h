// SPDX-License-Identifier: Apache-2.0
// Writes blocks of elements onto an array.
#pragma once

#include <span>

#include "cell.h"
#include "index.h"
#include "mote/uops/uop.h"

namespace mote::blocks {

/// y[to(k)] = op(y[to(k)], x[k]), one element after another; what is out of range goes nowhere. The
/// stretches say where as many elements go, y and x hold that dtype.
void scatter_onto(ScatterOp op, DType dtype, Cell* y, const Operand& x,
                  std::span<const Stretch> to);

}  // namespace mote::blocks
