// SPDX-License-Identifier: Apache-2.0
// Iterates over two tensors of one shape, line by line in the order of memory.
#pragma once

#include <algorithm>
#include <array>
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

/// The axes of two tensors of one shape, in the order of y's memory, with as few as the strides
/// allow; one axis at least. The tensors have elements.
struct JointViews {
  JointViews(const Tensor& x, const Tensor& y)
      : axes{.rank = y.rank(), .extents = {}}, strides{strides_in(y), strides_in(x)} {
    std::ranges::copy(y.shape(), axes.extents.begin());
    order_axes(axes, strides);
    if (merge_axes(axes, strides, 0, axes.rank) == 0) axes = {.rank = 1, .extents = {1}};
  }

  /// Calls visit(x_offset, y_offset), in elements, for each index of the first axes.
  template <typename Visit>
  void each_offset(int rank, const Visit& visit) const {
    std::array<std::int64_t, kMaxAxes> index{};
    while (true) {
      std::int64_t x_offset = 0;
      std::int64_t y_offset = 0;
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis) {
        y_offset += index[axis] * strides[0][axis];
        x_offset += index[axis] * strides[1][axis];
      }
      visit(x_offset, y_offset);
      int axis = rank - 1;
      for (; axis >= 0; --axis) {
        const auto a = static_cast<std::size_t>(axis);
        if (++index[a] < axes.extents[a]) break;
        index[a] = 0;
      }
      if (axis < 0) return;
    }
  }

  JointAxes axes;
  std::array<AxisStrides, 2> strides;  ///< of y, of x
};

/// Calls line(from, x_step, to, y_step, count) along the innermost axis, for every index of the
/// others; steps are in bytes. There are as few lines as the strides allow, and none without
/// elements.
template <typename Line>
void each_line(const Tensor& x, const Tensor& y, const Line& line) {
  if (y.element_count() == 0) return;
  const JointViews views(x, y);
  const auto x_size = static_cast<std::int64_t>(size_of(x.dtype()));
  const auto y_size = static_cast<std::int64_t>(size_of(y.dtype()));
  const auto* from = static_cast<const std::byte*>(x.data());
  auto* to = static_cast<std::byte*>(y.data());
  const auto last = static_cast<std::size_t>(views.axes.rank - 1);
  views.each_offset(views.axes.rank - 1, [&](std::int64_t x_offset, std::int64_t y_offset) {
    line(from + x_offset * x_size, views.strides[1][last] * x_size, to + y_offset * y_size,
         views.strides[0][last] * y_size, views.axes.extents[last]);
  });
}

}  // namespace mote
