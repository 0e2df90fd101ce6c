// SPDX-License-Identifier: Apache-2.0
// Builds a graph again from its nodes, with an edit: the means by which failing graphs get smaller.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

/// Indices are those of the graph that is edited.
struct GraphEdit {
  std::set<std::uint32_t> to_input;  ///< roots that become inputs; what wrote only them goes
  std::map<std::uint32_t, std::uint32_t> instead;  ///< symbols, and symbols that are read instead
  std::map<std::uint32_t, TensorForm> forms;       ///< new forms of inputs, constants and roots
  std::set<std::pair<std::uint32_t, std::uint32_t>> without_order;  ///< (before, after)
  std::optional<std::vector<std::uint32_t>> outputs;
  bool is_pruned = false;  ///< what no output needs goes
};

/// Returns the edited graph; none if it would not be legal, or has no node.
std::optional<SymbolicGraph> edited(const SymbolicGraph& graph, const GraphEdit& edit);

}  // namespace mote::test
