// SPDX-License-Identifier: Apache-2.0
// The settings that a graph is compiled with when `mote graph check` compares it with its nodes run
// one by one, and the node that differs first.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/symbolic/compile.h"

namespace mote::tool {

struct GraphSetting {
  std::string text;  ///< "2 streams, in place, order greedy"
  CompileOptions options;
};

/// Returns, for streams 1 to `streams`, all combinations of in place or not, planned or separate
/// memory and the orders of evaluation, and the other planners; then no pass and each default pass
/// alone. All are with poison.
std::vector<GraphSetting> graph_settings(int streams);

/// The first difference of a compiled graph from its reference.
struct GraphDifference {
  std::string setting;
  std::string symbol;
  std::string node;  ///< the node that computes the symbol
  std::string what;  ///< "element [0,3]: expected 1, got nan; 2 of 8 differ"
};

/// Compiles the graph with each setting and compares outputs bit for bit with evaluate(). Where one
/// differs, the same setting is compiled with all values kept, and the first of these that differs
/// is named, in the order of nodes; where none does, as less memory is shared, it is the output.
/// `watch` is called before each setting.
std::optional<GraphDifference> check_graph(const SymbolicGraph& graph,
                                           std::span<const TensorBinding> inputs,
                                           std::span<const GraphSetting> settings, Context& context,
                                           const std::function<void(std::size_t)>& watch);

}  // namespace mote::tool
