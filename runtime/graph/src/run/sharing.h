// SPDX-License-Identifier: Apache-2.0
// The memory that a graph's nodes use, kept so that other tensors are bound without looking at all
// nodes again.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "mote/graph/graph.h"

namespace mote::graph {

struct Plan;

struct TensorUse {
  std::uint32_t node;  ///< its number in the plan
  std::uint32_t tensor;
  bool writes;
};

/// The bytes of a tensor that is no view.
struct MemoryExtent {
  std::int64_t low, high;
  std::uint32_t root;
};

struct Sharing {
  Sharing(const Graph::State& state, const Plan& whole);

  std::vector<std::vector<TensorUse>> uses;  ///< by root, in the plan's order
  std::vector<std::uint32_t> placeholders;
  std::vector<MemoryExtent> fixed;  ///< of all other roots, by their lowest byte
  std::int64_t longest = 0;         ///< the most bytes of these
};

}  // namespace mote::graph
