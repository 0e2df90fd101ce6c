// SPDX-License-Identifier: Apache-2.0
// Draws distances of far tensors that some method of counting offsets cannot hold: 2^20, 2^24
// (floats), 2^31 and 2^32 bytes, 2^31 and 2^32 elements.
#include "generate/draw_layout.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace mote {
namespace {

std::vector<int> drawn_order(int rank, Random& random) {
  std::vector<int> order;
  for (int axis = 0; axis < rank; ++axis)
    order.insert(order.begin() + random.below(axis + 1), axis);
  if (std::ranges::is_sorted(order)) order.clear();
  return order;
}

CaseLayout draw_layout(int rank, bool is_input, Random& random) {
  CaseLayout layout;
  const std::int64_t order = random.below(8);
  if (order < 3 && rank >= 2) layout.order = swapped_order(rank);
  if (order == 3 && rank >= 3) layout.order = nhwc_order(rank);
  if (order == 4 && rank >= 2) layout.order = drawn_order(rank, random);
  if (random.chance(40)) layout.pad = random.between(1, 4);
  if (random.chance(20)) layout.offset = random.between(1, 4);
  if (is_input && rank >= 1 && random.chance(16)) {
    layout.repeated = {static_cast<int>(random.below(rank))};
  }
  if (rank >= 1 && random.chance(20))
    layout.gaps = {{static_cast<int>(random.below(rank)), random.between(1, 3)}};
  return layout;
}

/// The distances that are far for a kernel, in elements of that number of bytes.
std::vector<std::int64_t> far_distances(std::int64_t element_bytes) {
  constexpr auto power = [](unsigned e) { return std::int64_t{1} << e; };
  return {power(32),
          power(31),
          power(31),
          power(31),
          power(31),
          power(32) / element_bytes,
          power(32) / element_bytes,
          power(31) / element_bytes,
          power(31) / element_bytes,
          power(24),
          power(24),
          power(20)};
}

/// Gives the tensor the first of the distances, from the drawn one on, at which the last element is
/// near enough.
bool give_distance(CaseTensor& t, std::size_t drawn, Random& random,
                   const std::function<void(CaseLayout&, std::int64_t)>& give) {
  const auto bytes = static_cast<std::int64_t>(size_of(t.dtype));
  const std::vector<std::int64_t> distances = far_distances(bytes);
  const std::int64_t more = random.between(0, 3);
  for (std::size_t k = drawn; k < distances.size(); ++k) {
    CaseLayout layout = t.layout;
    give(layout, distances[k] + more);
    const Placement placed = place(t.shape, layout);
    std::int64_t last = placed.offset;
    for (std::size_t axis = 0; axis < t.shape.size(); ++axis)
      last += (t.shape[axis] - 1) * placed.strides[axis];
    if (last > kMaxReach / bytes) continue;
    t.layout = std::move(layout);
    return true;
  }
  return false;
}

std::vector<int> axes_with_steps(const CaseTensor& t) {
  std::vector<int> axes;
  for (std::size_t axis = 0; axis < t.shape.size(); ++axis)
    if (t.shape[axis] > 1) axes.push_back(static_cast<int>(axis));
  return axes;
}

/// Makes the axis the outermost, so that no other stride is far.
void move_outward(CaseLayout& layout, int axis, int rank) {
  if (layout.order.empty()) {
    layout.order.resize(static_cast<std::size_t>(rank));
    std::iota(layout.order.begin(), layout.order.end(), 0);
  }
  std::erase(layout.order, axis);
  layout.order.insert(layout.order.begin(), axis);
  if (std::ranges::is_sorted(layout.order)) layout.order.clear();
}

void make_far(CaseTensor& t, Random& random) {
  const auto drawn = static_cast<std::size_t>(random.below(12));
  const std::vector<int> axes = axes_with_steps(t);
  if (axes.empty() || random.chance(15)) {
    give_distance(t, drawn, random,
                  [](CaseLayout& l, std::int64_t distance) { l.offset = distance; });
    return;
  }
  const int axis = axes[static_cast<std::size_t>(random.below(std::ssize(axes)))];
  const bool outermost = random.chance(70);
  const std::int64_t steps = t.shape[static_cast<std::size_t>(axis)] - 1;
  // Either the first step is far, or only the last of several.
  const std::int64_t parts = random.chance(50) ? 1 : steps;
  const int rank = static_cast<int>(t.shape.size());
  const auto give = [&](CaseLayout& l, std::int64_t distance) {
    l.repeated.clear();
    l.gaps = {{axis, (distance + parts - 1) / parts}};
    if (outermost) move_outward(l, axis, rank);
  };
  if (!give_distance(t, drawn, random, give)) t.layout = {};
}

}  // namespace

void lay_out_alike(Case& c, CommonOrder order) {
  const bool channels_last = order == CommonOrder::channels_last;
  for (auto* tensors : {&c.inputs, &c.outputs})
    for (CaseTensor& t : *tensors) {
      const int rank = static_cast<int>(t.shape.size());
      if (channels_last && rank >= 3) t.layout.order = nhwc_order(rank);
      if (!channels_last && rank >= 2) t.layout.order = swapped_order(rank);
    }
}

void draw_layouts(Case& c, Random& random) {
  if (random.chance(50)) return;
  if (random.chance(15))
    return lay_out_alike(c, random.pick({CommonOrder::channels_last, CommonOrder::by_columns}));
  for (CaseTensor& t : c.inputs) {
    if (random.chance(75)) t.layout = draw_layout(static_cast<int>(t.shape.size()), true, random);
  }
  for (CaseTensor& t : c.outputs) {
    if (random.chance(75)) t.layout = draw_layout(static_cast<int>(t.shape.size()), false, random);
  }
}

void draw_far_layout(Case& c, Random& random) {
  std::vector<CaseTensor*> tensors;
  for (auto* all : {&c.inputs, &c.outputs})
    for (CaseTensor& t : *all)
      if (!t.left_out && t.in_place.empty() && volume(t.shape) > 0) tensors.push_back(&t);
  if (tensors.empty()) return;
  make_far(*tensors[static_cast<std::size_t>(random.below(std::ssize(tensors)))], random);
}

}  // namespace mote
