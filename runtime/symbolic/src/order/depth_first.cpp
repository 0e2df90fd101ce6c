// SPDX-License-Identifier: Apache-2.0
// Evaluation from the outputs: each node right after its operands, of which the one is first whose
// evaluation needs the most bytes beyond those that its result keeps. Predecessors -> order.
#include <algorithm>
#include <utility>

#include "mote/runtime/tensor.h"
#include "order/root_uses.h"

namespace mote {
namespace {

class DepthFirst {
 public:
  DepthFirst(const SymbolicGraph& graph, const RootUses& uses, const IndexLists& before)
      : graph_(graph),
        uses_(uses),
        operands_(graph.node_count() + 1),
        need_(graph.node_count() + 1),
        result_(graph.node_count() + 1),
        reached_(graph.node_count() + 1) {
    std::vector<bool> has_successor(graph.node_count());
    for (const std::uint32_t node : topological_order(graph)) {
      operands_[node].assign(before[node].begin(), before[node].end());
      for (const std::uint32_t operand : before[node]) has_successor[operand] = true;
      find_need(node);
    }
    for (std::uint32_t node = 0; node < graph.node_count(); ++node)
      if (!graph.nodes()[node].removed && !has_successor[node]) operands_[sink()].push_back(node);
    find_need(sink());
  }

  std::vector<std::uint32_t> order() {
    std::vector<std::uint32_t> order;
    std::vector<std::pair<std::uint32_t, std::size_t>> open = {{sink(), 0}};
    while (!open.empty()) {
      auto& [node, next] = open.back();
      if (next < operands_[node].size()) {
        const std::uint32_t operand = operands_[node][next++];
        if (!reached_[operand]) open.emplace_back(operand, 0);
        reached_[operand] = true;
        continue;
      }
      if (node != sink()) order.push_back(node);
      open.pop_back();
    }
    return order;
  }

 private:
  /// A node that stands for the caller, who reads what no node reads.
  std::uint32_t sink() const { return static_cast<std::uint32_t>(operands_.size() - 1); }

  /// Returns the bytes of what the node writes.
  std::uint64_t written_bytes(std::uint32_t node) const {
    std::uint64_t bytes = 0;
    if (node == sink()) return 0;
    for (const std::uint32_t output : graph_.nodes()[node].outputs) {
      if (output == kNoIndex || uses_.bytes[graph_.symbols()[output].root] == 0) continue;
      const TensorForm& form = graph_.symbols()[output].form;
      bytes += static_cast<std::uint64_t>(element_count(form)) * size_of(form.dtype);
    }
    return bytes;
  }

  /// Sorts the operands, and finds the bytes that the node's evaluation needs as if nothing of it
  /// were shared with that of others.
  void find_need(std::uint32_t node) {
    std::ranges::stable_sort(operands_[node], [&](std::uint32_t a, std::uint32_t b) {
      return need_[a] - result_[a] > need_[b] - result_[b];
    });
    result_[node] = written_bytes(node);
    std::uint64_t alive = 0;
    std::uint64_t need = 0;
    for (const std::uint32_t operand : operands_[node]) {
      need = std::max(need, alive + need_[operand]);
      alive += result_[operand];
    }
    need_[node] = std::max(need, alive + result_[node]);
  }

  const SymbolicGraph& graph_;
  const RootUses& uses_;
  std::vector<std::vector<std::uint32_t>> operands_;
  std::vector<std::uint64_t> need_;    ///< by node: the bytes that its evaluation needs
  std::vector<std::uint64_t> result_;  ///< by node: the bytes of its outputs, at most need_
  std::vector<bool> reached_;          ///< by node: it has been reached
};

}  // namespace

std::vector<std::uint32_t> depth_first_order(const SymbolicGraph& graph, const RootUses& uses,
                                             const IndexLists& before) {
  return DepthFirst(graph, uses, before).order();
}

}  // namespace mote
