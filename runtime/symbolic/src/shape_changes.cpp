// SPDX-License-Identifier: Apache-2.0
#include "shape_changes.h"

#include <algorithm>
#include <set>
#include <utility>

namespace mote {
namespace {

std::vector<std::int64_t> key_of(const AxisList& shape) { return {shape.begin(), shape.end()}; }

std::int64_t product(const AxisList& axes, int begin, int end) {
  std::int64_t all = 1;
  for (int axis = begin; axis < end; ++axis) all *= axes[axis];
  return all;
}

/// All ways to pair the axes of a reshape.
class Pairings {
 public:
  Pairings(const AxisList& before, const AxisList& target, const AxisList& now)
      : before_(before), target_(target), now_(now) {}

  std::vector<AxisList> run() {
    AxisList made;
    pair_from(0, 0, made);
    std::vector<AxisList> shapes;
    for (const std::vector<std::int64_t>& shape : found_) shapes.emplace_back(shape);
    return shapes;
  }

 private:
  /// Pairs the axes from a of what was reshaped and those from b of the target, of whose axes
  /// before these `made` has the new extents.
  void pair_from(int a, int b, const AxisList& made) {
    if (found_.size() > 1 || !seen_.insert({{a, b}, key_of(made)}).second) return;
    if (a == before_.size() && b == target_.size()) {
      found_.insert(key_of(made));
      return;
    }
    if (b < target_.size() && target_[b] == 1) {  // it was added
      AxisList with = made;
      with.push_back(1);
      pair_from(a, b + 1, with);
    }
    if (a < before_.size() && before_[a] == 1 && now_[a] == 1) pair_from(a + 1, b, made);
    if (a < before_.size() && b < target_.size()) pair_group(a, b, made);
  }

  /// Pairs the smallest group that begins with axes a and b, and with it axes of 1 behind it.
  void pair_group(int a, int b, const AxisList& made) {
    int end_a = a + 1;
    int end_b = b + 1;
    std::int64_t x = before_[a];
    std::int64_t y = target_[b];
    while (x != y) {
      if (x < y && end_a < before_.size())
        x *= before_[end_a++];
      else if (y < x && end_b < target_.size())
        y *= target_[end_b++];
      else
        return;
    }
    for (int to_a = end_a;; ++to_a) {
      for (int to_b = end_b;; ++to_b) {
        change_group(a, to_a, b, to_b, made);
        if (to_b == target_.size() || target_[to_b] != 1) break;
      }
      if (to_a == before_.size() || before_[to_a] != 1) break;
    }
  }

  void change_group(int a, int end_a, int b, int end_b, const AxisList& made) {
    const auto go_on = [&](int changed, std::int64_t extent) {
      AxisList with = made;
      for (int axis = b; axis < end_b; ++axis)
        with.push_back(axis == changed ? extent : target_[axis]);
      pair_from(end_a, end_b, with);
    };
    const std::int64_t old = product(before_, a, end_a);
    const std::int64_t all = product(now_, a, end_a);
    if (end_b - b == 1) return go_on(b, all);
    if (std::equal(before_.begin() + a, before_.begin() + end_a, now_.begin() + a))
      return go_on(-1, 0);
    if (!has_changed(a, end_a, b, end_b)) return;
    const bool may_be_one = !has_changed(a, end_a, b, end_b, 2);
    for (int axis = b; axis < end_b; ++axis) {
      if (target_[axis] == 1 && !may_be_one) continue;
      const std::int64_t others = target_[axis] == 0 ? 0 : old / target_[axis];
      if (others != 0 && all % others == 0) go_on(axis, all / others);
    }
  }

  /// True if an axis of the target has the extent, at least `least`, of one in the group that
  /// changes.
  bool has_changed(int a, int end_a, int b, int end_b, std::int64_t least = 0) const {
    for (int axis = a; axis < end_a; ++axis)
      if (before_[axis] != now_[axis] && before_[axis] >= least &&
          std::find(target_.begin() + b, target_.begin() + end_b, before_[axis]) !=
              target_.begin() + end_b)
        return true;
    return false;
  }

  const AxisList& before_;
  const AxisList& target_;
  const AxisList& now_;
  std::set<std::pair<std::pair<int, int>, std::vector<std::int64_t>>> seen_;
  std::set<std::vector<std::int64_t>> found_;
};

}  // namespace

void ShapeChanges::learn(const AxisList& old, const AxisList& now) {
  std::vector<AxisList>& shapes = shapes_[key_of(old)];
  if (std::ranges::find(shapes, now) != shapes.end()) return;
  if (shapes.size() < 2) shapes.push_back(now);
  if (old.size() != now.size()) return;
  for (int begin = 0; begin < old.size(); ++begin)
    for (int end = begin + 1; end <= old.size(); ++end) {
      const std::int64_t before = product(old, begin, end);
      const std::int64_t after = product(now, begin, end);
      if (before != after) extents_[before].insert(after);
    }
}

const std::vector<AxisList>& ShapeChanges::of(const AxisList& old) const {
  static const std::vector<AxisList> none;
  const auto found = shapes_.find(key_of(old));
  return found == shapes_.end() ? none : found->second;
}

const std::set<std::int64_t>& ShapeChanges::of(std::int64_t extent) const {
  static const std::set<std::int64_t> none;
  const auto found = extents_.find(extent);
  return found == extents_.end() ? none : found->second;
}

std::vector<AxisList> reshaped_targets(const AxisList& before, const AxisList& target,
                                       const AxisList& now) {
  if (before == now) return {target};
  return Pairings(before, target, now).run();
}

}  // namespace mote
