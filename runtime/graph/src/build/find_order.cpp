// SPDX-License-Identifier: Apache-2.0
// Edges from memory. Each memory (an address space of a device, or a placeholder) is a map of
// segments, in the order of addresses; a segment knows which accesses a later one may conflict
// with. An access goes over the segments that it meets only. A write that fills its segments
// replaces all accesses there, since what conflicts with them conflicts with it, so that n nodes in
// one arena take about n·log n steps.
#include <map>
#include <tuple>
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

}  // namespace

void find_order(Graph::State& state) {
  std::map<MemoryKey, Memory> memories;
  std::vector<Access> all;
  std::vector<std::uint32_t> checked;  // the last access that each was compared with
  Memory::Found edges;
  for (const NodeRecord& node : state.nodes) {
    if (node.removed) continue;
    each_operand(node, [&](std::uint32_t t, bool writes) {
      const TensorRecord& tensor = state.tensors[t];
      const DLDevice on = tensor.form->form.device;
      const bool own = state.tensors[tensor.root].kind == TensorKind::placeholder;
      const auto first = own ? tensor.offset : reinterpret_cast<std::intptr_t>(tensor.data);
      const auto index = static_cast<std::uint32_t>(all.size());
      all.push_back({node.index, tensor.form->locations_from(first), false});
      all.back().is_dense = all.back().locations.is_dense();
      checked.push_back(kNone);
      memories[{on.device_type, on.device_id, own ? tensor.root : kNone}].access(
          all, checked, index, writes, edges);
    });
  }
  state.edges.insert(state.edges.end(), edges.begin(), edges.end());
  std::ranges::sort(state.edges);
  state.edges.erase(std::unique(state.edges.begin(), state.edges.end()), state.edges.end());
}

}  // namespace mote::graph
