// SPDX-License-Identifier: Apache-2.0
// Vector clocks: for each node, how many nodes of each stream are done before it begins. Nodes are
// entered in the order of a schedule.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mote::graph {

class Clocks {
 public:
  Clocks(std::size_t nodes, std::size_t streams)
      : streams_(streams), latest_(streams, kNone), all_(nodes * streams) {}

  /// Begins a node, which is next in its stream.
  void begin(std::uint32_t node, std::uint32_t stream, std::uint32_t position) {
    if (latest_[stream] != kNone) std::ranges::copy(of(latest_[stream]), of(node).begin());
    of(node)[stream] = position;
    latest_[stream] = node;
  }
  bool covers(std::uint32_t node, std::uint32_t stream, std::uint32_t position) const {
    return all_[node * streams_ + stream] > position;
  }
  /// Makes the node begin after `other`, which is at that place.
  void join(std::uint32_t node, std::uint32_t other, std::uint32_t stream, std::uint32_t position) {
    const std::span<std::uint32_t> clock = of(node);
    const std::span<const std::uint32_t> earlier = of(other);
    for (std::size_t s = 0; s < streams_; ++s) clock[s] = std::max(clock[s], earlier[s]);
    clock[stream] = std::max(clock[stream], position + 1);
  }
  std::span<std::uint32_t> of(std::uint32_t node) {
    return std::span(all_).subspan(node * streams_, streams_);
  }
  std::vector<std::uint32_t> take() { return std::move(all_); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  std::size_t streams_;
  std::vector<std::uint32_t> latest_;  ///< the last node of each stream so far
  std::vector<std::uint32_t> all_;
};

}  // namespace mote::graph
