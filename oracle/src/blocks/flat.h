// SPDX-License-Identifier: Apache-2.0
// Reads that only give a tensor another shape, as one position in row-major order: the digits of a
// position, put together again, are the position.
#pragma once

#include "plan.h"

namespace mote::blocks {

/// The read of each element of `shape` as one along all axes of the tensor in row-major order, if
/// none is out of range and that is simpler: it divides nothing. Else the read as it is.
Read flattened(Read read, const std::vector<Expr>& shape, const Facts& params);

}  // namespace mote::blocks
