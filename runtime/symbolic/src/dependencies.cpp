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
using detail::RootUsers;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Sorts the list, and leaves each entry once. Most lists have one.
void sort_once(std::vector<std::uint32_t>& list) {
  if (list.size() < 2) return;
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

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
  if (!Cache::may_write_views(graph)) return regions;
  const auto nodes = detail::node_table(graph);
  for (std::uint32_t node = 0; node < nodes->size(); ++node)
    for (const std::uint32_t output : nodes->outputs(node))
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

/// Lists the nodes that have each root among their inputs, and those that have it among their
/// outputs.
RootUsers users_of(const SymbolicGraph& graph) {
  Pairs read, written;
  read.reserve(graph.node_count());
  written.reserve(graph.node_count());
  std::vector<std::uint32_t> roots;
  const auto list = [&](std::span<const std::uint32_t> symbols, std::uint32_t node, Pairs& pairs) {
    roots.clear();
    for (const std::uint32_t symbol : symbols)
      if (symbol != kNoIndex) roots.push_back(graph.symbols()[symbol].root);
    sort_once(roots);
    for (const std::uint32_t root : roots) pairs.emplace_back(root, node);
  };
  const auto nodes = detail::node_table(graph);
  for (std::uint32_t node = 0; node < nodes->size(); ++node) {
    list(nodes->inputs(node), node, read);
    list(nodes->outputs(node), node, written);
  }
  return {{graph.symbol_count(), read}, {graph.symbol_count(), written}};
}

std::shared_ptr<const RootUsers> shared_users(const SymbolicGraph& graph) {
  return Cache::get(graph, &Cache::users, [&] { return users_of(graph); });
}

/// The nodes that write each symbol, in rising order. Those of a tensor that many nodes write, by
/// parts, are found once, however many nodes read it.
class Writers {
 public:
  Writers(const SymbolicGraph& graph, const detail::NodeTable& nodes)
      : graph_(graph), nodes_(nodes), partial_(partial_writes(graph)) {}

  std::span<const std::uint32_t> of(std::uint32_t symbol) {
    if (const auto known = many_.find(symbol); known != many_.end()) return known->second;
    few_.clear();
    for_writers(graph_, partial_, symbol, [&](std::uint32_t writer) {
      if (!nodes_.is_removed(writer)) few_.push_back(writer);
    });
    sort_once(few_);
    constexpr std::size_t kFew = 8;
    return few_.size() <= kFew ? few_ : many_.emplace(symbol, few_).first->second;
  }

 private:
  const SymbolicGraph& graph_;
  const detail::NodeTable& nodes_;
  RootRegions partial_;
  std::vector<std::uint32_t> few_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> many_;
};

IndexLists predecessors_of(const SymbolicGraph& graph, bool with_order) {
  IndexLists lists;
  lists.reserve(graph.node_count());
  std::vector<std::uint32_t> before;
  const auto nodes = detail::node_table(graph);
  Writers writers(graph, *nodes);
  with_order = with_order && Cache::has_order(graph);
  for (std::uint32_t node = 0; node < nodes->size(); ++node) {
    before.clear();
    if (with_order)
      for (const std::uint32_t other : graph.nodes()[node].after)
        if (!nodes->is_removed(other)) before.push_back(other);
    bool is_sorted = before.empty();
    for (const std::uint32_t input : nodes->inputs(node)) {
      if (input == kNoIndex) continue;
      const std::span<const std::uint32_t> found = writers.of(input);
      is_sorted = is_sorted && (before.empty() || found.empty());
      before.insert(before.end(), found.begin(), found.end());
    }
    if (!is_sorted) sort_once(before);
    lists.add_list(before);
  }
  return lists;
}

std::shared_ptr<const IndexLists> shared_data_predecessors(const SymbolicGraph& graph) {
  if (!Cache::has_order(graph)) return detail::shared_predecessors(graph);
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

void IndexLists::reserve(std::size_t lists) {
  begins_.reserve(lists + 1);
  entries_.reserve(lists);
}

void IndexLists::add_list(std::span<const std::uint32_t> entries) {
  if (begins_.empty()) begins_.push_back(0);
  entries_.insert(entries_.end(), entries.begin(), entries.end());
  begins_.push_back(entries_.size());
}

namespace detail {

std::shared_ptr<const IndexLists> shared_predecessors(const SymbolicGraph& graph) {
  return Cache::get(graph, &Cache::predecessors, [&] { return predecessors_of(graph, true); });
}
std::shared_ptr<const IndexLists> shared_readers(const SymbolicGraph& graph) {
  const std::shared_ptr<const RootUsers> users = shared_users(graph);
  return {users, &users->readers};
}
std::shared_ptr<const IndexLists> shared_writers(const SymbolicGraph& graph) {
  const std::shared_ptr<const RootUsers> users = shared_users(graph);
  return {users, &users->writers};
}
std::shared_ptr<const std::vector<std::uint32_t>> shared_order(const SymbolicGraph& graph) {
  return Cache::get(graph, &Cache::order,
                    [&] { return topological_order(graph, *shared_predecessors(graph)); });
}

NodeTable::NodeTable(const SymbolicGraph& graph) {
  const std::size_t count = graph.node_count();
  begins_.reserve(count + 1);
  operands_.reserve(3 * count);
  for (auto* numbers : {&input_counts_, &ops_}) numbers->reserve(count);
  kinds_.reserve(count);
  is_removed_.reserve(count);
  begins_.push_back(0);
  for (std::uint32_t k = 0; k < count; ++k) {
    const NodeInfo& node = graph.nodes()[k];
    for (const ShortList* symbols : {&node.inputs, &node.outputs})
      operands_.insert(operands_.end(), symbols->begin(), symbols->end());
    begins_.push_back(operands_.size());
    input_counts_.push_back(static_cast<std::uint32_t>(node.inputs.size()));
    kinds_.push_back(node.kind);
    is_removed_.push_back(node.removed);
    const bool is_command = node.kind == NodeKind::command && !node.removed;
    ops_.push_back(is_command ? node.command->op() : kNoIndex);
    if (node.removed) continue;
    if (node.kind == NodeKind::control) controls_.push_back(k);
    if (node.kind == NodeKind::function) functions_.push_back(k);
  }
}

std::shared_ptr<const NodeTable> node_table(const SymbolicGraph& graph) {
  return Cache::get(graph, &Cache::nodes, [&] { return NodeTable(graph); });
}

std::vector<bool> ordered_nodes(const SymbolicGraph& graph) {
  std::vector<bool> is_ordered(graph.node_count());
  if (!Cache::has_order(graph)) return is_ordered;
  for (std::uint32_t k = 0; k < graph.node_count(); ++k)
    for (const std::uint32_t before : graph.nodes()[k].after)
      is_ordered[k] = is_ordered[before] = true;
  return is_ordered;
}

}  // namespace detail

IndexLists readers(const SymbolicGraph& graph) { return *detail::shared_readers(graph); }
IndexLists writers(const SymbolicGraph& graph) { return *detail::shared_writers(graph); }
IndexLists predecessors(const SymbolicGraph& graph) { return *detail::shared_predecessors(graph); }
IndexLists data_predecessors(const SymbolicGraph& graph) {
  return *shared_data_predecessors(graph);
}

std::vector<std::uint32_t> topological_order(const SymbolicGraph& graph) {
  return *detail::shared_order(graph);
}

namespace {

/// Returns the nodes that are not removed as they were added, if each comes after its predecessors;
/// else an empty list.
std::vector<std::uint32_t> order_of_addition(const SymbolicGraph& graph, const IndexLists& before) {
  std::vector<std::uint32_t> order;
  order.reserve(graph.node_count());
  const auto nodes = detail::node_table(graph);
  for (std::uint32_t node = 0; node < nodes->size(); ++node) {
    if (nodes->is_removed(node)) continue;
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
  return ancestors_of(graph, *detail::shared_predecessors(graph), of);
}
std::vector<bool> data_ancestors(const SymbolicGraph& graph, std::span<const TensorSymbol> of) {
  return ancestors_of(graph, *shared_data_predecessors(graph), of);
}

std::vector<bool> descendants(const SymbolicGraph& graph, std::span<const TensorSymbol> of) {
  const std::shared_ptr<const IndexLists> known = detail::shared_predecessors(graph);
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
