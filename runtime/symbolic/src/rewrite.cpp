// SPDX-License-Identifier: Apache-2.0
// The changes that passes make to a graph. Indices of what stays do not change.
#include <algorithm>

#include "fail.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

void SymbolicGraph::remove(NodeSymbol node) {
  NodeInfo& info = nodes_[checked(node)];
  for (const std::uint32_t output : info.outputs) {
    if (output == kNoIndex) continue;
    symbols_[output].producer = kNoIndex;
    const auto views = written_views_.find(symbols_[output].root);
    if (views != written_views_.end()) std::erase(views->second, output);
  }
  info = NodeInfo{};
  info.removed = true;
  ++version_;
}

void SymbolicGraph::remove(TensorSymbol symbol) {
  SymbolInfo& info = symbols_[checked(symbol)];
  if (info.producer != kNoIndex)
    fail_graph(text(symbol) + " cannot be removed: " + text(node_at(info.producer)) + " writes it");
  if (is_output(symbol)) fail_graph(text(symbol) + " cannot be removed: it is an output");
  if (!info.name.empty()) by_name_.erase(info.name);
  if (info.kind == SymbolKind::constant) values_[info.side] = Tensor();
  info.removed = true;
  ++version_;
}

void SymbolicGraph::replace_uses(TensorSymbol from, TensorSymbol to) {
  replace_uses({{checked(from), checked(to)}});
}

void SymbolicGraph::replace_uses(const std::unordered_map<std::uint32_t, std::uint32_t>& by_index) {
  const auto replaced = [&](std::uint32_t index) {
    std::size_t steps = 0;
    for (auto found = by_index.find(index); found != by_index.end(); found = by_index.find(index)) {
      index = found->second;
      if (++steps > by_index.size()) fail_graph("symbols would replace each other in a circle");
    }
    return index;
  };
  for (const auto& [from, to] : by_index) {
    const TensorForm& a = form(at(from));
    const TensorForm& b = form(at(to));
    if (a.dtype != b.dtype || a.shape != b.shape)
      fail_graph(text(at(to)) + " " + to_string(b) + " cannot replace " + text(at(from)) + " " +
                 to_string(a));
  }
  for (NodeInfo& node : nodes_)
    for (std::uint32_t& input : node.inputs) input = replaced(input);
  for (std::uint32_t& output : outputs_) output = replaced(output);
  for (SymbolInfo& symbol : symbols_)
    if (!symbol.removed && symbol.kind == SymbolKind::view) symbol.base = replaced(symbol.base);
  place_views();
  ++version_;
}

/// Places all views anew, each after its base, which may be a view that stands after it.
void SymbolicGraph::place_views() {
  std::vector<bool> is_placed(symbols_.size());
  std::vector<std::uint32_t> open;
  for (std::uint32_t k = 0; k < symbols_.size(); ++k) {
    for (std::uint32_t view = k;
         symbols_[view].kind == SymbolKind::view && !symbols_[view].removed && !is_placed[view];
         view = symbols_[view].base) {
      is_placed[view] = true;
      open.push_back(view);
    }
    for (; !open.empty(); open.pop_back()) {
      SymbolInfo& view = symbols_[open.back()];
      const std::uint32_t root = view.root;
      place_view(view, steps_[view.side]);
      if (view.root == root || view.producer == kNoIndex) continue;
      std::erase(written_views_[root], open.back());
      written_views_[view.root].push_back(open.back());
    }
  }
}

void SymbolicGraph::set_input(NodeSymbol node, std::size_t k, TensorSymbol symbol) {
  NodeInfo& info = nodes_[checked(node)];
  if (k >= info.inputs.size() || info.inputs[k] == kNoIndex)
    fail_graph(text(node) + " has no input " + std::to_string(k));
  const TensorForm& before = form(at(info.inputs[k]));
  const TensorForm& now = form(symbol);
  if (before.dtype != now.dtype || before.shape != now.shape)
    fail_graph("input " + std::to_string(k) + " of " + text(node) + " is " + to_string(before) +
               ", got " + text(symbol) + " " + to_string(now));
  info.inputs[k] = symbol.index;
  ++version_;
}

void SymbolicGraph::leave_out(NodeSymbol node, std::size_t k) {
  NodeInfo& info = nodes_[checked(node)];
  if (k >= info.outputs.size() || info.outputs[k] == kNoIndex)
    fail_graph(text(node) + " has no output " + std::to_string(k));
  if (info.kind != NodeKind::command || info.command->definition().outputs[k].optional == 0)
    fail_graph("output " + std::to_string(k) + " of " + text(node) + " cannot be left out");
  SymbolInfo& symbol = symbols_[info.outputs[k]];
  symbol.producer = kNoIndex;
  const auto views = written_views_.find(symbol.root);
  if (views != written_views_.end()) std::erase(views->second, info.outputs[k]);
  info.outputs[k] = kNoIndex;
  ++version_;
}

void SymbolicGraph::set_after(NodeSymbol node, std::span<const NodeSymbol> before) {
  const std::uint32_t index = checked(node);
  std::vector<std::uint32_t> edges;
  for (const NodeSymbol other : before) {
    const std::uint32_t first = checked(other);
    if (first == index) fail_graph(text(node) + " would come after itself");
    if (std::ranges::find(edges, first) == edges.end()) edges.push_back(first);
  }
  nodes_[index].after = std::move(edges);
  ++version_;
}

void SymbolicGraph::mark_recomputed(NodeSymbol node, std::uint32_t segment) {
  nodes_[checked(node)].recomputed = segment;
  ++version_;
}

void SymbolicGraph::make_constant(TensorSymbol symbol, const Tensor& value) {
  SymbolInfo& info = symbols_[checked(symbol)];
  if (info.producer != kNoIndex || info.kind == SymbolKind::view || info.kind == SymbolKind::input)
    fail_graph(text(symbol) + " cannot become a constant: " +
               (info.producer != kNoIndex ? text(node_at(info.producer)) + " writes it"
                                          : "it is an input or a view"));
  const auto views = written_views_.find(symbol.index);
  if (views != written_views_.end() && !views->second.empty())
    fail_graph(text(symbol) + " cannot become a constant: nodes write views of it");
  if (value.dtype() != info.form.dtype || value.shape() != info.form.shape)
    fail_graph(text(symbol) + " is " + to_string(info.form) + ", got the value " + describe(value));
  info.kind = SymbolKind::constant;
  info.form = {value.dtype(), value.shape(), value.strides(), value.device()};
  info.side = static_cast<std::uint32_t>(values_.size());
  values_.push_back(value);
  ++version_;
}

}  // namespace mote
