// SPDX-License-Identifier: Apache-2.0
// Iterates over two tensors of one shape, line by line in the order of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "mote/runtime/joint_axes.h"
#include "mote/runtime/tensor.h"

namespace mote {

inline AxisStrides strides_in(const Tensor& x) {
  AxisStrides strides{};
  std::ranges::copy(x.strides(), strides.begin());
  return strides;
}

/// Calls line(from, x_step, to, y_step, count) along the innermost axis, for every index of the
/// others; steps are in bytes. There are as few lines as the strides allow, and none without
/// elements.
template <typename Line>
void each_line(const Tensor& x, const Tensor& y, const Line& line) {
  if (y.element_count() == 0) return;
  JointAxes axes{.rank = y.rank(), .extents = {}};
  std::ranges::copy(y.shape(), axes.extents.begin());
  std::array<AxisStrides, 2> views = {strides_in(y), strides_in(x)};
  order_axes(axes, views);
  if (merge_axes(axes, views, 0, axes.rank) == 0) axes = {.rank = 1, .extents = {1}};

  const auto x_size = static_cast<std::int64_t>(size_of(x.dtype()));
  const auto y_size = static_cast<std::int64_t>(size_of(y.dtype()));
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(y.data());
  const int inner = axes.rank - 1;
  const auto last = static_cast<std::size_t>(inner);
  std::array<std::int64_t, kMaxAxes> index{};
  while (true) {
    std::int64_t x_offset = 0;
    std::int64_t y_offset = 0;
    for (std::size_t axis = 0; axis < last; ++axis) {
      y_offset += index[axis] * views[0][axis];
      x_offset += index[axis] * views[1][axis];
    }
    line(from + x_offset * x_size, views[1][last] * x_size, to + y_offset * y_size,
         views[0][last] * y_size, axes.extents[last]);
    int axis = inner - 1;
    for (; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (++index[a] < axes.extents[a]) break;
      index[a] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace mote
