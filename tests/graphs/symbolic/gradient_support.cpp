// SPDX-License-Identifier: Apache-2.0
#include "gradient_support.h"

#include <gtest/gtest.h>

#include <cmath>

#include "mote/runtime/status.h"
#include "mote/symbolic/evaluate.h"

namespace mote {
namespace {

template <typename Function>
void for_each_index(const AxisList& shape, const Function& function) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  for (std::int64_t k = 0; k < count; ++k) {
    AxisList index = shape;
    std::int64_t rest = k;
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    function(index, static_cast<std::size_t>(k));
  }
}

}  // namespace

Tensor real(const Numbers& values, const AxisList& shape) {
  Tensor tensor(DType::f64, shape);
  for_each_index(shape,
                 [&](const AxisList& index, std::size_t k) { tensor.set(index, values[k]); });
  return tensor;
}

Tensor real(const Numbers& values) {
  return real(values, {static_cast<std::int64_t>(values.size())});
}

Tensor counted(const AxisList& shape, double lowest, double highest, int turn) {
  Numbers values;
  for_each_index(shape, [&](const AxisList&, std::size_t k) {
    // A sequence of low discrepancy: elements of one tensor keep away from each other.
    const double at = 0.6180339887498949 * static_cast<double>(k + 1) + 0.2360679774997898 * turn;
    values.push_back(lowest + (highest - lowest) * (at - std::floor(at)));
  });
  return real(values, shape);
}

Numbers numbers(const Tensor& tensor) {
  Numbers values;
  for_each_index(tensor.shape(), [&](const AxisList& index, std::size_t) {
    values.push_back(is_real(tensor.dtype()) ? tensor.real_at(index)
                                             : static_cast<double>(tensor.integer_at(index)));
  });
  return values;
}

}  // namespace mote
