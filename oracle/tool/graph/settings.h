// SPDX-License-Identifier: Apache-2.0
// The settings that a graph is compiled with when `mote graph check` compares it with its nodes run
// one by one, and the node that differs first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/symbolic/binding.h"
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

/// Inputs of a graph, and what evaluate() computes of them, in the order of the graph's outputs.
struct GraphReference {
  std::vector<TensorBinding> inputs;
  std::uint64_t seed = 0;  ///< random inputs are of this seed
  std::vector<Tensor> outputs;
  std::vector<std::string> refused;  ///< "seed 2: ", and why its inputs have no outputs
};

/// Reads the inputs of the file by name, draws others from the seed, and evaluates the graph. A
/// graph may fail for some inputs: a loop that does not end within its limit, an index that no
/// branch has. If some inputs are drawn, the next seeds are tried, ten in all. Throws Error where
/// all of them fail, that of the first, and for a graph without outputs.
GraphReference graph_reference(const SymbolicGraph& graph, const std::string& file,
                               std::uint64_t seed, Context& context);

/// Compiles the graph with each setting and compares outputs bit for bit with those of the
/// reference. Where one differs, the same setting is compiled with all values kept, and the first
/// of these that differs is named, in the order of nodes; where none does, as less memory is
/// shared, it is the output. A setting that fails differs too: `what` is its error, and it has
/// neither a symbol nor a node. `watch` is called before each setting.
std::optional<GraphDifference> check_graph(const SymbolicGraph& graph,
                                           const GraphReference& reference,
                                           std::span<const GraphSetting> settings, Context& context,
                                           const std::function<void(std::size_t)>& watch);

}  // namespace mote::tool
