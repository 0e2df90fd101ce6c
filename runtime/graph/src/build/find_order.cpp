// SPDX-License-Identifier: Apache-2.0
// Edges from memory. Each memory (an address space of a device, or a placeholder) is a map of
// segments, in the order of addresses; a segment knows which accesses a later one may conflict
// with. An access goes over the segments that it meets only. A write that fills its segments
// replaces all accesses there, since what conflicts with them conflicts with it, so that n nodes in
// one arena take about n·log n steps.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "mote/runtime/overlap.h"
#include "state.h"

namespace mote::graph {
namespace {

struct Access {
  std::uint32_t node;
  ViewPlaces locations;
  bool is_dense;
};

class Memory {
 public:
  using Found = std::vector<Edge>;

  void access(std::vector<Access>& all, std::vector<std::uint32_t>& checked, std::uint32_t index,
              bool writes, Found& edges) {
    const ViewPlaces& locations = all[index].locations;
    if (locations.low == locations.high) return;
    split(locations.low);
    split(locations.high);
    cover(locations.low, locations.high);
    const auto first = segments_.lower_bound(locations.low);
    const auto last = segments_.lower_bound(locations.high);
    for (auto s = first; s != last; ++s) {
      const auto check = [&](std::uint32_t other) {
        if (checked[other] == index) return;
        checked[other] = index;
        const Access& earlier = all[other];
        if (earlier.node == all[index].node) return;
        const bool filled = earlier.is_dense && all[index].is_dense;
        if (filled || share_bytes(earlier.locations, locations))
          edges.emplace_back(earlier.node, all[index].node);
      };
      for (const std::uint32_t w : s->second.writers) check(w);
      if (writes)
        for (const std::uint32_t r : s->second.readers) check(r);
    }
    if (writes && all[index].is_dense) {
      segments_.erase(first, last);
      segments_[locations.low] = {.end = locations.high, .writers = {index}, .readers = {}};
      return;
    }
    for (auto s = first; s != last; ++s) {
      const auto is_replaced = [&](std::uint32_t other) {
        return all[other].locations == locations;
      };
      if (writes) {
        std::erase_if(s->second.writers, is_replaced);
        std::erase_if(s->second.readers, is_replaced);
      }
      (writes ? s->second.writers : s->second.readers).push_back(index);
    }
  }

 private:
  struct Segment {
    std::int64_t end = 0;
    std::vector<std::uint32_t> writers, readers;
  };

  /// Makes a segment that contains the address before its end begin anew there.
  void split(std::int64_t at) {
    auto next = segments_.lower_bound(at);
    if (next == segments_.begin()) return;
    auto& [begin, segment] = *--next;
    if (segment.end <= at) return;
    Segment tail = segment;
    segment.end = at;
    segments_.emplace(at, std::move(tail));
  }
  /// Adds empty segments where there are none.
  void cover(std::int64_t low, std::int64_t high) {
    auto s = segments_.lower_bound(low);
    while (low < high) {
      if (s != segments_.end() && s->first == low) {
        low = s->second.end;
        ++s;
        continue;
      }
      const std::int64_t end = s == segments_.end() ? high : std::min(high, s->first);
      segments_.emplace_hint(s, low, Segment{.end = end, .writers = {}, .readers = {}});
      low = end;
    }
  }

  std::map<std::int64_t, Segment> segments_;
};

/// The memory that a tensor is in: of a device, or the placeholder's own.
using MemoryKey = std::tuple<int, int, std::uint32_t>;

/// Finds the edges of one graph.
class OrderFinder {
 public:
  explicit OrderFinder(Graph::State& state) : state_(state) {
    for (const SubLocation& location : sub_graphs_of(state)) {
      // A sub-graph of a sub-graph belongs to the node of the outermost graph.
      const auto around = node_of_.find(location.around);
      const std::uint32_t node = around == node_of_.end() ? location.node : around->second;
      node_of_[location.state] = node;
      subs_[node].push_back(location.state);
    }
  }

  Memory::Found find() {
    for (const NodeRecord& node : state_.nodes) {
      if (node.removed) continue;
      const std::size_t first = edges_.size();
      each_operand(node, [&](std::uint32_t t, bool writes) {
        each_memory(state_, t,
                    [&](std::uint32_t memory) { access(state_, memory, node.index, writes); });
      });
      if (const auto found = subs_.find(node.index); found != subs_.end())
        for (const Graph::State* sub : found->second) access_all(*sub, node.index);
      sort_from(first);
    }
    return std::move(edges_);
  }

 private:
  /// Sorts the edges to the node that was looked at last, and leaves each once. Those of parts that
  /// were written in the order of their addresses are sorted as they are found.
  void sort_from(std::size_t first) {
    const auto begin = edges_.begin() + static_cast<std::ptrdiff_t>(first);
    if (!std::is_sorted(begin, edges_.end())) std::sort(begin, edges_.end());
    edges_.erase(std::unique(begin, edges_.end()), edges_.end());
  }

  void access(const Graph::State& of, std::uint32_t t, std::uint32_t node, bool writes) {
    const TensorRecord& tensor = of.tensors[t];
    const DLDevice on = tensor.form->form.device;
    const bool own = of.tensors[tensor.root].kind == TensorKind::placeholder;
    const auto first = own ? tensor.offset : reinterpret_cast<std::intptr_t>(tensor.data);
    const auto index = static_cast<std::uint32_t>(all_.size());
    all_.push_back({node, tensor.form->locations_from(first), false});
    all_.back().is_dense = all_.back().locations.is_dense();
    checked_.push_back(kNone);
    memories_[{on.device_type, on.device_id, own ? tensor.root : kNone}].access(
        all_, checked_, index, writes, edges_);
  }
  /// Adds the accesses of a sub-graph to memory that it did not get from the graph around it.
  void access_all(const Graph::State& sub, std::uint32_t node) {
    for (const NodeRecord& inner : sub.nodes)
      if (!inner.removed)
        each_operand(inner, [&](std::uint32_t t, bool writes) {
          each_memory(sub, t, [&](std::uint32_t memory) {
            if (sub.root_of(memory).kind != TensorKind::placeholder)
              access(sub, memory, node, writes);
          });
        });
  }

  Graph::State& state_;
  std::map<const Graph::State*, std::uint32_t> node_of_;
  std::map<std::uint32_t, std::vector<const Graph::State*>> subs_;
  std::map<MemoryKey, Memory> memories_;
  std::vector<Access> all_;
  std::vector<std::uint32_t> checked_;  ///< the last access that each was compared with
  Memory::Found edges_;
};

}  // namespace

void find_order(Graph::State& state) {
  Memory::Found edges = OrderFinder(state).find();
  if (state.edges.empty()) {
    state.edges = std::move(edges);
    return;
  }
  state.edges.insert(state.edges.end(), edges.begin(), edges.end());
  std::ranges::sort(state.edges);
  state.edges.erase(std::unique(state.edges.begin(), state.edges.end()), state.edges.end());
}

}  // namespace mote::graph
