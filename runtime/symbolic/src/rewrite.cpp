// SPDX-License-Identifier: Apache-2.0
// The changes that passes make to a graph. Indices of what stays do not change.
#include <algorithm>
#include <utility>
#include <vector>

#include "edge_key.h"
#include "fail.h"
#include "mote/symbolic/symbolic_graph.h"
#include "shape_notes.h"

namespace mote {
namespace {

/// Returns the indices from which a walk along `next` comes back to where it began.
std::vector<std::uint32_t> circles(const std::vector<std::uint32_t>& next) {
  std::vector<std::uint32_t> found;
  std::vector<std::uint32_t> walk(next.size(), kNoIndex);  // the first walk that came by
  for (std::uint32_t begin = 0; begin < next.size(); ++begin) {
    std::uint32_t k = begin;
    for (; next[k] != kNoIndex && walk[k] == kNoIndex; k = next[k]) walk[k] = begin;
    if (next[k] == kNoIndex || walk[k] != begin) continue;
    const std::uint32_t first = k;
    do found.push_back(k);
    while ((k = next[k]) != first);
  }
  return found;
}

}  // namespace

void SymbolicGraph::remove(NodeSymbol node) {
  NodeInfo& info = nodes_[checked(node)];
  for (const std::uint32_t output : info.outputs) {
    if (output == kNoIndex) continue;
    forget_write(output);
  }
  forget_edges(node.index);
  info = NodeInfo{};
  info.removed = true;
  ++version_;
}

void SymbolicGraph::remove(TensorSymbol symbol) {
  SymbolInfo& info = symbols_[checked(symbol)];
  if (info.producer != kNoIndex)
    fail_graph(text(symbol) + " cannot be removed: " + text(node_at(info.producer)) + " writes it");
  if (is_output(symbol)) fail_graph(text(symbol) + " cannot be removed: it is an output");
  if (!info.name.empty()) by_name_.own().remove(info.name, symbol.index);
  if (info.kind == SymbolOrigin::constant) values_[info.side] = Tensor();
  info.removed = true;
  ++version_;
}

void SymbolicGraph::replace_uses(TensorSymbol from, TensorSymbol to) {
  replace_uses({{checked(from), checked(to)}});
}

void SymbolicGraph::replace_uses(const std::unordered_map<std::uint32_t, std::uint32_t>& by_index) {
  std::unordered_map<std::uint32_t, std::uint32_t> last;
  for (const auto& [from, to] : by_index) {
    const TensorForm& a = form(at(from));
    const TensorForm& b = form(at(to));
    if (a.dtype != b.dtype || a.shape != b.shape)
      fail_graph(text(at(to)) + " " + to_string(b) + " cannot replace " + text(at(from)) + " " +
                 to_string(a));
    std::uint32_t end = to;
    std::size_t steps = 0;
    for (auto next = by_index.find(end); next != by_index.end(); next = by_index.find(end)) {
      end = next->second;
      if (++steps > by_index.size()) fail_graph("symbols would replace each other in a circle");
    }
    last.emplace(from, end);
  }
  replace_bases(last);
  replace_in_shape_notes(*this, last);
  const auto replace = [&](std::uint32_t& index) {
    if (const auto found = last.find(index); found != last.end()) index = found->second;
  };
  for (NodeInfo& node : nodes_.own()) std::ranges::for_each(node.inputs, replace);
  std::ranges::for_each(outputs_, replace);
  ++version_;
}

/// Returns the new base of each view, by index. A view keeps its base where it would become a view
/// of itself, as one does that replaces what it is a view of.
std::vector<std::uint32_t> SymbolicGraph::new_bases(
    const std::unordered_map<std::uint32_t, std::uint32_t>& by_index) const {
  std::vector<std::uint32_t> bases(symbols_.size(), kNoIndex);
  for (std::uint32_t k = 0; k < symbols_.size(); ++k) {
    if (symbols_[k].removed || symbols_[k].kind != SymbolOrigin::view) continue;
    const auto found = by_index.find(symbols_[k].base);
    bases[k] = found == by_index.end() ? symbols_[k].base : found->second;
  }
  std::vector<std::uint32_t> in_circle;
  do {
    for (const std::uint32_t k : in_circle) bases[k] = symbols_[k].base;
    in_circle = circles(bases);
  } while (!in_circle.empty());
  return bases;
}

/// Gives views the new bases. Throws StatusError, and changes nothing, if a view does not exist
/// there, or if a node writes it.
void SymbolicGraph::replace_bases(
    const std::unordered_map<std::uint32_t, std::uint32_t>& by_index) {
  const std::vector<std::uint32_t> bases = new_bases(by_index);
  std::vector<std::pair<std::uint32_t, SymbolInfo>> before;
  bool changes = false;
  for (std::uint32_t k = 0; k < symbols_.size(); ++k) {
    if (bases[k] == kNoIndex) continue;
    before.emplace_back(k, symbols_[k]);
    changes = changes || bases[k] != symbols_[k].base;
  }
  if (!changes) return;
  try {
    for (const auto& [view, info] : before) symbols_[view].base = bases[view];
    place_views();
    for (const auto& [view, info] : before) {
      const SymbolInfo& now = symbols_[view];
      if (now.producer != kNoIndex && (now.root != info.root || now.offset != info.offset ||
                                       now.form->strides != info.form->strides))
        fail_graph("views of " + text(at(info.root)) + " cannot be replaced: " +
                   text(node_at(now.producer)) + " writes " + text(at(view)));
    }
  } catch (...) {
    for (auto& [view, info] : before) symbols_[view] = std::move(info);
    throw;
  }
}

/// Places all views anew, each after its base, which may be a view that stands after it.
void SymbolicGraph::place_views() {
  std::vector<bool> is_placed(symbols_.size());
  std::vector<std::uint32_t> open;
  for (std::uint32_t k = 0; k < symbols_.size(); ++k) {
    for (std::uint32_t view = k;
         symbols_[view].kind == SymbolOrigin::view && !symbols_[view].removed && !is_placed[view];
         view = symbols_[view].base) {
      is_placed[view] = true;
      open.push_back(view);
    }
    for (; !open.empty(); open.pop_back())
      place_view(symbols_[open.back()], steps_[symbols_[open.back()].side]);
  }
}

void SymbolicGraph::forget_write(std::uint32_t symbol) {
  SymbolInfo& info = symbols_[symbol];
  info.producer = kNoIndex;
  if (const auto views = written_views_.find(info.root); views != written_views_.end())
    views->second.remove({info.form, info.offset}, symbol);
}

void SymbolicGraph::forget_edges(std::uint32_t node) {
  for (const std::uint32_t before : nodes_[node].after) ordered_.erase(edge_key(before, node));
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
  if (std::ranges::count(info.outputs, kNoIndex) + 1 == std::ssize(info.outputs))
    fail_graph("output " + std::to_string(k) + " of " + text(node) + " is its only one");
  forget_write(info.outputs[k]);
  info.outputs[k] = kNoIndex;
  ++version_;
}

void SymbolicGraph::set_after(NodeSymbol node, std::span<const NodeSymbol> before) {
  const std::uint32_t index = checked(node);
  std::vector<std::uint32_t> edges;
  for (const NodeSymbol other : before) {
    edges.push_back(checked(other));
    if (edges.back() == index) fail_graph(text(node) + " would come after itself");
  }
  forget_edges(index);
  nodes_[index].after.clear();
  for (const std::uint32_t first : edges)
    if (ordered_.insert(edge_key(first, index)).second) nodes_[index].after.push_back(first);
  ++version_;
}

void SymbolicGraph::mark_recomputed(NodeSymbol node, std::uint32_t segment) {
  nodes_[checked(node)].recomputed = segment;
  ++version_;
}

void SymbolicGraph::make_constant(TensorSymbol symbol, const Tensor& value) {
  SymbolInfo& info = symbols_[checked(symbol)];
  if (info.producer != kNoIndex || info.kind == SymbolOrigin::view ||
      info.kind == SymbolOrigin::input)
    fail_graph(text(symbol) + " cannot become a constant: " +
               (info.producer != kNoIndex ? text(node_at(info.producer)) + " writes it"
                                          : "it is an input or a view"));
  const auto views = written_views_.find(symbol.index);
  if (views != written_views_.end() && !views->second.is_empty())
    fail_graph(text(symbol) + " cannot become a constant: nodes write views of it");
  if (value.dtype() != info.form->dtype || value.shape() != info.form->shape)
    fail_graph(text(symbol) + " is " + to_string(info.form) + ", got the value " + describe(value));
  info.kind = SymbolOrigin::constant;
  info.form = forms_.of({value.dtype(), value.shape(), value.strides(), value.device()});
  info.side = static_cast<std::uint32_t>(values_.size());
  values_.push_back(value);
  ++version_;
}

}  // namespace mote
