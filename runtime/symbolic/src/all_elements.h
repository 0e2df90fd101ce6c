// SPDX-License-Identifier: Apache-2.0
// Goes over the elements of a region, by their offsets in the tensor's memory.
#pragma once

#include <array>
#include <cstdint>

#include "mote/symbolic/view.h"

namespace mote {

/// Calls function(offset) for each element of a region that has some, until it returns false;
/// returns whether it never did.
template <typename Function>
bool all_elements(const ViewRegion& region, const Function& function) {
  const AxisList& shape = region.form.shape;
  std::array<std::int64_t, kMaxAxes> index{};
  std::int64_t offset = region.offset;
  while (true) {
    if (!function(offset)) return false;
    int axis = shape.size() - 1;
    for (; axis >= 0; --axis) {
      const auto k = static_cast<std::size_t>(axis);
      offset += region.form.strides[axis];
      if (++index[k] < shape[axis]) break;
      offset -= shape[axis] * region.form.strides[axis];
      index[k] = 0;
    }
    if (axis < 0) return true;
  }
}

}  // namespace mote
