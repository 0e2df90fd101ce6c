// SPDX-License-Identifier: Apache-2.0
// The part of a symbolic graph that some outputs need, down to what is given, and its inputs.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "control/splice.h"
#include "dependency_cache.h"
#include "gradient/reads_data.h"
#include "mote/symbolic/dependencies.h"
#include "part.h"

namespace mote::trace {
namespace {

/// Finds what outputs need, down to symbols that are given.
class Needed {
 public:
  Needed(const SymbolicGraph& graph, const std::vector<std::uint32_t>& number)
      : nodes(graph.node_count()),
        used(graph.symbol_count()),
        graph_(graph),
        number_(number),
        gradient_of_(graph.registry().column(kGradientOf)),
        is_in_order_(!detail::DependencyCache::has_order(graph)),
        seen_(graph.symbol_count()) {}

  void run(const std::vector<TensorSymbol>& outputs) {
    for (const TensorSymbol output : outputs) symbol(output.index);
    while (!open_.empty()) {
      const std::uint32_t node = open_.back();
      open_.pop_back();
      const NodeInfo& info = graph_.nodes()[node];
      for (std::size_t k = 0; k < info.inputs.size(); ++k) {
        const std::uint32_t input = info.inputs[k];
        if (input == kNoIndex) continue;
        for_writers(graph_.symbols()[input].root,
                    [&](std::uint32_t writer) { is_in_order_ = is_in_order_ && writer < node; });
        if (reads_data(gradient_of_, info, k))
          symbol(input);
        else
          shapes_.push_back(input);
      }
    }
  }

  /// Returns the nodes, each after those that write what it reads.
  std::vector<std::uint32_t> order() const {
    std::vector<std::uint32_t> order;
    if (is_in_order_) {
      for (std::uint32_t node = 0; node < nodes.size(); ++node)
        if (nodes[node]) order.push_back(node);
      return order;
    }
    order = topological_order(graph_);
    std::erase_if(order, [&](std::uint32_t node) { return !nodes[node]; });
    return order;
  }

  /// Returns the roots of which only the shape is needed: nothing that is given or computed is one.
  std::vector<std::uint32_t> unread() {
    std::vector<std::uint32_t> roots;
    for (std::uint32_t k : shapes_) {
      for (; !used[k] && graph_.symbols()[k].kind == SymbolOrigin::view;
           k = graph_.symbols()[k].base) {
      }
      const SymbolOrigin kind = graph_.symbols()[k].kind;
      const bool is_made = kind == SymbolOrigin::zeros || kind == SymbolOrigin::constant;
      if (used[k] || is_made) continue;
      bool is_computed = false;
      for_writers(k, [&](std::uint32_t node) { is_computed = is_computed || nodes[node]; });
      if (is_computed || std::ranges::find(roots, k) != roots.end()) continue;
      roots.push_back(k);
    }
    return roots;
  }

  /// Returns how many symbols that takes, given ones included; a few more if views are read often.
  std::size_t symbol_count() const {
    return static_cast<std::size_t>(std::ranges::count(used, true)) +
           static_cast<std::size_t>(std::ranges::count(seen_, true)) + views_ + shapes_.size();
  }

  std::vector<bool> nodes;
  std::vector<bool> used;  ///< symbols that are given, and that a node or an output reads

 private:
  void symbol(std::uint32_t k) {
    for (; number_[k] == 0 && graph_.symbols()[k].kind == SymbolOrigin::view;
         k = graph_.symbols()[k].base)
      ++views_;
    if (number_[k] != 0) {
      used[k] = true;
      return;
    }
    if (seen_[k]) return;
    seen_[k] = true;
    for_writers(k, [&](std::uint32_t node) {
      if (nodes[node]) return;
      nodes[node] = true;
      open_.push_back(node);
    });
  }

  /// Calls function(node) for each node that writes the root, or a view of it.
  template <typename Function>
  void for_writers(std::uint32_t root, const Function& function) {
    const std::uint32_t whole = graph_.symbols()[root].producer;
    if (whole != kNoIndex) return function(whole);
    if (!detail::DependencyCache::may_write_views(graph_)) return;
    if (written_ == nullptr) written_ = detail::shared_writers(graph_);
    std::ranges::for_each((*written_)[root], function);
  }

  const SymbolicGraph& graph_;
  const std::vector<std::uint32_t>& number_;  ///< of symbols that are given; 0 for others
  Column<OpGradient> gradient_of_;
  std::shared_ptr<const IndexLists> written_;  ///< null until a root is written by views
  bool is_in_order_;  ///< each node was added after those that write what it reads
  std::vector<bool> seen_;
  std::size_t views_ = 0;  ///< that were met on the way to what they are views of
  std::vector<std::uint32_t> open_;
  std::vector<std::uint32_t> shapes_;  ///< symbols of which nodes need the shape
};

/// A node that is needed writes all of its outputs: none of them is taken as given then.
Needed find_needed(const SymbolicGraph& graph, std::vector<std::uint32_t>& number,
                   const std::vector<TensorSymbol>& outputs) {
  while (true) {
    Needed needed(graph, number);
    needed.run(outputs);
    bool is_done = true;
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      if (!needed.nodes[node]) continue;
      for (const std::uint32_t output : graph.nodes()[node].outputs)
        if (output != kNoIndex && std::exchange(number[output], 0) != 0) is_done = false;
    }
    if (is_done) return needed;
  }
}

/// Returns the needed nodes in an order in which what is computed again comes right before the
/// node of the way back that reads it first.
std::vector<std::uint32_t> late_order(const PartGraph& from, const Needed& needed) {
  const SymbolicGraph& graph = from.graph;
  const std::shared_ptr<const IndexLists> written = detail::shared_writers(graph);
  std::vector<std::uint32_t> order;
  std::vector<bool> is_done(graph.node_count());
  std::vector<std::pair<std::uint32_t, bool>> open;  // a node, and whether what it reads is done
  const auto add = [&](std::uint32_t last) {
    open.emplace_back(last, false);
    while (!open.empty()) {
      const auto [node, is_ready] = open.back();
      open.pop_back();
      if (is_done[node] || !needed.nodes[node]) continue;
      if (is_ready) {
        is_done[node] = true;
        order.push_back(node);
        continue;
      }
      open.emplace_back(node, true);
      const auto before = [&](std::uint32_t other) { open.emplace_back(other, false); };
      for (const std::uint32_t other : graph.nodes()[node].after) before(other);
      for (const std::uint32_t input : graph.nodes()[node].inputs)
        if (input != kNoIndex)
          std::ranges::for_each((*written)[graph.symbols()[input].root], before);
    }
  };
  const std::vector<std::uint32_t> all = topological_order(graph);
  for (const std::uint32_t node : all)
    if (node >= from.nodes) add(node);
  for (const std::uint32_t node : all) add(node);
  return order;
}

}  // namespace

CachedGraph cut(const PartGraph& from, const std::vector<bool>& given,
                const std::vector<TensorSymbol>& outputs) {
  const SymbolicGraph& graph = from.graph;
  std::vector<std::uint32_t> number(graph.symbol_count());
  for (std::uint32_t k = 1; k < from.symbols.size(); ++k)
    if (given[k] && from.symbols[k]) number[from.symbols[k].index] = k;
  Needed needed = find_needed(graph, number, outputs);
  SymbolicGraph made("trace");
  const auto needed_nodes = static_cast<std::size_t>(std::ranges::count(needed.nodes, true));
  const auto given_symbols = static_cast<std::size_t>(std::ranges::count(needed.used, true));
  made.reserve(needed.symbol_count() + outputs.size(), needed_nodes + outputs.size());
  std::vector<TensorSymbol> symbols(graph.symbol_count());
  std::vector<TensorSymbol> inputs;
  inputs.reserve(given_symbols);
  CachedGraph cut;
  cut.inputs.reserve(given_symbols);
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    if (!needed.used[k]) continue;
    symbols[k] = made.input("v" + std::to_string(k), graph.form(graph.at(k)));
    inputs.push_back(symbols[k]);
    cut.inputs.push_back(number[k]);
  }
  cut.again = static_cast<std::size_t>(std::count(
      needed.nodes.begin(), needed.nodes.begin() + static_cast<std::ptrdiff_t>(from.nodes), true));
  for (const std::uint32_t root : needed.unread()) {
    const TensorForm& form = graph.form(graph.at(root));
    symbols[root] = made.input("s" + std::to_string(root), form);
    inputs.push_back(symbols[root]);
    cut.inputs.push_back(0);
  }
  if (cut.again == 0 || from.nodes == graph.node_count()) {
    symbols = splice(made, graph, std::move(symbols), needed.order(), outputs);
  } else {
    const std::vector<std::uint32_t> order = late_order(from, needed);
    symbols = splice(made, graph, std::move(symbols), order, outputs);
    // The way forward may become a part of the same graph: no pass makes one node of both.
    for (std::uint32_t k = 0; k < order.size(); ++k)
      if (order[k] < from.nodes) made.mark_recomputed(made.node_at(k), 1);
  }
  std::vector<TensorSymbol> asked;
  for (const TensorSymbol output : outputs) asked.push_back(symbols[output.index]);
  cut.work = std::make_shared<GraphWork>(std::move(made), std::move(inputs), std::move(asked));
  return cut;
}

std::vector<Ref<Value>> inputs_of(State& state, CachedGraph& graph, const Part& part,
                                  std::span<Value* const> seeds) {
  if (graph.forms.empty()) {
    std::vector<SharedForm> forms;
    for (const TensorSymbol input : graph.work->inputs)
      forms.push_back(state.kernels.form_of(graph.work->graph.form(input)));
    graph.forms = std::move(forms);
  }
  std::vector<Ref<Value>> inputs;
  inputs.reserve(graph.inputs.size());
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const std::size_t number = graph.inputs[k];
    const SharedForm& form = graph.forms[k];
    if (number == 0) {
      inputs.push_back(state.make_value(form, state.allocate(*form), false));
      continue;
    }
    Value& value =
        number < part.values.size() ? *part.values[number] : *seeds[number - part.values.size()];
    inputs.push_back(value.form == form ? Ref<Value>(&value) : state.convert(value, form));
  }
  return inputs;
}

}  // namespace mote::trace
