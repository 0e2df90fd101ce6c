// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/segments.h"

#include <algorithm>
#include <numeric>

namespace mote {
namespace {

/// Calls function(root, position of its writer) for each value that may be computed again.
template <typename Function>
void for_values(const SymbolicGraph& graph, const ForwardWay& way, const Function& function) {
  for (std::uint32_t location = 0; location < way.nodes.size(); ++location)
    for (const std::uint32_t root : written_roots(graph, way.nodes[location]))
      if (way.may_recompute[root]) function(root, location);
}

/// Adds up, for each position, what `amount` says of the values that cross it.
template <typename Amount>
std::vector<std::size_t> crossing(const SymbolicGraph& graph, const ForwardWay& way,
                                  const Amount& amount) {
  std::vector<std::size_t> begins(way.nodes.size() + 1);
  std::vector<std::size_t> ends(way.nodes.size() + 1);
  for_values(graph, way, [&](std::uint32_t root, std::uint32_t location) {
    if (way.last_read[root] == location) return;
    begins[location] += amount(root);
    ends[way.last_read[root]] += amount(root);
  });
  std::vector<std::size_t> sums(way.nodes.size());
  std::size_t sum = 0;
  for (std::size_t location = 0; location < way.nodes.size(); ++location) {
    sum -= ends[location];
    sum += begins[location];
    sums[location] = sum;
  }
  return sums;
}

/// Returns, for each position, the bytes that its node writes and the way back reads.
std::vector<std::size_t> bytes_read_back(const SymbolicGraph& graph, const ForwardWay& way) {
  std::vector<std::size_t> bytes(way.nodes.size());
  for_values(graph, way, [&](std::uint32_t root, std::uint32_t location) {
    if (way.read_back[root]) bytes[location] += way.bytes[root];
  });
  return bytes;
}

}  // namespace

std::vector<std::size_t> crossing_bytes(const SymbolicGraph& graph, const ForwardWay& way) {
  return crossing(graph, way, [&](std::uint32_t root) { return way.bytes[root]; });
}

Cuts cut_evenly(const SymbolicGraph& graph, const ForwardWay& way, std::size_t segments) {
  const std::vector<std::size_t> crossed = crossing_bytes(graph, way);
  const std::vector<std::size_t> written = bytes_read_back(graph, way);
  const std::size_t all = std::accumulate(written.begin(), written.end(), std::size_t{0});
  Cuts cuts;
  std::size_t sum = 0;
  std::size_t best = 0;
  bool has_best = false;
  for (std::size_t location = 0; location + 1 < way.nodes.size(); ++location) {
    sum += written[location];
    const std::size_t goal = all / segments * (cuts.size() + 1);
    const std::size_t window = all / segments / 4;
    if (sum + window >= goal && (!has_best || crossed[location] <= crossed[best])) {
      best = location;
      has_best = true;
    }
    if (has_best && sum >= goal) {
      cuts.push_back(static_cast<std::uint32_t>(best));
      has_best = false;
      if (cuts.size() + 1 == segments) break;
    }
  }
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

std::size_t estimated_bytes(const SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts) {
  const std::vector<std::size_t> written = bytes_read_back(graph, way);
  std::vector<bool> is_kept(graph.symbol_count());
  std::size_t kept = 0;
  for_values(graph, way, [&](std::uint32_t root, std::uint32_t location) {
    const auto cut = std::ranges::lower_bound(cuts, location);
    is_kept[root] = cut != cuts.end() && *cut < way.last_read[root];
    if (is_kept[root]) kept += way.bytes[root];
  });
  std::size_t largest = 0;
  std::size_t sum = 0;
  std::size_t next = 0;
  for (std::uint32_t location = 0; location < way.nodes.size(); ++location) {
    for (const std::uint32_t root : written_roots(graph, way.nodes[location]))
      if (way.may_recompute[root] && way.read_back[root] && !is_kept[root]) sum += way.bytes[root];
    largest = std::max(largest, sum);
    if (next < cuts.size() && cuts[next] == location) {
      sum = 0;
      ++next;
    }
  }
  return kept + largest;
}

Cuts chain_cuts(const SymbolicGraph& graph, const ForwardWay& way) {
  const std::vector<std::size_t> values =
      crossing(graph, way, [](std::uint32_t) { return std::size_t{1}; });
  Cuts cuts;
  for (std::uint32_t location = 0; location + 1 < values.size(); ++location)
    if (values[location] == 1) cuts.push_back(location);
  return cuts;
}

}  // namespace mote
