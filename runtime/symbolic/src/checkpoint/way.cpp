// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/way.h"

#include <algorithm>

#include "fail.h"
#include "mote/runtime/tensor.h"

namespace mote {

std::vector<std::uint32_t> written_roots(const SymbolicGraph& graph, std::uint32_t node) {
  std::vector<std::uint32_t> roots;
  for (const std::uint32_t output : graph.nodes()[node].outputs)
    if (output != kNoIndex) roots.push_back(graph.symbols()[output].root);
  return roots;
}

std::size_t traffic(const SymbolicGraph& graph, const ForwardWay& way, std::uint32_t node) {
  std::size_t bytes = 0;
  for (const std::uint32_t root : written_roots(graph, node)) bytes += way.bytes[root];
  for (const std::uint32_t input : graph.nodes()[node].inputs)
    if (input != kNoIndex) bytes += way.bytes[graph.symbols()[input].root];
  return bytes;
}

namespace {

/// True if the node can be copied: its outputs are whole tensors, and it is no caller's code.
bool may_copy(const SymbolicGraph& graph, std::uint32_t node) {
  const NodeInfo& info = graph.nodes()[node];
  if (info.kind == NodeKind::function) return false;
  return std::ranges::all_of(info.outputs, [&](std::uint32_t output) {
    return output == kNoIndex || graph.symbols()[output].kind == SymbolOrigin::tensor;
  });
}

}  // namespace

ForwardWay find_way(const SymbolicGraph& graph, std::span<const TensorSymbol> losses,
                    std::span<const TensorSymbol> keep) {
  if (losses.empty()) fail_graph("checkpoint: no loss is given");
  const std::vector<bool> forward = ancestors(graph, losses);
  ForwardWay way;
  way.position.assign(graph.node_count(), kNoIndex);
  way.may_recompute.assign(graph.symbol_count(), false);
  way.read_back.assign(graph.symbol_count(), false);
  way.last_read.assign(graph.symbol_count(), 0);
  way.bytes.assign(graph.symbol_count(), 0);
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& info = graph.symbols()[k];
    if (info.removed || info.root != k) continue;
    way.bytes[k] = static_cast<std::size_t>(
        checked_span(info.form->dtype, info.form->shape, info.form->strides));
  }
  for (const std::uint32_t node : topological_order(graph)) {
    if (!forward[node]) {
      for (const std::uint32_t input : graph.nodes()[node].inputs)
        if (input != kNoIndex) way.read_back[graph.symbols()[input].root] = true;
      continue;
    }
    const auto location = static_cast<std::uint32_t>(way.nodes.size());
    way.position[node] = location;
    way.nodes.push_back(node);
    for (const std::uint32_t root : written_roots(graph, node)) {
      way.may_recompute[root] = may_copy(graph, node);
      way.last_read[root] = std::max(way.last_read[root], location);
    }
    for (const std::uint32_t input : graph.nodes()[node].inputs)
      if (input != kNoIndex) way.last_read[graph.symbols()[input].root] = location;
  }
  for (const TensorSymbol symbol : keep) way.may_recompute[graph.info(symbol).root] = false;
  for (const std::uint32_t output : graph.output_indices())
    way.may_recompute[graph.symbols()[output].root] = false;
  return way;
}

}  // namespace mote
