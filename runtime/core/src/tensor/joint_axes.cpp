// SPDX-License-Identifier: Apache-2.0
// Merges axes: a and the next axis b are one if, in every view, the stride of a is b's extent times
// the stride of b.
#include "mote/runtime/joint_axes.h"

#include <algorithm>
#include <cstdlib>

#include "tensor/at.h"

namespace mote {
namespace {

void swap_axes(JointAxes& axes, std::span<AxisStrides> views, int a, int b) {
  std::swap(axes.extents[at(a)], axes.extents[at(b)]);
  for (AxisStrides& view : views) std::swap(view[at(a)], view[at(b)]);
}

bool one_run(const JointAxes& axes, std::span<AxisStrides> views, int outer, int inner) {
  const std::int64_t extent = axes.extents[at(inner)];
  return std::ranges::all_of(views, [&](const AxisStrides& view) {
    std::int64_t step = 0;
    return !__builtin_mul_overflow(view[at(inner)], extent, &step) && view[at(outer)] == step;
  });
}

/// True if axis a steps further than b in the first view in which they differ.
bool steps_further(std::span<AxisStrides> views, int a, int b) {
  for (const AxisStrides& view : views) {
    const std::int64_t x = std::llabs(view[at(a)]);
    const std::int64_t y = std::llabs(view[at(b)]);
    if (x != y) return x > y;
  }
  return false;
}

}  // namespace

int merge_axes(JointAxes& axes, std::span<AxisStrides> views, int begin, int end) {
  int kept = begin;  // axes [begin, kept) are merged as far as possible
  for (int axis = begin; axis < end; ++axis) {
    if (axes.extents[at(axis)] == 1) continue;
    if (kept > begin && one_run(axes, views, kept - 1, axis)) {
      axes.extents[at(kept - 1)] *= axes.extents[at(axis)];
      for (AxisStrides& view : views) view[at(kept - 1)] = view[at(axis)];
      continue;
    }
    axes.extents[at(kept)] = axes.extents[at(axis)];
    for (AxisStrides& view : views) view[at(kept)] = view[at(axis)];
    ++kept;
  }
  const int removed = end - kept;
  for (int axis = end; axis < axes.rank; ++axis) swap_axes(axes, views, axis - removed, axis);
  axes.rank -= removed;
  return kept - begin;
}

void order_axes(JointAxes& axes, std::span<AxisStrides> views) {
  for (int axis = 1; axis < axes.rank; ++axis)
    for (int k = axis; k > 0 && steps_further(views, k, k - 1); --k)
      swap_axes(axes, views, k, k - 1);
}

}  // namespace mote
