// SPDX-License-Identifier: Apache-2.0
#include "compile/pointed_layout.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "compile/layout.h"
#include "mote/symbolic/control.h"

namespace mote {
namespace {

/// True if a loop or a case..of of the graph gives the output, or it is the graph's counter.
bool is_elsewhere(const SymbolicGraph& graph, std::uint32_t output, bool has_counter) {
  const std::uint32_t root = graph.symbols()[output].root;
  if (has_counter && input_indices(graph).back() == root) return true;
  const std::uint32_t producer = graph.symbols()[root].producer;
  return producer != kNoIndex && graph.nodes()[producer].kind == NodeKind::control;
}

}  // namespace

std::vector<std::uint32_t> results_without_location(const NodeInfo& node,
                                                    const std::vector<bool>& has_location) {
  const ControlInfo& control = *node.control;
  std::vector<std::uint32_t> results;
  for (std::uint32_t k = 0; k < result_count(control); ++k) {
    if (k < has_location.size() && has_location[k]) continue;
    if (std::ranges::any_of(control.graphs, [&](const SymbolicGraph& graph) {
          return is_elsewhere(graph, graph.output_indices()[k], control.has_counter);
        }))
      results.push_back(k);
  }
  return results;
}

PointedNode all_pointed_values(const NodeInfo& node, const PointedNode* around,
                               const std::vector<std::uint32_t>& seeds) {
  PointedNode all = around == nullptr ? PointedNode() : *around;
  if (!seeds.empty()) add_values(all, pointed_values(node, seeds));
  all.graphs.resize(node.control->graphs.size());
  return all;
}

void add_regions(ControlLayout& layout, const PointedNode& pointed, const PointedNode* around) {
  for (const auto& [set, regions] : pointed.sets) {
    TensorForm form{DType::u8, {static_cast<std::int64_t>(regions.bytes)}};
    form.device = regions.device;
    const bool lent = around != nullptr && around->sets.contains(set);
    for (std::uint32_t k = 0; k < regions.count; ++k) {
      layout.regions[set].push_back(static_cast<std::uint32_t>(layout.slots.size()));
      layout.slots.push_back(form);
      layout.is_lent.resize(layout.slots.size());
      layout.is_lent.back() = lent;
    }
  }
}

void add_pointed_roots(ControlLayout& layout, const PointedNode& pointed, std::size_t g) {
  SubLayout& sub = layout.subs[g];
  const PointedGraph& graph = pointed.graphs[g];
  std::map<std::uint64_t, std::vector<std::uint64_t>> held = graph.held;
  for (const auto& [symbol, value] : graph.computed) {
    SubLayout::Root root{.symbol = symbol,
                         .slots = layout.regions.at(value.set),
                         .pointer = value.pointer,
                         .held = held[value.set]};
    std::ranges::rotate(root.slots, root.slots.begin() + value.region);
    held[value.set].push_back(value.pointer);
    if (sub.graph.symbols()[symbol].kind == SymbolOrigin::input)
      sub.counter = std::move(root);
    else
      sub.roots.push_back(std::move(root));
  }
}

void lend_regions(ControlLayout& layout, const PointedNode& pointed, std::size_t g) {
  SubLayout& sub = layout.subs[g];
  for (const auto& [node, inside] : pointed.graphs[g].nodes) {
    const ControlLayout& inner = sub.layout->controls.at(node);
    for (const auto& [set, regions] : inside->sets)
      for (std::size_t k = 0; k < inner.regions.at(set).size(); ++k)
        sub.lent.push_back({node, inner.regions.at(set)[k], layout.regions.at(set)[k]});
  }
}

ResultLocations pointed_result(const ControlLayout& layout, const PointedNode& pointed,
                               std::uint32_t k) {
  const PointedValue& value = pointed.values.at(k);
  ResultLocations result{.first = {}, .cycle = {}, .pointer = value.pointer};
  for (const std::uint32_t slot : layout.regions.at(value.set))
    result.cycle.push_back({ResultLocation::Kind::slot, slot});
  result.first = {result.cycle[value.region]};
  if (const auto inputs = pointed.inputs.find(value.set); inputs != pointed.inputs.end())
    for (const std::uint32_t input : inputs->second)
      result.cycle.push_back({ResultLocation::Kind::input, input});
  return result;
}

std::int64_t bytes_below(const TensorForm& form) {
  std::int64_t below = 0;  // elements
  for (int axis = 0; axis < form.shape.size(); ++axis)
    if (form.shape[axis] > 1 && form.strides[axis] < 0)
      below -= (form.shape[axis] - 1) * form.strides[axis];
  return form.element_count() == 0 ? 0 : below * static_cast<std::int64_t>(size_of(form.dtype));
}

GraphTensor pointed_tensor(Graph& graph, const TensorForm& form, TensorChoice choice,
                           std::string_view name) {
  choice.first = {graph.view(choice.first.front(), bytes_below(form), form, name)};
  return graph.choice(choice, name);
}

PointedRoot add_pointed_root(Graph& graph, const SymbolicGraph& of, const SubLayout::Root& root,
                             std::span<const GraphTensor> slots) {
  const TensorForm& form = of.symbols()[root.symbol].form;
  TensorChoice choice{.first = {slots[root.slots.front()]}, .pointer = root.pointer};
  for (const std::uint32_t slot : root.slots) choice.cycle.push_back(slots[slot]);
  RegionTake take{root.pointer, choice.cycle, root.held, bytes_below(form)};
  return {pointed_tensor(graph, form, std::move(choice), of.text(of.at(root.symbol))),
          std::move(take)};
}

}  // namespace mote
