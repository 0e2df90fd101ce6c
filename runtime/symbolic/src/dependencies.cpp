// SPDX-License-Identifier: Apache-2.0
// The order of nodes, from the elements that they write and read.
#include "mote/symbolic/dependencies.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "fail.h"

namespace mote {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// The written regions of one root, by their first element.
class WrittenRegions {
 public:
  struct Write {
    Region region;
    std::int64_t begin = 0;
    std::int64_t end = 0;  ///< one beyond the last element
    std::uint32_t node = kNoIndex;
  };

  void add(const Region& region, std::uint32_t node) {
    const auto [begin, end] = range(region);
    if (begin < end) writes_.push_back({region, begin, end, node});
  }
  void sort() {
    std::ranges::sort(writes_, [](const Write& a, const Write& b) { return a.begin < b.begin; });
    for (const Write& w : writes_) longest_ = std::max(longest_, w.end - w.begin);
  }
  /// Calls function(node) for each write of an element of the region.
  template <typename Function>
  void for_overlapping(const Region& region, const Function& function) const {
    const auto [begin, end] = range(region);
    const auto from = std::ranges::upper_bound(writes_, begin - longest_, {}, &Write::begin);
    for (auto w = from; w != writes_.end() && w->begin < end; ++w)
      if (w->end > begin && overlap(w->region, region)) function(w->node);
  }

 private:
  static std::pair<std::int64_t, std::int64_t> range(const Region& region) {
    std::int64_t begin = region.offset;
    std::int64_t end = region.offset + 1;
    for (int axis = 0; axis < region.form.shape.size(); ++axis) {
      if (region.form.shape[axis] == 0) return {0, 0};
      const std::int64_t reach = (region.form.shape[axis] - 1) * region.form.strides[axis];
      (reach < 0 ? begin : end) += reach;
    }
    return {begin, end};
  }

  std::vector<Write> writes_;
  std::int64_t longest_ = 0;
};

/// The writes of roots that are written by views.
std::unordered_map<std::uint32_t, WrittenRegions> partial_writes(const SymbolicGraph& graph) {
  std::unordered_map<std::uint32_t, WrittenRegions> regions;
  for (std::uint32_t node = 0; node < graph.node_count(); ++node)
    for (const std::uint32_t output : graph.nodes()[node].outputs) {
      if (output == kNoIndex) continue;
      const SymbolInfo& info = graph.symbols()[output];
      if (info.root != output) regions[info.root].add({info.form, info.offset}, node);
    }
  for (auto& [root, of_root] : regions) of_root.sort();
  return regions;
}

/// Lists (root, node) for the inputs or outputs of each node.
IndexLists users(const SymbolicGraph& graph, std::vector<std::uint32_t> NodeInfo::*tensors) {
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
  const auto partial = partial_writes(graph);
  Pairs pairs;
  std::vector<std::uint32_t> before;
  for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
    const NodeInfo& info = graph.nodes()[node];
    before.clear();
    if (with_order) before = info.after;
    for (const std::uint32_t input : info.inputs) {
      if (input == kNoIndex) continue;
      const SymbolInfo& read = graph.symbols()[input];
      const std::uint32_t whole = graph.symbols()[read.root].producer;
      if (whole != kNoIndex) {
        before.push_back(whole);
      } else if (const auto found = partial.find(read.root); found != partial.end()) {
        found->second.for_overlapping({read.form, read.offset},
                                      [&](std::uint32_t writer) { before.push_back(writer); });
      }
    }
    std::ranges::sort(before);
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const std::uint32_t writer : before)
      if (!graph.nodes()[writer].removed) pairs.emplace_back(node, writer);
  }
  return {graph.node_count(), pairs};
}

/// Returns the nodes that write the symbols, and all before them.
std::vector<bool> ancestors_of(const SymbolicGraph& graph, const IndexLists& before,
                               std::span<const TensorSymbol> of) {
  const IndexLists written = writers(graph);
  std::vector<bool> found(graph.node_count());
  std::vector<std::uint32_t> open;
  const auto reach = [&](std::uint32_t node) {
    if (found[node]) return;
    found[node] = true;
    open.push_back(node);
  };
  for (const TensorSymbol symbol : of)
    for (const std::uint32_t node : written[graph.info(symbol).root]) {
      const auto writes = [&](std::uint32_t output) {
        return output != kNoIndex && graph.symbols()[output].root == graph.info(symbol).root &&
               overlap(graph.region(graph.at(output)), graph.region(symbol));
      };
      if (std::ranges::any_of(graph.nodes()[node].outputs, writes)) reach(node);
    }
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    for (const std::uint32_t writer : before[node]) reach(writer);
  }
  return found;
}

}  // namespace

IndexLists::IndexLists(std::size_t count,
                       std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs)
    : begins_(count + 1), entries_(pairs.size()) {
  for (const auto& [index, entry] : pairs) ++begins_[index + 1];
  for (std::size_t k = 0; k < count; ++k) begins_[k + 1] += begins_[k];
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (const auto& [index, entry] : pairs) entries_[next[index]++] = entry;
}

IndexLists readers(const SymbolicGraph& graph) { return users(graph, &NodeInfo::inputs); }
IndexLists writers(const SymbolicGraph& graph) { return users(graph, &NodeInfo::outputs); }

IndexLists predecessors(const SymbolicGraph& graph) { return predecessors_of(graph, true); }
IndexLists data_predecessors(const SymbolicGraph& graph) { return predecessors_of(graph, false); }

std::vector<std::uint32_t> topological_order(const SymbolicGraph& graph) {
  return topological_order(graph, predecessors(graph));
}

std::vector<std::uint32_t> topological_order(const SymbolicGraph& graph, const IndexLists& before) {
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
  std::string cycle;
  int named = 0;
  for (std::uint32_t node = 0; node < graph.node_count() && named < 3; ++node)
    if (!graph.nodes()[node].removed && open[node] > 0) {
      cycle += (named++ == 0 ? "" : ", ") + graph.text(graph.node_at(node));
    }
  fail_graph(graph.name() + " has a cycle through or before " + cycle);
}

std::vector<bool> ancestors(const SymbolicGraph& graph, std::span<const TensorSymbol> of) {
  return ancestors_of(graph, predecessors(graph), of);
}
std::vector<bool> data_ancestors(const SymbolicGraph& graph, std::span<const TensorSymbol> of) {
  return ancestors_of(graph, data_predecessors(graph), of);
}

std::vector<bool> descendants(const SymbolicGraph& graph, std::span<const TensorSymbol> of) {
  const IndexLists before = predecessors(graph);
  std::vector<bool> found(graph.node_count());
  const auto reads = [&](std::uint32_t input) {
    if (input == kNoIndex) return false;
    return std::ranges::any_of(of, [&](TensorSymbol symbol) {
      return graph.info(symbol).root == graph.symbols()[input].root &&
             overlap(graph.region(graph.at(input)), graph.region(symbol));
    });
  };
  for (const std::uint32_t node : topological_order(graph, before)) {
    const auto depends = [&](std::uint32_t writer) { return found[writer]; };
    found[node] = std::ranges::any_of(before[node], depends) ||
                  std::ranges::any_of(graph.nodes()[node].inputs, reads);
  }
  return found;
}

}  // namespace mote
