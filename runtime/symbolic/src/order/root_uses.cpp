// SPDX-License-Identifier: Apache-2.0
// The bytes of roots, and the bytes that are alive while nodes are evaluated.
#include "order/root_uses.h"

#include <algorithm>
#include <utility>

#include "dependency_cache.h"
#include "fail.h"
#include "mote/runtime/tensor.h"
#include "mote/symbolic/order.h"

namespace mote {

RootUses::RootUses(const SymbolicGraph& graph, std::span<const TensorSymbol> bound)
    : bytes(graph.symbol_count()), is_kept(graph.symbol_count()) {
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    const SymbolInfo& info = graph.symbols()[k];
    if (info.removed || (info.kind != SymbolOrigin::tensor && info.kind != SymbolOrigin::zeros))
      continue;
    const TensorForm& form = graph.form(graph.at(k));
    bytes[k] = static_cast<std::uint64_t>(checked_span(form.dtype, form.shape, form.strides));
  }
  for (const TensorSymbol symbol : bound) bytes[graph.info(symbol).root] = 0;
  for (const std::uint32_t output : graph.output_indices())
    is_kept[graph.symbols()[output].root] = true;

  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_node;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_root;
  std::vector<std::uint32_t> used;
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    used.clear();
    for (const auto* symbols : {&graph.nodes()[node].inputs, &graph.nodes()[node].outputs})
      for (const std::uint32_t symbol : *symbols)
        if (symbol != kNoIndex && bytes[graph.symbols()[symbol].root] > 0)
          used.push_back(graph.symbols()[symbol].root);
    std::ranges::sort(used);
    used.erase(std::unique(used.begin(), used.end()), used.end());
    for (const std::uint32_t root : used) {
      by_node.emplace_back(node, root);
      by_root.emplace_back(root, node);
    }
  }
  roots = IndexLists(graph.node_count(), by_node);
  users = IndexLists(graph.symbol_count(), by_root);
}

std::uint64_t peak_bytes(const RootUses& uses, std::span<const std::uint32_t> order) {
  std::vector<std::size_t> left(uses.users.size());
  for (std::uint32_t root = 0; root < left.size(); ++root) left[root] = uses.users[root].size();
  std::uint64_t alive = 0;
  std::uint64_t peak = 0;
  for (const std::uint32_t node : order) {
    for (const std::uint32_t root : uses.roots[node])
      if (left[root] == uses.users[root].size()) alive += uses.bytes[root];
    peak = std::max(peak, alive);
    for (const std::uint32_t root : uses.roots[node])
      if (--left[root] == 0 && !uses.is_kept[root]) alive -= uses.bytes[root];
  }
  return peak;
}

void check_order(const SymbolicGraph& graph, std::span<const std::uint32_t> order, const char* op) {
  const auto refuse = [&](const std::string& what) {
    fail_graph(std::string(op) + ": the order is none of " + graph.name() + ": " + what);
  };
  std::vector<bool> is_there(graph.node_count());
  for (const std::uint32_t node : order) {
    if (node >= is_there.size())
      refuse("node " + std::to_string(node) + " is not there, the graph has " +
             std::to_string(is_there.size()));
    if (graph.nodes()[node].removed) refuse(graph.text(graph.node_at(node)) + " was removed");
    if (is_there[node]) refuse(graph.text(graph.node_at(node)) + " is there twice");
    is_there[node] = true;
  }
  const auto nodes = static_cast<std::size_t>(
      std::ranges::count_if(graph.nodes(), [](const NodeInfo& node) { return !node.removed; }));
  if (order.size() != nodes)
    refuse("expected all " + std::to_string(nodes) + " nodes, got " + std::to_string(order.size()));
}

std::uint64_t peak_bytes(const SymbolicGraph& graph, std::span<const std::uint32_t> order,
                         std::span<const TensorSymbol> bound) {
  check_order(graph, order, "peak_bytes");
  return peak_bytes(RootUses(graph, bound), order);
}

namespace {

/// True if each node of the order needs the one before it, so that there is no other order.
bool is_forced(std::span<const std::uint32_t> order, const IndexLists& before) {
  for (std::size_t k = 1; k < order.size(); ++k)
    if (std::ranges::find(before[order[k]], order[k - 1]) == before[order[k]].end()) return false;
  return true;
}

}  // namespace

std::vector<std::uint32_t> evaluation_order(const SymbolicGraph& graph, EvaluationOrder which,
                                            std::span<const TensorSymbol> bound) {
  if (which > EvaluationOrder::greedy)
    fail_graph("evaluation order " + std::to_string(static_cast<int>(which)) + " is none");
  const std::shared_ptr<const IndexLists> known = detail::shared_predecessors(graph);
  const IndexLists& before = *known;
  std::vector<std::uint32_t> program = topological_order(graph);
  if (which == EvaluationOrder::program || is_forced(program, before)) return program;
  const RootUses uses(graph, bound);
  std::vector<std::uint32_t> depth_first = depth_first_order(graph, uses, before);
  if (which == EvaluationOrder::depth_first) return depth_first;
  std::vector<std::uint32_t> greedy = greedy_order(graph, uses, before, depth_first);
  if (which == EvaluationOrder::greedy) return greedy;
  std::vector<std::uint32_t>* least = &program;
  std::uint64_t fewest = peak_bytes(uses, program);
  for (std::vector<std::uint32_t>* order : {&depth_first, &greedy}) {
    const std::uint64_t peak = peak_bytes(uses, *order);
    if (peak >= fewest) continue;
    fewest = peak;
    least = order;
  }
  return std::move(*least);
}

}  // namespace mote
