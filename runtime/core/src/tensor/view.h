// SPDX-License-Identifier: Apache-2.0
// Functions that views and planners share: other metadata on the same memory.
#pragma once

#include "mote/runtime/tensor.h"

namespace mote {

/// Returns x's memory from element `offset` on, with that shape and those strides (checked for
/// overflow).
Tensor reshaped_view(const Tensor& x, const AxisList& shape, const AxisList& strides,
                     std::int64_t offset);

/// True if the bytes from the first to the last element of x overlap those of y.
bool overlap(const Tensor& x, const Tensor& y);

}  // namespace mote
