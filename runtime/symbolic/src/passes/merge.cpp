// SPDX-License-Identifier: Apache-2.0
// The pass merge: of nodes that compute the same from the same inputs one stays, as do equal
// constants, equal views, and zeros that nothing writes. Functions, ops that draw random numbers
// and recomputed nodes are never merged, nor are nodes that come before or after different nodes by
// order(). Forms are equal with their strides, so that the same kernels run as before. An output of
// the graph stays a tensor of its own: a copy, if its node goes.
#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <unordered_map>

#include "dependency_cache.h"
#include "mote/symbolic/dependencies.h"
#include "passes/equal_symbols.h"
#include "passes/hash_index.h"
#include "passes/kernels.h"
#include "passes/registered.h"
#include "passes/substitute.h"

namespace mote {
namespace {

using Indices = std::vector<std::uint32_t>;

class Merger {
 public:
  explicit Merger(SymbolicGraph& graph)
      : graph_(graph),
        equal_(graph),
        nodes_(detail::node_table(graph)),
        has_order_(detail::DependencyCache::has_order(graph)),
        is_random_(random_ops(graph.registry())),
        is_output_(graph.symbol_count()),
        by_hash_(graph.symbol_count() + 1, graph.node_count()) {
    for (const std::uint32_t output : graph.output_indices()) is_output_[output] = true;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::uint32_t node = 0; has_order_ && node < graph.node_count(); ++node)
      for (const std::uint32_t before : graph.nodes()[node].after) pairs.emplace_back(before, node);
    later_ = IndexLists(graph.node_count(), pairs);
  }

  std::string merge() {
    // Constants and zeros that no node reads are merged too; then a node's inputs have classes
    // before it is looked at.
    for (std::uint32_t k = 0; k < graph_.symbol_count(); ++k) {
      const SymbolInfo& info = symbol(k);
      if (info.removed || info.kind == SymbolOrigin::tensor || info.kind == SymbolOrigin::input)
        continue;
      others_.push_back(k);
      if (info.kind == SymbolOrigin::constant) equal_.leader(k);
    }
    classes_.reserve(graph_.node_count());
    for (const std::uint32_t node : topological_order(graph_)) classify(node);
    Substitution substitution(graph_);
    std::size_t nodes = 0;
    const IndexLists alike(classes_.size(), alike_);
    for (std::uint32_t k = 0; k < classes_.size(); ++k)
      if (!alike[k].empty()) nodes += merge_class(classes_[k], alike[k], substitution);
    const std::size_t symbols = merge_symbols(substitution);
    if (nodes + symbols == 0) return "";
    for (const std::uint32_t node : removed_) remove(node);
    substitution.apply();
    std::vector<std::string> texts;
    if (nodes > 0) texts.push_back(count_of(nodes, "node") + " removed");
    if (symbols > 0) texts.push_back(count_of(symbols, "symbol") + " replaced");
    return listed(texts);
  }

 private:
  const SymbolInfo& symbol(std::uint32_t k) const { return graph_.symbols()[k]; }

  bool may_be_merged(std::uint32_t k) const {
    const NodeInfo& node = graph_.nodes()[k];
    if (node.kind == NodeKind::function || node.kind == NodeKind::control || node.recomputed != 0)
      return false;
    if (node.kind == NodeKind::command && is_random_[node.command->op()]) return false;
    return std::ranges::all_of(nodes_->outputs(k), [&](std::uint32_t output) {
      return output == kNoIndex ||
             (symbol(output).kind == SymbolOrigin::tensor && symbol(output).has_form);
    });
  }

  /// Puts the node into the class of those that compute the same.
  void classify(std::uint32_t k) {
    for (const std::uint32_t input : nodes_->inputs(k))
      if (input != kNoIndex) equal_.leader(input);
    if (!may_be_merged(k)) return;
    const std::uint32_t same = by_hash_.find_or_add(
        first_leader(k), hash_of(k), static_cast<std::uint32_t>(classes_.size()),
        [&](std::uint32_t entry) { return is_same(k, classes_[entry]); });
    if (same == classes_.size()) return classes_.push_back(k);
    alike_.emplace_back(same, k);
    const NodeInfo& node = graph_.nodes()[k];
    const NodeInfo& first = graph_.nodes()[classes_[same]];
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      if (node.outputs[o] != kNoIndex) equal_.join(node.outputs[o], first.outputs[o]);
  }

  /// Returns what stands for the node's first input; one more than all symbols if it has none.
  std::uint32_t first_leader(std::uint32_t k) {
    for (const std::uint32_t input : nodes_->inputs(k))
      if (input != kNoIndex) return equal_.leader(input);
    return static_cast<std::uint32_t>(graph_.symbol_count());
  }

  std::size_t hash_of(std::uint32_t k) {
    const NodeInfo& node = graph_.nodes()[k];
    std::size_t hash = static_cast<std::size_t>(node.kind);
    if (node.command) hash = mixed(hash, node.command->hash());
    if (node.kind == NodeKind::fill)  // the value lies far from what is read of other nodes
      hash = mixed(hash, std::bit_cast<std::uint64_t>(node.value));
    for (const std::uint32_t input : nodes_->inputs(k))
      hash = mixed(hash, input == kNoIndex ? input : equal_.leader(input));
    for (const std::uint32_t output : nodes_->outputs(k))
      hash = mixed(hash, output == kNoIndex ? output : mote::hash_of(symbol(output).form));
    if (!has_order_) return hash;
    std::size_t earlier = 0;  // these stand in any order
    for (const std::uint32_t before : node.after) earlier += mixed(0, before);
    hash = mixed(hash, earlier);
    for (const std::uint32_t after : later_[k]) hash = mixed(hash, after);
    return hash;
  }

  bool is_same(std::uint32_t a, std::uint32_t b) {
    const NodeInfo& x = graph_.nodes()[a];
    const NodeInfo& y = graph_.nodes()[b];
    const auto same_input = [&](std::uint32_t i, std::uint32_t j) {
      return i == kNoIndex || j == kNoIndex ? i == j : equal_.leader(i) == equal_.leader(j);
    };
    const auto same_output = [&](std::uint32_t i, std::uint32_t j) {
      return i == kNoIndex || j == kNoIndex ? i == j : symbol(i).form == symbol(j).form;
    };
    return x.kind == y.kind && (!x.command || *x.command == *y.command) &&
           std::bit_cast<std::uint64_t>(x.value) == std::bit_cast<std::uint64_t>(y.value) &&
           std::ranges::equal(x.inputs, y.inputs, same_input) &&
           std::ranges::equal(x.outputs, y.outputs, same_output) &&
           std::ranges::is_permutation(x.after, y.after) &&
           std::ranges::equal(later_[a], later_[b]);
  }

  bool has_output(std::uint32_t node) const {
    return std::ranges::any_of(graph_.nodes()[node].outputs, [&](std::uint32_t output) {
      return output != kNoIndex && is_output_[output];
    });
  }

  /// Lets one node of the class stand for all: the first one, and those that are alike. Returns how
  /// many are removed.
  std::size_t merge_class(std::uint32_t first_node, std::span<const std::uint32_t> later,
                          Substitution& substitution) {
    Indices alike = {first_node};
    alike.insert(alike.end(), later.begin(), later.end());
    const auto asked = std::ranges::find_if(alike, [&](auto node) { return has_output(node); });
    const std::uint32_t kept = asked == alike.end() ? first_node : *asked;
    const NodeInfo& first = graph_.nodes()[first_node];
    for (std::size_t o = 0; o < first.outputs.size(); ++o)
      if (first.outputs[o] != kNoIndex)
        chosen_.emplace(first.outputs[o], graph_.nodes()[kept].outputs[o]);
    std::size_t count = 0;
    for (const std::uint32_t node : alike) {
      if (node == kept) continue;
      // A copy in its place would cost as much.
      if (has_output(node) && graph_.nodes()[node].kind != NodeKind::command) continue;
      for (std::size_t o = 0; o < first.outputs.size(); ++o)
        if (first.outputs[o] != kNoIndex)
          substitution.add(graph_.nodes()[node].outputs[o], graph_.nodes()[kept].outputs[o]);
      removed_.push_back(node);
      ++count;
    }
    return count;
  }

  /// Replaces views, constants and zeros by those that stand for them. Returns how many.
  std::size_t merge_symbols(Substitution& substitution) {
    std::size_t count = 0;
    for (const std::uint32_t k : others_) {
      if (is_output_[k] || substitution.has(k) || !symbol(k).has_form) continue;
      const std::uint32_t leader = equal_.leader(k);
      const auto chosen = chosen_.find(leader);
      const std::uint32_t to = chosen == chosen_.end() ? leader : chosen->second;
      if (to == k || !is_used(k)) continue;
      substitution.add(k, to);
      ++count;
    }
    return count;
  }

  /// True if a node reads the symbol or a view is one of it.
  bool is_used(std::uint32_t k) {
    if (used_.empty()) {
      used_.resize(graph_.symbol_count());
      for (const NodeInfo& node : graph_.nodes())
        for (const std::uint32_t input : node.inputs)
          if (input != kNoIndex) used_[input] = true;
      for (const SymbolInfo& info : graph_.symbols())
        if (!info.removed && info.kind == SymbolOrigin::view) used_[info.base] = true;
    }
    return used_[k];
  }

  void remove(std::uint32_t node) {
    for (const std::uint32_t later : later_[node]) {
      std::vector<NodeSymbol> before;
      for (const std::uint32_t other : graph_.nodes()[later].after)
        if (other != node) before.push_back(graph_.node_at(other));
      if (!graph_.nodes()[later].removed) graph_.set_after(graph_.node_at(later), before);
    }
    graph_.remove(graph_.node_at(node));
  }

  SymbolicGraph& graph_;
  EqualSymbols equal_;
  std::shared_ptr<const detail::NodeTable> nodes_;  ///< while nothing is changed
  bool has_order_;
  std::vector<bool> is_random_;  ///< by op
  std::vector<bool> is_output_;  ///< by symbol
  IndexLists later_;             ///< by node: those that come after it by order()
  Indices classes_;              ///< the first node of each class
  Indices others_;               ///< the symbols but tensors and inputs
  GroupedIndex by_hash_;         ///< classes, by what their nodes have as first input
  std::vector<std::pair<std::uint32_t, std::uint32_t>> alike_;  ///< classes and their later nodes
  /// The leaders of classes with several nodes, to what is kept.
  std::unordered_map<std::uint32_t, std::uint32_t> chosen_;
  Indices removed_;
  std::vector<bool> used_;
};

}  // namespace

std::string merge(SymbolicGraph& graph, const PassOptions& /*options*/) {
  return Merger(graph).merge();
}

}  // namespace mote
