// SPDX-License-Identifier: Apache-2.0
#include "packed_graph.h"

#include <unordered_map>
#include <utility>

#include "edge_key.h"
#include "mote/graph/large_pages.h"

namespace mote {

PackedGraph::PackedGraph(const SymbolicGraph& graph)
    : name_(graph.name_),
      registry_(graph.registry_),
      version_(graph.version_),
      outputs_(graph.outputs_),
      steps_(graph.steps_),
      values_(graph.values_),
      attributes_(std::make_unique<const detail::AttributeTable>(*graph.attributes_)) {
  pack_symbols(graph);
  pack_nodes(graph);
}

std::uint32_t PackedGraph::packed_name(const std::string& name) {
  if (name.empty()) return kNoIndex;
  names_.push_back(name);
  return static_cast<std::uint32_t>(names_.size() - 1);
}

void PackedGraph::pack_symbols(const SymbolicGraph& graph) {
  std::unordered_map<TensorForm, std::uint32_t> known;
  std::uint32_t last = kNoIndex;  // mostly the next symbol has it too
  detail::reserve_in_large_pages(symbols_, graph.symbols_.size());
  for (const SymbolInfo& info : graph.symbols_) {
    if (last == kNoIndex || forms_[last] != info.form) {
      const auto [at, is_new] = known.emplace(info.form, static_cast<std::uint32_t>(forms_.size()));
      if (is_new) forms_.push_back(info.form);
      last = at->second;
    }
    symbols_.push_back({.kind = info.kind,
                        .removed = info.removed,
                        .has_form = info.has_form,
                        .name = packed_name(info.name),
                        .form = last,
                        .producer = info.producer,
                        .base = info.base,
                        .root = info.root,
                        .side = info.side,
                        .offset = info.offset});
  }
}

void PackedGraph::pack_nodes(const SymbolicGraph& graph) {
  std::unordered_map<const Command*, std::uint32_t> known;
  std::size_t count = 0;
  for (const NodeInfo& info : graph.nodes_)
    count += info.inputs.size() + info.outputs.size() + info.after.size();
  indices_.reserve(count);
  detail::reserve_in_large_pages(nodes_, graph.nodes_.size());
  const auto pack = [&](const ShortList& list) {
    indices_.insert(indices_.end(), list.begin(), list.end());
    return static_cast<std::uint32_t>(list.size());
  };
  for (const NodeInfo& info : graph.nodes_) {
    std::uint32_t work = kNoIndex;
    if (info.command) {
      const auto [at, is_new] =
          known.try_emplace(info.command.get(), static_cast<std::uint32_t>(commands_.size()));
      if (is_new) commands_.push_back(info.command);
      work = at->second;
    } else if (info.function) {
      work = static_cast<std::uint32_t>(functions_.size());
      functions_.push_back(info.function);
    } else if (info.control) {
      work = static_cast<std::uint32_t>(controls_.size());
      controls_.push_back(info.control);
    } else if (info.kind == NodeKind::fill) {
      work = static_cast<std::uint32_t>(fills_.size());
      fills_.push_back(info.value);
    }
    nodes_.push_back({.kind = info.kind,
                      .removed = info.removed,
                      .name = packed_name(info.name),
                      .recomputed = info.recomputed,
                      .work = work,
                      .inputs = pack(info.inputs),
                      .outputs = pack(info.outputs),
                      .after = pack(info.after)});
  }
}

SymbolInfo PackedGraph::symbol(const Symbol& packed) const {
  SymbolInfo info;
  info.name = name_at(packed.name);
  info.kind = packed.kind;
  info.removed = packed.removed;
  info.has_form = packed.has_form;
  info.producer = packed.producer;
  info.base = packed.base;
  info.root = packed.root;
  info.side = packed.side;
  info.offset = packed.offset;
  info.form = forms_[packed.form];
  return info;
}

/// Returns the node whose indices begin at `next`, which moves on.
NodeInfo PackedGraph::node(const Node& packed, std::size_t& next) const {
  NodeInfo info;
  info.name = name_at(packed.name);
  info.kind = packed.kind;
  info.removed = packed.removed;
  info.recomputed = packed.recomputed;
  if (packed.work != kNoIndex) {
    if (packed.kind == NodeKind::command) info.command = commands_[packed.work];
    if (packed.kind == NodeKind::function) info.function = functions_[packed.work];
    if (packed.kind == NodeKind::control) info.control = controls_[packed.work];
    if (packed.kind == NodeKind::fill) info.value = fills_[packed.work];
  }
  const auto unpack = [&](std::uint32_t count) {
    const auto first = indices_.begin() + static_cast<std::ptrdiff_t>(next);
    next += count;
    return ShortList(std::span(first, first + count));
  };
  info.inputs = unpack(packed.inputs);
  info.outputs = unpack(packed.outputs);
  info.after = unpack(packed.after);
  return info;
}

SymbolicGraph PackedGraph::graph() const {
  SymbolicGraph graph(name_, *registry_);
  graph.version_ = version_;
  graph.outputs_ = outputs_;
  graph.steps_ = steps_;
  graph.values_ = values_;
  graph.attributes_ = std::make_unique<detail::AttributeTable>(*attributes_);
  graph.symbols_.reserve(symbols_.size());
  for (const Symbol& packed : symbols_) {
    graph.symbols_.push_back(symbol(packed));
    const SymbolInfo& info = graph.symbols_.back();
    if (!info.removed && !info.name.empty())
      graph.add_name(info.name, static_cast<std::uint32_t>(graph.symbols_.size() - 1));
  }
  graph.nodes_.reserve(nodes_.size());
  std::size_t next = 0;
  for (const Node& packed : nodes_) {
    graph.nodes_.push_back(node(packed, next));
    const auto index = static_cast<std::uint32_t>(graph.nodes_.size() - 1);
    for (const std::uint32_t before : graph.nodes_.back().after)
      graph.ordered_.insert(edge_key(before, index));
  }
  graph.note_writes();
  return graph;
}

std::string PackedGraph::text(std::uint32_t symbol) const {
  const std::string name = name_at(symbols_[symbol].name);
  return name.empty() ? "t" + std::to_string(symbol) : name;
}

}  // namespace mote
