// SPDX-License-Identifier: Apache-2.0
// The order of nodes, from the elements that they write and read.
#include "mote/symbolic/dependencies.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "dependency_cache.h"
#include "fail.h"
#include "mote/symbolic/region_index.h"

namespace mote {
namespace {

using Cache = detail::DependencyCache;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Regions of roots, with an entry for each.
using RootRegions = std::unordered_map<std::uint32_t, RegionIndex>;

void add_region(RootRegions& regions, const SymbolicGraph& graph, std::uint32_t symbol,
                std::uint32_t entry) {
  const SymbolInfo& info = graph.symbols()[symbol];
  regions.try_emplace(info.root, graph.symbols()[info.root].form)
      .first->second.add({info.form, info.offset}, entry);
}

/// The writes of roots that are written by views.
RootRegions partial_writes(const SymbolicGraph& graph) {
  RootRegions regions;
  for (std::uint32_t node = 0; node < graph.node_count(); ++node)
    for (const std::uint32_t output : graph.nodes()[node].outputs)
      if (output != kNoIndex && graph.symbols()[output].root != output)
        add_region(regions, graph, output, node);
  return regions;
}

/// Calls function(node) for each node that writes elements of the symbol, at least once.
template <typename Function>
void for_writers(const SymbolicGraph& graph, const RootRegions& partial, std::uint32_t symbol,
                 const Function& function) {
  const SymbolInfo& read = graph.symbols()[symbol];
  const std::uint32_t whole = graph.symbols()[read.root].producer;
  if (whole != kNoIndex) return function(whole);
  const auto found = partial.find(read.root);
  if (found == partial.end()) return;
  found->second.any_overlapping({read.form, read.offset}, [&](std::uint32_t writer) {
    function(writer);
    return false;
  });
}

/// Lists (root, node) for the inputs or outputs of each node.
IndexLists users(const SymbolicGraph& graph, ShortList NodeInfo::*tensors) {
  Pairs pairs;
  std::vector<std::uint32_t> roots;
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    roots.clear();
    for (const std::uint32_t symbol : graph.nodes()[node].*tensors)
      if (symbol != kNoIndex) roots.push_back(graph.symbols()[symbol].root);
    std::ranges::sort(roots);
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    for (const std::uint32_t root : roots) pairs.emplace_back(root, node);
  }
  return {graph.symbol_count(), pairs};
}

IndexLists predecessors_of(const SymbolicGraph& graph, bool with_order) {
  const RootRegions partial = partial_writes(graph);
  IndexLists lists;
  std::vector<std::uint32_t> before;
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    const NodeInfo& info = graph.nodes()[node];
    before.clear();
    if (with_order) before.assign(info.after.begin(), info.after.end());
    for (const std::uint32_t input : info.inputs) {
      if (input != kNoIndex)
        for_writers(graph, partial, input, [&](std::uint32_t writer) { before.push_back(writer); });
    }
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
    std::erase_if(before, [&](std::uint32_t writer) { return graph.nodes()[writer].removed; });
    lists.add_list(before);
  }
  return lists;
}

std::shared_ptr<const IndexLists> known_predecessors(const SymbolicGraph& graph) {
  return Cache::get(graph, &Cache::predecessors, [&] { return predecessors_of(graph, true); });
}
std::shared_ptr<const IndexLists> known_data_predecessors(const SymbolicGraph& graph) {
  const bool has_order =
      std::ranges::any_of(graph.nodes(), [](const NodeInfo& node) { return !node.after.empty(); });
  if (!has_order) return known_predecessors(graph);
  return Cache::get(graph, &Cache::data_predecessors,
                    [&] { return predecessors_of(graph, false); });
}

/// Returns the nodes that write the symbols, and all before them.
std::vector<bool> ancestors_of(const SymbolicGraph& graph, const IndexLists& before,
                               std::span<const TensorSymbol> of) {
  const RootRegions partial = partial_writes(graph);
  std::vector<bool> found(graph.node_count());
  std::vector<std::uint32_t> open;
  const auto reach = [&](std::uint32_t node) {
    if (found[node]) return;
    found[node] = true;
    open.push_back(node);
  };
  for (const TensorSymbol symbol : of) {
    graph.info(symbol);  // throws for a symbol of another graph
    for_writers(graph, partial, symbol.index, reach);
  }
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    for (const std::uint32_t writer : before[node]) reach(writer);
  }
  return found;
}

/// Throws StatusError with a cycle. `open` counts the predecessors of each node that are not done;
/// each node that has some is in a cycle or after one.
[[noreturn]] void fail_cycle(const SymbolicGraph& graph, const IndexLists& before,
                             const std::vector<std::size_t>& open) {
  const auto is_open = [&](std::uint32_t node) { return open[node] > 0; };
  std::uint32_t node = 0;
  while (graph.nodes()[node].removed || !is_open(node)) ++node;
  std::vector<bool> is_seen(open.size());
  const auto go_back = [&] { node = *std::ranges::find_if(before[node], is_open); };
  for (; !is_seen[node]; go_back()) is_seen[node] = true;
  constexpr int kNamed = 4;
  const std::uint32_t first = node;
  std::string names;
  int count = 0;
  do {
    if (count < kNamed) names = graph.text(graph.node_at(node)) + (count > 0 ? ", " : "") + names;
    ++count;
    go_back();
  } while (node != first);
  fail_graph(graph.name() + " has a cycle of " + std::to_string(count) +
             " nodes: " + (count > kNamed ? "…, " : "") + names);
}

}  // namespace

IndexLists::IndexLists(std::size_t count,
                       std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs)
    : begins_(count + 1), entries_(pairs.size()) {
  for (const auto& [index, entry] : pairs) {
    if (index >= count)
      fail_graph("there is no list " + std::to_string(index) + " of " + std::to_string(count));
    ++begins_[index + 1];
  }
  for (std::size_t k = 0; k < count; ++k) begins_[k + 1] += begins_[k];
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (const auto& [index, entry] : pairs) entries_[next[index]++] = entry;
}

void IndexLists::add_list(std::span<const std::uint32_t> entries) {
  if (begins_.empty()) begins_.push_back(0);
  entries_.insert(entries_.end(), entries.begin(), entries.end());
  begins_.push_back(entries_.size());
}

IndexLists readers(const SymbolicGraph& graph) {
  return *Cache::get(graph, &Cache::readers, [&] { return users(graph, &NodeInfo::inputs); });
}
IndexLists writers(const SymbolicGraph& graph) {
  return *Cache::get(graph, &Cache::writers, [&] { return users(graph, &NodeInfo::outputs); });
}

IndexLists predecessors(const SymbolicGraph& graph) { return *known_predecessors(graph); }
IndexLists data_predecessors(const SymbolicGraph& graph) { return *known_data_predecessors(graph); }

std::vector<std::uint32_t> topological_order(const SymbolicGraph& graph) {
  return *Cache::get(graph, &Cache::order,
                     [&] { return topological_order(graph, *known_predecessors(graph)); });
}

namespace {

/// Returns the nodes that are not removed as they were added, if each comes after its predecessors;
/// else an empty list.
std::vector<std::uint32_t> order_of_addition(const SymbolicGraph& graph, const IndexLists& before) {
  std::vector<std::uint32_t> order;
  order.reserve(graph.node_count());
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    if (graph.nodes()[node].removed) continue;
    for (const std::uint32_t writer : before[node])
      if (writer >= node) return {};
    order.push_back(node);
  }
  return order;
}

void check_predecessors(const SymbolicGraph& graph, const IndexLists& before) {
  if (before.size() != graph.node_count())
    fail_graph("topological_order: expected the predecessors of " +
               std::to_string(graph.node_count()) + " nodes, got " + std::to_string(before.size()));
  for (std::uint32_t node = 0; node < before.size(); ++node)
    for (const std::uint32_t writer : before[node])
      if (writer >= before.size())
        fail_graph("topological_order: node " + std::to_string(writer) +
                   " is not there, the graph has " + std::to_string(before.size()));
}

}  // namespace

std::vector<std::uint32_t> topological_order(const SymbolicGraph& graph, const IndexLists& before) {
  check_predecessors(graph, before);
  if (std::vector<std::uint32_t> order = order_of_addition(graph, before); !order.empty())
    return order;
  Pairs reversed;
  std::vector<std::size_t> open(graph.node_count());
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    open[node] = before[node].size();
    for (const std::uint32_t writer : before[node]) reversed.emplace_back(writer, node);
  }
  const IndexLists after(graph.node_count(), reversed);
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  std::size_t alive = 0;
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    if (graph.nodes()[node].removed) continue;
    ++alive;
    if (open[node] == 0) ready.push(node);
  }
  std::vector<std::uint32_t> order;
  order.reserve(alive);
  while (!ready.empty()) {
    const std::uint32_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const std::uint32_t next : after[node])
      if (--open[next] == 0) ready.push(next);
  }
  if (order.size() == alive) return order;
  fail_cycle(graph, before, open);
}

std::vector<bool> ancestors(const SymbolicGraph& graph, std::span<const TensorSymbol> of) {
  return ancestors_of(graph, *known_predecessors(graph), of);
}
std::vector<bool> data_ancestors(const SymbolicGraph& graph, std::span<const TensorSymbol> of) {
  return ancestors_of(graph, *known_data_predecessors(graph), of);
}

std::vector<bool> descendants(const SymbolicGraph& graph, std::span<const TensorSymbol> of) {
  const std::shared_ptr<const IndexLists> known = known_predecessors(graph);
  const IndexLists& before = *known;
  std::vector<bool> found(graph.node_count());
  std::vector<bool> is_whole(graph.symbol_count());
  RootRegions parts;
  for (const TensorSymbol symbol : of) {
    if (graph.info(symbol).root == symbol.index)
      is_whole[symbol.index] = true;
    else
      add_region(parts, graph, symbol.index, symbol.index);
  }
  const auto reads = [&](std::uint32_t input) {
    if (input == kNoIndex) return false;
    const SymbolInfo& read = graph.symbols()[input];
    const auto part = parts.find(read.root);
    return is_whole[read.root] ||
           (part != parts.end() && part->second.overlaps({read.form, read.offset}));
  };
  for (const std::uint32_t node : topological_order(graph)) {
    const auto depends = [&](std::uint32_t writer) { return found[writer]; };
    found[node] = std::ranges::any_of(before[node], depends) ||
                  std::ranges::any_of(graph.nodes()[node].inputs, reads);
  }
  return found;
}

}  // namespace mote
