// SPDX-License-Identifier: Apache-2.0
// Regions of one memory by their first element, with what is kept for each: found are those that
// share an element with another region.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "mote/symbolic/view.h"

namespace mote {

class RegionIndex {
 public:
  void add(const Region& region, std::uint32_t entry) {
    const auto [begin, end] = range(region);
    if (begin >= end) return;
    longest_ = std::max(longest_, end - begin);
    regions_.emplace(begin, Kept{region, end, entry});
  }

  /// Calls function(entry) for each region that shares an element with this one, until it returns
  /// true; returns whether it did.
  template <typename Function>
  bool any_overlapping(const Region& region, const Function& function) const {
    const auto [begin, end] = range(region);
    for (auto at = regions_.lower_bound(begin - longest_); at != regions_.end() && at->first < end;
         ++at) {
      const Kept& kept = at->second;
      if (kept.end > begin && overlap(kept.region, region) && function(kept.entry)) return true;
    }
    return false;
  }
  bool overlaps(const Region& region) const {
    return any_overlapping(region, [](std::uint32_t) { return true; });
  }

 private:
  struct Kept {
    Region region;
    std::int64_t end;  ///< one beyond the last element
    std::uint32_t entry;
  };

  static std::pair<std::int64_t, std::int64_t> range(const Region& region) {
    std::int64_t begin = region.offset;
    std::int64_t end = region.offset + 1;
    for (int axis = 0; axis < region.form.shape.size(); ++axis) {
      if (region.form.shape[axis] == 0) return {0, 0};
      const std::int64_t reach = (region.form.shape[axis] - 1) * region.form.strides[axis];
      (reach < 0 ? begin : end) += reach;
    }
    return {begin, end};
  }

  std::multimap<std::int64_t, Kept> regions_;
  std::int64_t longest_ = 0;
};

}  // namespace mote
