// SPDX-License-Identifier: Apache-2.0
// Counts elements of a tensor in row-major order.
#pragma once

#include "mote/runtime/tensor.h"

namespace mote::test {

inline AxisList unravel(std::int64_t k, const AxisList& shape) {
  AxisList index = shape;
  for (int axis = shape.size(); axis-- > 0; k /= shape[axis]) index[axis] = k % shape[axis];
  return index;
}

}  // namespace mote::test
