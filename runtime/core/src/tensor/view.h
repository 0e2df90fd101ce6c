// SPDX-License-Identifier: Apache-2.0
// What views and planners share: other metadata on the same memory.
#pragma once

#include "mote/runtime/tensor.h"

namespace mote {

/// x's memory from element `offset` on, with that shape and those strides (checked for overflow).
Tensor reshaped_view(const Tensor& x, const AxisList& shape, const AxisList& strides,
                     std::int64_t offset);

/// Whether the bytes from the first to the last element of x meet those of y.
bool overlap(const Tensor& x, const Tensor& y);

}  // namespace mote
