// SPDX-License-Identifier: Apache-2.0
// Simplifies reads that only give a tensor another shape to one position in row-major order: the
// digits of a position, recombined, are the position.
#pragma once

#include "plan.h"

namespace mote::blocks {

/// The read of each element of `shape` as one read along all axes of the tensor in row-major order,
/// if it is never out of range and that position divides nothing. Otherwise the read as it is.
Read flattened(Read read, const std::vector<Expr>& shape, const Facts& params);

}  // namespace mote::blocks
