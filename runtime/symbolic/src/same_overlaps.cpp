// SPDX-License-Identifier: Apache-2.0
#include "same_overlaps.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "mote/symbolic/region_index.h"

namespace mote {
namespace {

ViewRegion region_of(const SymbolicGraph& graph, std::uint32_t symbol) {
  const SymbolInfo& info = graph.symbols()[symbol];
  return {info.form, info.offset};
}

std::string key_of(const ViewRegion& region) {
  return to_string(region.form.shape) + to_string(region.form.strides) +
         std::to_string(region.offset);
}

/// Which of some views of a root share elements, in one graph.
class Overlaps {
 public:
  Overlaps(const SymbolicGraph& graph, std::uint32_t root, const std::vector<std::uint32_t>& views)
      : graph_(graph), views_(views), index_(graph.symbols()[root].form) {
    for (std::uint32_t k = 0; k < views.size(); ++k) index_.add(region_of(graph, views[k]), k);
  }

  /// Returns the positions of the views that share elements with that one, which rise.
  std::vector<std::uint32_t> of(std::uint32_t position) const {
    std::vector<std::uint32_t> found;
    index_.any_overlapping(region_of(graph_, views_[position]), [&](std::uint32_t other) {
      found.push_back(other);
      return false;
    });
    std::ranges::sort(found);
    return found;
  }

 private:
  const SymbolicGraph& graph_;
  const std::vector<std::uint32_t>& views_;
  RegionIndex index_;
};

/// Returns the views of each root whose shape has changed, one for each pair of regions.
std::map<std::uint32_t, std::vector<std::uint32_t>> views_of_changed(const SymbolicGraph& before,
                                                                     const SymbolicGraph& now) {
  std::map<std::tuple<std::uint32_t, std::string, std::string>, std::uint32_t> first;
  for (std::uint32_t k = 0; k < now.symbol_count(); ++k) {
    const SymbolInfo& info = now.symbols()[k];
    if (info.removed || info.kind != SymbolOrigin::view) continue;
    if (before.symbols()[info.root].form == now.symbols()[info.root].form) continue;
    first.try_emplace({info.root, key_of(region_of(before, k)), key_of(region_of(now, k))}, k);
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> views;
  for (const auto& [key, view] : first) views[std::get<0>(key)].push_back(view);
  return views;
}

}  // namespace

std::optional<std::pair<std::uint32_t, std::uint32_t>> changed_overlap(const SymbolicGraph& before,
                                                                       const SymbolicGraph& now) {
  for (const auto& [root, views] : views_of_changed(before, now)) {
    const Overlaps old(before, root, views);
    const Overlaps others(now, root, views);
    for (std::uint32_t k = 0; k < views.size(); ++k) {
      const std::vector<std::uint32_t> a = old.of(k);
      const std::vector<std::uint32_t> b = others.of(k);
      if (a == b) continue;
      std::vector<std::uint32_t> either;
      std::ranges::set_symmetric_difference(a, b, std::back_inserter(either));
      return std::pair(views[k], views[either.front()]);
    }
  }
  return std::nullopt;
}

}  // namespace mote
