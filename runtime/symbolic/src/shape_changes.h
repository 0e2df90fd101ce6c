// SPDX-License-Identifier: Apache-2.0
// What shapes and extents become when inputs get other shapes, and what a reshape becomes then.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "mote/runtime/axes.h"

namespace mote {

/// The shapes that took the places of old ones, as far as they are known, and the extents.
class ShapeChanges {
 public:
  void learn(const AxisList& old, const AxisList& now);
  /// Returns the shapes that took the place of that one, two at most; the old one may be among
  /// them.
  const std::vector<AxisList>& of(const AxisList& old) const;
  /// Returns the extents that took the place of that one, which is not among them: those of axes,
  /// and the products of neighbouring ones.
  const std::set<std::int64_t>& of(std::int64_t extent) const;

 private:
  std::map<std::vector<std::int64_t>, std::vector<AxisList>> shapes_;
  std::map<std::int64_t, std::set<std::int64_t>> extents_;
};

/// Returns the shapes that a reshape from `before` to `target` may have become, where `before`
/// became `now`: axes are paired in groups of equal products, and in each group one axis of the
/// target takes the new extent. An axis of 1 may belong to any group next to it, or have been added
/// or dropped; it takes no new extent in a group where a longer axis has the extent that changed.
std::vector<AxisList> reshaped_targets(const AxisList& before, const AxisList& target,
                                       const AxisList& now);

}  // namespace mote
