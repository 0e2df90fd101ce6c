// SPDX-License-Identifier: Apache-2.0
// The least cut of a network of capacities (Dinic, 1970).
#pragma once

#include <cstdint>
#include <vector>

namespace mote {

class FlowNetwork {
 public:
  static constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62U;

  explicit FlowNetwork(std::size_t vertices) : edges_of_(vertices) {}

  void add_edge(std::uint32_t from, std::uint32_t to, std::uint64_t capacity);
  /// Computes the greatest flow and returns, for each vertex, whether the source still reaches it:
  /// edges from such a vertex to another one are the least cut. A flow of kUnlimited or more means
  /// that no cut exists.
  std::vector<bool> source_side(std::uint32_t source, std::uint32_t sink);
  std::uint64_t flow() const { return flow_; }

 private:
  struct Edge {
    std::uint32_t to;
    std::uint64_t left;  ///< the capacity that is not used yet; edge k ^ 1 is its reverse
  };

  bool find_levels(std::uint32_t source, std::uint32_t sink);
  std::uint64_t push(std::uint32_t source, std::uint32_t sink);

  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> edges_of_;
  std::vector<std::uint32_t> level_;
  std::vector<std::size_t> next_;
  std::uint64_t flow_ = 0;
};

}  // namespace mote
