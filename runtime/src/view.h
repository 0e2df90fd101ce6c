// What views and planners share: other metadata on the same memory.
#pragma once

#include "mote/runtime/tensor.h"

namespace mote {

/// x's memory from element `offset` on, with that shape and those strides (checked for overflow).
Tensor reshaped_view(const Tensor& x, const AxisList& shape, const AxisList& strides,
                     std::int64_t offset);

}  // namespace mote
