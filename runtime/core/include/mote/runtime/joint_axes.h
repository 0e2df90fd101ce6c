// SPDX-License-Identifier: Apache-2.0
// The axes that several views of one shape share, with as few of them as possible: axes of extent 1
// are dropped, and neighbouring axes that every view steps through as if they were one are merged.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "mote/base/export.h"
#include "mote/runtime/axes.h"

namespace MOTE_API mote {

/// The strides of a view for the axes of the joint shape; 0 where the view repeats.
using AxisStrides = std::array<std::int64_t, kMaxAxes>;

struct JointAxes {
  int rank = 0;
  std::array<std::int64_t, kMaxAxes> extents{};
};

/// Merges the axes [begin, end) of `axes` with each other, in place, and rewrites the strides of
/// every view to match. Later axes move to the front. Returns how many of [begin, end) remain; none
/// if all had extent 1.
int merge_axes(JointAxes& axes, std::span<AxisStrides> views, int begin, int end);

/// Sorts the axes by falling strides of the first view, ties by the second, and so on, so that
/// merging finds the order in memory.
void order_axes(JointAxes& axes, std::span<AxisStrides> views);

}  // namespace mote
