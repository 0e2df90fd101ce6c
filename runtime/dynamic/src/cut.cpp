// SPDX-License-Identifier: Apache-2.0
// The part of a symbolic graph that some outputs need, down to what is given, and its inputs.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "control/splice.h"
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
        written_(writers(graph)),
        seen_(graph.symbol_count()) {}

  void run(const std::vector<TensorSymbol>& outputs) {
    for (const TensorSymbol output : outputs) symbol(output.index);
    while (!open_.empty()) {
      const std::uint32_t node = open_.back();
      open_.pop_back();
      const NodeInfo& info = graph_.nodes()[node];
      for (std::size_t k = 0; k < info.inputs.size(); ++k) {
        if (reads_data(gradient_of_, info, k))
          symbol(info.inputs[k]);
        else if (info.inputs[k] != kNoIndex)
          shapes_.push_back(info.inputs[k]);
      }
    }
  }

  /// Returns the roots of which only the shape is needed: nothing that is given or computed is one.
  std::vector<std::uint32_t> unread() const {
    std::vector<std::uint32_t> roots;
    for (std::uint32_t k : shapes_) {
      for (; !used[k] && graph_.symbols()[k].kind == SymbolOrigin::view;
           k = graph_.symbols()[k].base) {
      }
      const SymbolOrigin kind = graph_.symbols()[k].kind;
      const bool is_made = kind == SymbolOrigin::zeros || kind == SymbolOrigin::constant;
      const auto is_needed = [&](std::uint32_t node) { return nodes[node]; };
      if (used[k] || is_made || std::ranges::any_of(written_[k], is_needed) ||
          std::ranges::find(roots, k) != roots.end())
        continue;
      roots.push_back(k);
    }
    return roots;
  }

  std::vector<bool> nodes;
  std::vector<bool> used;  ///< symbols that are given, and that a node or an output reads

 private:
  void symbol(std::uint32_t k) {
    if (k == kNoIndex) return;
    for (; number_[k] == 0 && graph_.symbols()[k].kind == SymbolOrigin::view;
         k = graph_.symbols()[k].base) {
    }
    if (number_[k] != 0) {
      used[k] = true;
      return;
    }
    if (seen_[k]) return;
    seen_[k] = true;
    for (const std::uint32_t node : written_[k]) {
      if (nodes[node]) continue;
      nodes[node] = true;
      open_.push_back(node);
    }
  }

  const SymbolicGraph& graph_;
  const std::vector<std::uint32_t>& number_;  ///< of symbols that are given; 0 for others
  Column<OpGradient> gradient_of_;
  IndexLists written_;
  std::vector<bool> seen_;
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
  const IndexLists written = writers(graph);
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
        if (input != kNoIndex) std::ranges::for_each(written[graph.symbols()[input].root], before);
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
  const Needed needed = find_needed(graph, number, outputs);
  SymbolicGraph made("trace");
  const auto needed_nodes = static_cast<std::size_t>(std::ranges::count(needed.nodes, true));
  const auto given_symbols = static_cast<std::size_t>(std::ranges::count(needed.used, true));
  made.reserve(given_symbols + needed_nodes, needed_nodes);
  std::vector<TensorSymbol> symbols(graph.symbol_count());
  std::vector<TensorSymbol> inputs;
  CachedGraph cut;
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
    symbols = splice(
        made, graph, std::move(symbols), [&](std::uint32_t node) { return needed.nodes[node]; },
        outputs);
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
