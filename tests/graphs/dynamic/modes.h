// SPDX-License-Identifier: Apache-2.0
// Tests of dynamic graphs that hold whether commands run as they are given or when a value is
// looked at.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "mote/dynamic/dynamic_graph.h"

namespace mote::test {

inline Tensor all_of(const AxisList& shape, double value, DType dtype = DType::f64) {
  Tensor tensor(dtype, shape);
  fill(tensor, value);
  return tensor;
}

/// Returns f64 elements first, first + 1, … in row-major order.
inline Tensor rising(const AxisList& shape, double first = 0) {
  const Tensor tensor(DType::f64, shape);
  const Tensor list = tensor.reshape({tensor.element_count()});
  for (std::int64_t k = 0; k < list.extent(0); ++k) list.set({k}, first + static_cast<double>(k));
  return tensor;
}

/// Returns the elements in row-major order.
inline std::vector<double> elements_of(const Variable& x) {
  const Tensor value = clone(x.value());
  const Tensor list = value.reshape({value.element_count()});
  std::vector<double> elements;
  for (std::int64_t k = 0; k < list.extent(0); ++k) elements.push_back(list.real_at({k}));
  return elements;
}

struct InBothModes : testing::TestWithParam<bool> {
  static bool is_deferred() { return GetParam(); }
  Context context;
  DynamicGraph g{context, {.deferred = GetParam()}};
};

inline std::string mode_name(const testing::TestParamInfo<bool>& mode) {
  return mode.param ? "Deferred" : "Eager";
}

}  // namespace mote::test
