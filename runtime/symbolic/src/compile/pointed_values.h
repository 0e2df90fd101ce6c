// SPDX-License-Identifier: Apache-2.0
// Finds the values of a loop or case..of whose location only the run decides: what an inner loop
// or case..of gives is where its last iteration or its branch left it. Nothing of them is copied.
// Each has a pointer, which moves from value to value as they are carried over, and what computes
// one takes a region that none of the pointers that are needed then shows.
//
// In: the node, and which of its values need pointers. Out: all values that those may be, in the
// graphs inside at any depth, and how many regions they take turns in. Values between which none
// moves have regions of their own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Values that take turns in the same regions.
struct RegionSet {
  std::uint64_t bytes = 0;  ///< of each region
  DLDevice device{kDLCPU, 0};
  std::uint32_t count = 0;
};

struct PointedValue {
  std::uint64_t set;         ///< the number of its RegionSet
  std::uint64_t pointer;     ///< of the run: no other value has it
  std::uint32_t region = 0;  ///< where it is first
};

struct PointedNode;

/// A body or a branch.
struct PointedGraph {
  std::map<std::uint32_t, PointedValue> computed;            ///< by root, also the counter
  std::map<std::uint64_t, std::vector<std::uint64_t>> held;  ///< by set: while it is computed
  std::map<std::uint32_t, std::shared_ptr<const PointedNode>> nodes;  ///< loops and branches inside
};

/// A loop or a case..of.
struct PointedNode {
  std::map<std::uint32_t, PointedValue> values;  ///< by result
  std::vector<PointedGraph> graphs;
  std::map<std::uint64_t, RegionSet> sets;  ///< those of values here or inside
  /// By set: the node's inputs whose memory values may be in.
  std::map<std::uint64_t, std::vector<std::uint32_t>> inputs;
};

/// Finds them for the results `seeds`, of which there are some.
PointedNode pointed_values(const NodeInfo& node, const std::vector<std::uint32_t>& seeds);
/// Adds what is in `other` to the values of the same node; they share none.
void add_values(PointedNode& node, const PointedNode& other);

}  // namespace mote
