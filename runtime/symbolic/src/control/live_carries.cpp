// SPDX-License-Identifier: Apache-2.0
#include "control/live_carries.h"

#include <algorithm>
#include <utility>

#include "dependency_cache.h"
#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

bool is_absent(std::uint32_t symbol) { return symbol == kNoIndex; }

/// Returns which roots nodes read or the graph gives.
std::vector<bool> used_roots(const SymbolicGraph& graph) {
  std::vector<bool> used(graph.symbol_count());
  for (const NodeInfo& node : graph.nodes())
    if (!node.removed)
      for (const std::uint32_t input : node.inputs)
        if (!is_absent(input)) used[graph.symbols()[input].root] = true;
  for (const std::uint32_t output : graph.output_indices())
    used[graph.symbols()[output].root] = true;
  return used;
}

/// Returns the body without these carried values.
SymbolicGraph body_without(const ControlInfo& control, const std::vector<bool>& live) {
  SymbolicGraph body(control.graphs[0]);
  const std::vector<std::uint32_t> inputs = input_indices(body);
  std::vector<TensorSymbol> outputs, asked;
  for (std::size_t k = 0; k < body.output_indices().size(); ++k)
    if (k >= live.size() || live[k]) outputs.push_back(body.at(body.output_indices()[k]));
  body.set_outputs(outputs);
  asked = outputs;
  for (const NodeInfo& node : body.nodes())
    if (has_effects(node))
      for (const std::uint32_t input : node.inputs)
        if (!is_absent(input)) asked.push_back(body.at(input));
  const std::vector<bool> needed = data_ancestors(body, asked);
  for (std::uint32_t k = 0; k < body.node_count(); ++k)
    if (!body.nodes()[k].removed && !needed[k] && !has_effects(body.nodes()[k]))
      body.remove(body.node_at(k));
  // Symbols that only these nodes used go too. A view may stand before what it is a view of now.
  std::vector<bool> used(body.symbol_count());
  for (const NodeInfo& node : body.nodes()) {
    if (node.removed) continue;
    for (const auto* list : {&node.inputs, &node.outputs})
      for (const std::uint32_t symbol : *list)
        if (!is_absent(symbol)) used[symbol] = true;
  }
  for (const TensorSymbol output : outputs) used[output.index] = true;
  for (std::uint32_t k = 0; k < body.symbol_count(); ++k)
    for (std::uint32_t base = used[k] ? body.symbols()[k].base : kNoIndex;
         base != kNoIndex && !used[base]; base = body.symbols()[base].base)
      used[base] = true;
  for (std::uint32_t k = static_cast<std::uint32_t>(body.symbol_count()); k-- > 0;) {
    const SymbolInfo& info = body.symbols()[k];
    if (info.removed) continue;
    const auto at = static_cast<std::size_t>(std::ranges::find(inputs, k) - inputs.begin());
    const bool is_dead_input = at < live.size() && !live[at];
    if (!used[k] && (info.kind != SymbolOrigin::input || is_dead_input)) body.remove(body.at(k));
  }
  return body;
}

}  // namespace

bool has_effects(const NodeInfo& node) {
  if (node.removed) return false;
  if (node.kind == NodeKind::function) return std::ranges::all_of(node.outputs, is_absent);
  return node.kind == NodeKind::control &&
         std::ranges::any_of(node.control->graphs, [](const SymbolicGraph& sub) {
           return std::ranges::any_of(sub.nodes(), has_effects);
         });
}

std::vector<bool> live_carries(const ControlInfo& control, std::vector<bool> used) {
  const SymbolicGraph& body = control.graphs[0];
  const std::vector<std::uint32_t> inputs = input_indices(body);
  std::vector<TensorSymbol> always = {body.at(body.output_indices().back())};
  for (const NodeInfo& node : body.nodes())
    if (has_effects(node))
      for (const std::uint32_t input : node.inputs)
        if (!is_absent(input)) always.push_back(body.at(input));
  for (bool has_grown = true; has_grown;) {
    std::vector<TensorSymbol> asked = always;
    for (std::size_t k = 0; k < used.size(); ++k)
      if (used[k]) asked.push_back(body.at(body.output_indices()[k]));
    const std::vector<bool> needed = data_ancestors(body, asked);
    std::vector<bool> is_read(body.symbol_count());
    for (const TensorSymbol symbol : asked) is_read[body.info(symbol).root] = true;
    for (std::uint32_t k = 0; k < body.node_count(); ++k)
      if (needed[k])
        for (const std::uint32_t input : body.nodes()[k].inputs)
          if (!is_absent(input)) is_read[body.symbols()[input].root] = true;
    has_grown = false;
    for (std::size_t k = 0; k < used.size(); ++k) {
      if (used[k] || !is_read[inputs[k]]) continue;
      used[k] = has_grown = true;
    }
  }
  return used;
}

std::size_t remove_dead_carries(SymbolicGraph& graph) {
  const auto is_loop = [&](std::uint32_t k) {
    const NodeInfo& node = graph.nodes()[k];
    return !node.removed && node.kind == NodeKind::control && node.control->is_loop;
  };
  if (std::ranges::none_of(detail::node_table(graph)->controls(), is_loop)) return 0;
  std::vector<std::uint32_t> order = topological_order(graph);
  std::erase_if(order, [&](std::uint32_t k) { return !is_loop(k); });
  std::size_t count = 0;
  for (std::size_t n = order.size(); n-- > 0;) {  // a loop before it may lose its readers
    const NodeInfo node = graph.nodes()[order[n]];
    const std::vector<bool> roots = used_roots(graph);
    std::vector<bool> used;
    for (const std::uint32_t output : node.outputs) used.push_back(roots[output]);
    const std::vector<bool> live = live_carries(*node.control, std::move(used));
    std::vector<std::size_t> dead;
    for (std::size_t k = 0; k < live.size(); ++k)
      if (!live[k]) dead.push_back(k);
    if (dead.empty()) continue;
    auto control = std::make_shared<ControlInfo>(*node.control);
    control->graphs[0] = body_without(*node.control, live);
    graph.shrink_control(graph.node_at(order[n]), std::move(control), dead);
    count += dead.size();
  }
  return count;
}

}  // namespace mote
