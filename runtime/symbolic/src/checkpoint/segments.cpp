// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/segments.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "mote/symbolic/checkpoint.h"

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

}  // namespace

Segmenter::Segmenter(const SymbolicGraph& graph, const ForwardWay& way)
    : way_(way),
      crossed_(crossing(graph, way, [&](std::uint32_t root) { return way.bytes[root]; })),
      written_(way.nodes.size()) {
  for_values(graph, way, [&](std::uint32_t root, std::uint32_t location) {
    values_.push_back({root, location});
    if (way.read_back[root]) written_[location] += way.bytes[root];
  });
  all_written_ = std::accumulate(written_.begin(), written_.end(), std::size_t{0});
}

Cuts Segmenter::cut_evenly(std::size_t segments) const {
  Cuts cuts;
  std::size_t sum = 0;
  std::size_t best = 0;
  bool has_best = false;
  for (std::size_t location = 0; location + 1 < written_.size(); ++location) {
    sum += written_[location];
    const std::size_t goal = all_written_ / segments * (cuts.size() + 1);
    const std::size_t window = all_written_ / segments / 4;
    if (sum + window >= goal && (!has_best || crossed_[location] <= crossed_[best])) {
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

std::size_t Segmenter::bytes(const Cuts& cuts) const {
  std::size_t kept = 0;
  std::size_t largest = 0;
  std::size_t sum = 0;
  std::size_t next = 0;  // the first cut that is not before the value
  for (const auto& [root, location] : values_) {
    for (; next < cuts.size() && cuts[next] < location; ++next) sum = 0;
    if (next < cuts.size() && cuts[next] < way_.last_read[root])
      kept += way_.bytes[root];
    else if (way_.read_back[root])
      sum += way_.bytes[root];
    largest = std::max(largest, sum);
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

ChainLayers chain_layers(const SymbolicGraph& graph, const ForwardWay& way, const Cuts& cuts) {
  ChainLayers layers;
  const std::vector<std::size_t> crossed =
      crossing(graph, way, [&](std::uint32_t root) { return way.bytes[root]; });
  for (const std::uint32_t cut : cuts)
    layers.most_bytes = std::max(layers.most_bytes, crossed[cut]);
  // The first layer and the last may differ: there all states are held, or none, with any slots.
  using Layer = std::array<std::size_t, 3>;  // nodes, and bytes: theirs, and for the way back
  std::optional<Layer> first;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    Layer layer = {cuts[k + 1] - cuts[k], crossed[cuts[k]], 0};
    for (std::uint32_t location = cuts[k] + 1; location <= cuts[k + 1]; ++location) {
      layer[1] += traffic(graph, way, way.nodes[location]);
      for (const std::uint32_t root : written_roots(graph, way.nodes[location]))
        if (way.read_back[root]) layer[2] += way.bytes[root];
    }
    if (!first) first = layer;
    layers.are_even = layers.are_even && layer == *first;
  }
  return layers;
}

std::size_t binomial_split(std::size_t layers, std::uint64_t slots) {
  if (slots == 0) return layers - 1;
  const auto steps = [&](std::size_t m) {
    return m + binomial_steps(layers - m, slots - 1) - (layers - m) + binomial_steps(m, slots) - m;
  };
  // Steps are convex in the layers: they fall up to the first least number, and rise behind it.
  std::size_t first = 1;
  std::size_t last = layers - 1;
  while (first < last) {
    const std::size_t middle = first + (last - first) / 2;
    if (steps(middle) <= steps(middle + 1))
      last = middle;
    else
      first = middle + 1;
  }
  return first;
}

}  // namespace mote
