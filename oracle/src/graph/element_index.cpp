// SPDX-License-Identifier: Apache-2.0
// Index expressions of views: one step at a time, without divisions where axes stay as they are.
#include "graph/element_index.h"

#include <algorithm>

#include "mote/base/error.h"

namespace mote {
namespace {

/// Returns the indices along the axes [begin, end) of x of the element at position `linear`.
void split_position(const AxisList& x, int begin, int end, const Expr& linear,
                    ElementIndex& result) {
  std::int64_t stride = 1;
  bool is_first = true;
  for (int k = begin; k < end; ++k) stride *= x[k];
  for (int k = begin; k < end; ++k) {
    stride /= x[k];
    if (x[k] == 1) {
      result.emplace_back(0);
      continue;
    }
    const Expr steps = stride == 1 ? linear : linear / Expr(stride);
    result.push_back(is_first ? steps : steps % Expr(x[k]));
    is_first = false;
  }
}

/// Returns the position of the element among the axes [begin, end) of y.
Expr position(const AxisList& y, int begin, int end, const ElementIndex& index) {
  Expr linear = 0;
  for (int k = begin; k < end; ++k) {
    linear = linear * Expr(y[k]);
    if (y[k] != 1) linear = linear + index[static_cast<std::size_t>(k)];
  }
  return linear;
}

Shape shape_of_extents(const AxisList& extents) {
  Shape shape;
  for (const std::int64_t extent : extents) shape.emplace_back(Expr(extent));
  return shape;
}

}  // namespace

ElementIndex loop_index(int rank) {
  ElementIndex index;
  for (int k = 0; k < rank; ++k) index.push_back(Expr::loop(k));
  return index;
}

ElementIndex reshaped_index(const AxisList& x, const AxisList& y, const ElementIndex& index) {
  if (x == y) return index;
  if (std::ranges::find(x, 0) != x.end())
    return ElementIndex(static_cast<std::size_t>(x.size()), Expr(0));
  ElementIndex result;
  int i = 0, j = 0;
  while (i < x.size() || j < y.size()) {  // the shortest runs of axes with equal products
    const int x_begin = i, y_begin = j;
    std::int64_t of_x = i < x.size() ? x[i++] : 1;
    std::int64_t of_y = j < y.size() ? y[j++] : 1;
    while (of_x != of_y) {
      if (of_x < of_y ? i == x.size() : j == y.size())
        throw InternalError("reshaped_index: " + to_string(x) + " and " + to_string(y));
      if (of_x < of_y)
        of_x *= x[i++];
      else
        of_y *= y[j++];
    }
    split_position(x, x_begin, i, position(y, y_begin, j, index), result);
  }
  return result;
}

ElementIndex repeated_index(const AxisList& x, const ElementIndex& index) {
  ElementIndex result(index.end() - x.size(), index.end());
  for (int k = 0; k < x.size(); ++k)
    if (x[k] == 1) result[static_cast<std::size_t>(k)] = 0;
  return result;
}

ElementIndex viewed_index(const ViewStep& step, const AxisList& base, const AxisList& view,
                          const ElementIndex& index) {
  ElementIndex result = index;
  switch (step.kind) {
    case ViewKind::slice: {
      Expr& along = result[static_cast<std::size_t>(step.numbers[0])];
      along = along * Expr(step.numbers[3]) + Expr(step.numbers[1]);
      return result;
    }
    case ViewKind::select:
      result.insert(result.begin() + step.numbers[0], Expr(step.numbers[1]));
      return result;
    case ViewKind::permute:
      for (int k = 0; k < step.numbers.size(); ++k)
        result[static_cast<std::size_t>(step.numbers[k])] = index[static_cast<std::size_t>(k)];
      return result;
    case ViewKind::broadcast:
      return repeated_index(base, index);
    case ViewKind::reshape:
      return reshaped_index(base, view, index);
  }
  throw InternalError("viewed_index: a step of no kind");
}

Uop element_at(const Uop& x, const AxisList& shape, const ElementIndex& index) {
  return reindex(x, shape_of_extents(shape), std::vector<IndexText>(index.begin(), index.end()));
}

Uop filled_with(const Number& value, DType dtype, const AxisList& shape) {
  const Uop one = scalar(store_as(value, dtype), dtype);
  return shape.size() == 0 ? one : broadcast(one, shape_of_extents(shape), {});
}

}  // namespace mote
