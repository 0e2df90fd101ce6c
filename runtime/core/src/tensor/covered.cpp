// SPDX-License-Identifier: Apache-2.0
// Coverage of a strided view by others. The view is cut into parts until each is inside one of the
// others. First an axis is written as two wherever another view's step is a multiple of its own, so
// that what takes every second element, or some columns, is a range along one axis; then parts are
// halved along the axis that leaves the fewest views to look at. Parts without a view that meets
// them end it.
#include "mote/runtime/covered.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mote {
namespace {

struct Axis {
  std::int64_t count, step;  ///< step in bytes, above 0
};

/// Bytes at first + step[0]·i[0] + …, from the axis of the greatest step. Bytes of an element that
/// has several are an axis too.
struct ByteSet {
  std::int64_t first = 0;
  std::vector<Axis> axes;
};

/// Sorts the axes, leaves out those of one index, and makes one of two that are one.
void normalise(ByteSet& set) {
  std::erase_if(set.axes, [](const Axis& axis) { return axis.count == 1; });
  std::ranges::sort(set.axes, std::greater<>(), &Axis::step);
  std::vector<Axis> merged;
  for (const Axis& axis : set.axes) {
    if (!merged.empty() && merged.back().step == axis.step * axis.count)
      merged.back() = {merged.back().count * axis.count, axis.step};
    else
      merged.push_back(axis);
  }
  set.axes = std::move(merged);
}

ByteSet bytes_of(const ViewPlaces& view) {
  ByteSet set{view.low, {{view.element_bytes, 1}}};
  for (int axis = 0; axis < view.shape.size(); ++axis)
    if (view.strides[axis] != 0)
      set.axes.push_back({view.shape[axis], std::abs(view.strides[axis])});
  normalise(set);
  return set;
}

/// The same bytes as a view; the last axis is that of its element if its step is 1. None if there
/// are too many axes.
std::optional<ViewPlaces> view_of(const ByteSet& set) {
  const bool has_element = !set.axes.empty() && set.axes.back().step == 1;
  const std::size_t count = set.axes.size() - (has_element ? 1 : 0);
  if (count > static_cast<std::size_t>(kMaxAxes)) return std::nullopt;
  ViewPlaces view;
  view.first = view.low = set.first;
  view.element_bytes = has_element ? set.axes.back().count : 1;
  view.high = view.first + view.element_bytes;
  view.shape = view.strides = {};
  for (const Axis& axis : std::span(set.axes).first(count)) {
    view.shape.push_back(axis.count);
    view.strides.push_back(axis.step);
    view.high += axis.step * (axis.count - 1);
  }
  return view;
}

/// True if the part is inside the other: the other's indices of its first byte and of its steps
/// are found from the greatest step on, and no index leaves its axis. False may be wrong.
bool is_inside(const ByteSet& part, const ByteSet& other) {
  std::vector<std::int64_t> index(other.axes.size());
  const auto add = [&](std::int64_t distance, std::int64_t times) {
    for (std::size_t k = 0; k < index.size(); ++k) {
      index[k] += distance / other.axes[k].step * times;
      distance %= other.axes[k].step;
    }
    return distance == 0;
  };
  if (part.first < other.first || !add(part.first - other.first, 1)) return false;
  for (const Axis& axis : part.axes)
    if (!add(axis.step, axis.count - 1)) return false;
  for (std::size_t k = 0; k < index.size(); ++k)
    if (index[k] >= other.axes[k].count) return false;
  return true;
}

/// Cuts the part into two: the first `count` indices of an axis, and the rest.
ByteSet cut_off(ByteSet& part, std::size_t axis, std::int64_t count) {
  ByteSet rest = part;
  rest.first += count * part.axes[axis].step;
  rest.axes[axis].count -= count;
  part.axes[axis].count = count;
  return rest;
}

class Coverage {
 public:
  explicit Coverage(std::span<const ViewPlaces> views) : views_(views) {
    for (const ViewPlaces& view : views) sets_.push_back(bytes_of(view));
  }

  bool covers(const ViewPlaces& read) {
    std::vector<std::uint32_t> all(sets_.size());
    std::iota(all.begin(), all.end(), 0U);
    open_.push_back({bytes_of(read), std::move(all)});
    while (!open_.empty()) {
      Part part = std::move(open_.back());
      open_.pop_back();
      normalise(part.bytes);
      part.views = meeting(part.bytes, part.views);
      if (part.views.empty()) return false;
      const bool is_done =
          part.bytes.axes.empty() || std::ranges::any_of(part.views, [&](std::uint32_t view) {
            return is_inside(part.bytes, sets_[view]);
          });
      if (!is_done && !refine(part)) halve(std::move(part));
    }
    return true;
  }

 private:
  struct Part {
    ByteSet bytes;
    std::vector<std::uint32_t> views;  ///< those that may meet it
  };

  std::vector<std::uint32_t> meeting(const ByteSet& bytes,
                                     const std::vector<std::uint32_t>& among) const {
    const std::optional<ViewPlaces> part = view_of(bytes);
    if (!part) return among;
    std::vector<std::uint32_t> found;
    for (const std::uint32_t view : among)
      if (share_bytes(views_[view], *part)) found.push_back(view);
    return found;
  }

  /// Writes an axis as two, of which the greater one's step is a multiple of a view's, and the rest
  /// of the axis as another part. False if there is none.
  bool refine(Part& part) {
    std::vector<Axis>& axes = part.bytes.axes;
    if (axes.size() > static_cast<std::size_t>(kMaxAxes)) return false;
    for (std::size_t a = 0; a < axes.size(); ++a)
      for (const std::uint32_t view : part.views)
        for (const Axis& other : sets_[view].axes) {
          const std::int64_t count = other.step / std::gcd(other.step, axes[a].step);
          if (count < 2 || count >= axes[a].count) continue;
          if (const std::int64_t rest = axes[a].count % count; rest != 0)
            open_.push_back({cut_off(part.bytes, a, axes[a].count - rest), part.views});
          const Axis whole = axes[a];
          if (whole.count == count) {  // the rest was more than the one that is left
            open_.push_back(std::move(part));
            return true;
          }
          refined(std::move(part), a, count);
          return true;
        }
    return false;
  }

  /// The axis becomes two that normalise() would make one again, so that the smaller one is halved
  /// at once.
  void refined(Part part, std::size_t axis, std::int64_t count) {
    std::vector<Axis>& axes = part.bytes.axes;
    const Axis whole = axes[axis];
    axes[axis] = {whole.count / count, whole.step * count};
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, {count, whole.step});
    push_halves(std::move(part), axis + 1);
  }

  void push_halves(Part part, std::size_t axis) {
    const std::int64_t half = part.bytes.axes[axis].count / 2;
    ByteSet rest = cut_off(part.bytes, axis, half);
    open_.push_back({std::move(rest), part.views});
    open_.push_back(std::move(part));
  }

  /// Halves the part along the axis whose halves meet the fewest views.
  void halve(Part part) {
    std::size_t best = 0, fewest = 0;
    for (std::size_t axis = 0; axis < part.bytes.axes.size(); ++axis) {
      ByteSet low = part.bytes;
      const ByteSet high = cut_off(low, axis, low.axes[axis].count / 2);
      const std::size_t count = meeting(low, part.views).size() + meeting(high, part.views).size();
      if (axis != 0 && count >= fewest) continue;
      best = axis;
      fewest = count;
    }
    push_halves(std::move(part), best);
  }

  std::span<const ViewPlaces> views_;
  std::vector<ByteSet> sets_;  ///< of the views
  std::vector<Part> open_;
};

/// True if views without gaps fill all bytes from the first to the last; looked at in their order,
/// since they are mostly many.
bool is_filled(const ViewPlaces& read, std::span<const ViewPlaces> views) {
  std::vector<const ViewPlaces*> dense;
  for (const ViewPlaces& view : views)
    if (view.is_dense()) dense.push_back(&view);
  std::ranges::sort(dense, {}, [](const ViewPlaces* view) { return view->low; });
  std::int64_t low = read.low;
  for (const ViewPlaces* view : dense)
    if (view->low <= low) low = std::max(low, view->high);
  return low >= read.high;
}

}  // namespace

bool are_covered(const ViewPlaces& read, std::span<const ViewPlaces> views) {
  if (read.low == read.high) return true;
  for (const ViewPlaces& view : views)
    if (view == read) return true;
  return is_filled(read, views) || Coverage(views).covers(read);
}

}  // namespace mote
