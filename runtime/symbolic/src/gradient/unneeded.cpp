// SPDX-License-Identifier: Apache-2.0
#include "gradient/unneeded.h"

#include <vector>

namespace mote {

void Added::remove_unneeded(SymbolicGraph& graph, std::span<const TensorSymbol> needed) const {
  const auto nodes = static_cast<std::uint32_t>(graph.node_count());
  const auto symbols = static_cast<std::uint32_t>(graph.symbol_count());
  // Each node stands behind those that write what it reads.
  std::vector<bool> read(symbols);
  std::vector<bool> used(symbols);
  for (const TensorSymbol symbol : needed) {
    used[symbol.index] = true;
    read[graph.info(symbol).root] = true;
  }
  for (std::uint32_t index = nodes; index-- > first_node_;) {
    const NodeInfo& node = graph.nodes()[index];
    if (node.removed) continue;
    bool is_needed = node.kind == NodeKind::function;
    for (const std::uint32_t output : node.outputs)
      is_needed = is_needed || (output != kNoIndex && read[graph.symbols()[output].root]);
    if (!is_needed) {
      graph.remove(graph.node_at(index));
      continue;
    }
    for (const std::uint32_t output : node.outputs)
      if (output != kNoIndex) used[output] = true;
    for (const std::uint32_t input : node.inputs) {
      if (input == kNoIndex) continue;
      used[input] = true;
      read[graph.symbols()[input].root] = true;
    }
  }
  // A loop that was there before may carry a tape now.
  for (std::uint32_t index = 0; index < first_node_; ++index) {
    if (graph.nodes()[index].removed || graph.nodes()[index].kind != NodeKind::control) continue;
    for (const std::uint32_t input : graph.nodes()[index].inputs)
      if (input != kNoIndex) used[input] = true;
    for (const std::uint32_t output : graph.nodes()[index].outputs) used[output] = true;
  }
  // A view stands behind what it is a view of.
  for (std::uint32_t index = symbols; index-- > first_symbol_;) {
    const SymbolInfo& info = graph.symbols()[index];
    if (info.removed) continue;
    if (!used[index])
      graph.remove(graph.at(index));
    else if (info.base != kNoIndex)
      used[info.base] = true;
  }
}

}  // namespace mote
