// SPDX-License-Identifier: Apache-2.0
// The axes that several views of one shape share, with as few of them as possible: axes of extent 1
// go, and neighbours that every view crosses as if they were one become one.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "mote/base/export.h"
#include "mote/runtime/axes.h"

namespace MOTE_API mote {

/// A view's strides, for the axes of the joint shape; 0 where it repeats.
using AxisStrides = std::array<std::int64_t, kMaxAxes>;

struct JointAxes {
  int rank = 0;
  std::array<std::int64_t, kMaxAxes> extents{};
};

/// Merges the axes [begin, end) of `axes` in place, among them only; the strides of every view are
/// rewritten alike. Axes behind them move to the front. Returns how many of [begin, end) are left;
/// where all had extent 1, none.
int merge_axes(JointAxes& axes, std::span<AxisStrides> views, int begin, int end);

/// Puts the axes in the order of falling strides of the first view, of the second where those tie…,
/// so that merging finds the order in memory.
void order_axes(JointAxes& axes, std::span<AxisStrides> views);

}  // namespace mote
