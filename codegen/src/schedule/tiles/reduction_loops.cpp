// SPDX-License-Identifier: Apache-2.0
#include "schedule/tiles/reduction_loops.h"

#include <algorithm>

namespace mote {
namespace {

bool is_along_window(const TiledReduction& r, const LoopRange& l) {
  return (l.end - l.begin).as_symbol() &&
         std::ranges::any_of(r.nest.conditions,
                             [&](const Condition& c) { return c.e.mentions(l.variable); });
}

}  // namespace

bool has_window(const TiledReduction& r) {
  return std::ranges::any_of(r.nest.loops,
                             [&](const LoopRange& l) { return is_along_window(r, l); });
}

std::vector<LoopRange> ordered_loops(const TiledReduction& r) {
  std::vector<LoopRange> ordered = r.nest.loops;
  std::ranges::stable_partition(ordered, [&](const LoopRange& l) { return is_along_window(r, l); });
  return ordered;
}

std::vector<LoopRange> rows_first(const TiledReduction& r) {
  std::vector<LoopRange> ordered = r.nest.loops;
  std::ranges::stable_partition(ordered, [&](const LoopRange& l) {
    return std::ranges::any_of(r.shared.row_conditions,
                               [&](const Condition& c) { return c.e.mentions(l.variable); });
  });
  return ordered;
}

}  // namespace mote
