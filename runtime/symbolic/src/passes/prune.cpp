// SPDX-License-Identifier: Apache-2.0
// The pass prune: nodes that no output needs are removed, and symbols that nothing uses. Where
// results may differ, unread optional outputs are left out too: a kernel without them may round
// otherwise. Inputs stay, and so do functions without outputs, which
// are called for what else they do, with all that these need. Loops carry over only what something
// needs. A graph without outputs stays whole.
#include <algorithm>

#include "control/live_carries.h"
#include "dependency_cache.h"
#include "mote/symbolic/dependencies.h"
#include "passes/kernels.h"
#include "passes/registered.h"

namespace mote {
namespace {

class Pruner {
 public:
  Pruner(SymbolicGraph& graph, const PassOptions& options) : graph_(graph), options_(options) {}

  std::string prune() {
    if (graph_.output_indices().empty()) return "";
    std::size_t nodes = remove_nodes();
    const std::size_t carried = remove_dead_carries(graph_);
    if (carried > 0) nodes += remove_nodes();  // what only they needed
    const std::size_t outputs = options_.inexact ? leave_out_unread() : 0;
    const std::size_t symbols = remove_symbols();
    std::vector<std::string> texts;
    if (nodes > 0) texts.push_back(count_of(nodes, "node") + " removed");
    if (carried > 0) texts.push_back(count_of(carried, "carried value") + " removed");
    if (outputs > 0) texts.push_back(count_of(outputs, "output") + " left out");
    if (symbols > 0) texts.push_back(count_of(symbols, "symbol") + " removed");
    return listed(texts);
  }

 private:
  std::size_t remove_nodes() {
    find_needed();
    keep_order();
    std::size_t nodes = 0;
    const auto all = detail::node_table(graph_);  // the loop changes the graph
    for (std::uint32_t node = 0; node < all->size(); ++node) {
      if (needed_[node] || all->is_removed(node)) continue;
      graph_.remove(graph_.node_at(node));
      ++nodes;
    }
    return nodes;
  }

  void find_needed() {
    std::vector<TensorSymbol> asked = graph_.outputs();
    std::vector<std::uint32_t> effects;
    const auto all = detail::node_table(graph_);
    for (const auto* nodes : {&all->controls(), &all->functions()})
      for (const std::uint32_t k : *nodes) {
        const NodeInfo& node = graph_.nodes()[k];
        if (!has_effects(node)) continue;
        effects.push_back(k);
        for (const std::uint32_t input : node.inputs)
          if (input != kNoIndex) asked.push_back(graph_.at(input));
      }
    needed_ = data_ancestors(graph_, asked);
    for (const std::uint32_t node : effects) needed_[node] = true;
  }

  /// Makes a node that came after one that is removed come after what that one came after.
  void keep_order() {
    const auto is_gone = [&](std::uint32_t node) { return !needed_[node]; };
    if (!detail::DependencyCache::has_order(graph_) ||
        std::ranges::none_of(graph_.nodes(), [&](const NodeInfo& node) {
          return std::ranges::any_of(node.after, is_gone);
        }))
      return;
    const IndexLists before = predecessors(graph_);
    std::vector<std::uint32_t> reached(graph_.node_count(), kNoIndex);
    for (std::uint32_t node = 0; node < graph_.node_count(); ++node) {
      const ShortList after = graph_.nodes()[node].after;
      if (!needed_[node] || std::ranges::none_of(after, is_gone)) continue;
      std::vector<NodeSymbol> edges;
      std::vector<std::uint32_t> open(after.begin(), after.end());
      std::ranges::reverse(open);
      while (!open.empty()) {
        const std::uint32_t other = open.back();
        open.pop_back();
        if (reached[other] == node) continue;
        reached[other] = node;
        if (needed_[other])
          edges.push_back(graph_.node_at(other));
        else
          open.insert(open.end(), before[other].begin(), before[other].end());
      }
      graph_.set_after(graph_.node_at(node), edges);
    }
  }

  /// Finds for each symbol that a node writes whether some element of it is read or asked for.
  void find_read() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    const auto use = [&](std::uint32_t symbol) {
      if (symbol != kNoIndex) pairs.emplace_back(graph_.symbols()[symbol].root, symbol);
    };
    for (const NodeInfo& node : graph_.nodes())
      for (const std::uint32_t input : node.inputs) use(input);
    for (const std::uint32_t output : graph_.output_indices()) use(output);
    read_ = IndexLists(graph_.symbol_count(), pairs);
  }
  bool is_read(std::uint32_t symbol) const {
    const auto meets = [&](std::uint32_t other) {
      return overlap(graph_.region(graph_.at(symbol)), graph_.region(graph_.at(other)));
    };
    return std::ranges::any_of(read_[graph_.symbols()[symbol].root], meets);
  }

  std::size_t leave_out_unread() {
    find_read();
    std::size_t count = 0;
    for (std::uint32_t k = 0; k < graph_.node_count(); ++k) {
      const NodeInfo& node = graph_.nodes()[k];
      if (node.removed || node.kind != NodeKind::command || node.outputs.size() < 2 ||
          !has_generated_kernel(graph_, node) || is_in_backends(*node.command, options_.context))
        continue;
      auto present = std::ranges::count_if(node.outputs,
                                           [](std::uint32_t output) { return output != kNoIndex; });
      for (std::size_t o = 0; o < node.outputs.size() && present > 1; ++o) {
        const bool may_go = node.outputs[o] != kNoIndex &&
                            node.command->definition().outputs[o].optional != 0 &&
                            !is_read(node.outputs[o]);
        if (!may_go) continue;
        graph_.leave_out(graph_.node_at(k), o);
        --present;
        ++count;
      }
    }
    return count;
  }

  std::size_t remove_symbols() {
    std::vector<bool> used(graph_.symbol_count());
    const auto use = [&](std::uint32_t symbol) {
      // A view uses what it is a view of.
      while (symbol != kNoIndex && !used[symbol]) {
        used[symbol] = true;
        symbol = graph_.symbols()[symbol].base;
      }
    };
    const auto nodes = detail::node_table(graph_);
    for (std::uint32_t k = 0; k < nodes->size(); ++k) {
      for (const std::uint32_t input : nodes->inputs(k)) use(input);
      for (const std::uint32_t output : nodes->outputs(k)) use(output);
    }
    for (const std::uint32_t output : graph_.output_indices()) use(output);
    std::size_t count = 0;
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      if (used[k]) continue;
      const SymbolInfo& info = graph_.symbols()[k];
      if (info.removed || info.kind == SymbolOrigin::input) continue;
      graph_.remove(graph_.at(k));
      ++count;
    }
    return count;
  }

  SymbolicGraph& graph_;
  const PassOptions& options_;
  std::vector<bool> needed_;  ///< by node
  IndexLists read_;           ///< by root: the symbols of it that are read or asked for
};

}  // namespace

std::string prune(SymbolicGraph& graph, const PassOptions& options) {
  return Pruner(graph, options).prune();
}

}  // namespace mote
