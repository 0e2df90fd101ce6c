// SPDX-License-Identifier: Apache-2.0
#include "dense_results.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mote::test {
namespace {

bool is_dense(const SymbolicGraph& graph, std::uint32_t output) {
  if (output == kNoIndex) return true;
  const SymbolInfo& info = graph.symbols()[output];
  return info.kind == SymbolOrigin::tensor && info.form->is_row_major();
}

/// Adds a command on tensors of its own, and copies of these, in place of the node.
std::vector<NodeSymbol> make_dense(SymbolicGraph& graph, std::uint32_t index) {
  const NodeInfo node = graph.nodes()[index];
  graph.remove(graph.node_at(index));
  std::vector<TensorSymbol> inputs, outputs;
  for (const std::uint32_t input : node.inputs)
    inputs.push_back(input == kNoIndex ? TensorSymbol() : graph.at(input));
  std::vector<std::pair<TensorSymbol, TensorSymbol>> copies;
  for (const std::uint32_t output : node.outputs) {
    outputs.push_back(output == kNoIndex ? TensorSymbol() : graph.at(output));
    if (is_dense(graph, output)) continue;
    const TensorForm form = graph.form(outputs.back());
    copies.emplace_back(graph.tensor({form.dtype, form.shape}), outputs.back());
    outputs.back() = copies.back().first;
  }
  std::vector<NodeSymbol> made = {graph.write(*node.command, inputs, outputs)};
  for (const auto& [from, to] : copies) made.push_back(graph.copy(from, to));
  return made;
}

}  // namespace

SymbolicGraph with_dense_results(const SymbolicGraph& graph) {
  SymbolicGraph dense(graph);
  std::vector<std::vector<NodeSymbol>> now(graph.node_count());  // what takes each node's place
  for (std::uint32_t k = 0; k < now.size(); ++k) {
    if (graph.nodes()[k].removed) continue;
    now[k] = {dense.node_at(k)};
    dense.set_after(dense.node_at(k), {});
  }
  for (std::uint32_t k = 0; k < now.size(); ++k) {
    const NodeInfo& node = graph.nodes()[k];
    const auto is_kept = [&](std::uint32_t output) { return is_dense(graph, output); };
    if (!node.removed && node.kind == NodeKind::command &&
        !std::ranges::all_of(node.outputs, is_kept))
      now[k] = make_dense(dense, k);
  }
  for (std::uint32_t k = 0; k < now.size(); ++k)
    for (const std::uint32_t before : graph.nodes()[k].after)
      for (const NodeSymbol node : now[before]) dense.order(node, now[k].front());
  return dense;
}

}  // namespace mote::test
