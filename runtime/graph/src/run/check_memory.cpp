// SPDX-License-Identifier: Apache-2.0
// Checks of memory that need the schedule: intermediate tensors that nothing writes in time, and
// placeholders whose memory turns out to be shared.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "mote/runtime/covered.h"
#include "mote/runtime/overlap.h"
#include "run/sharing.h"
#include "state.h"

namespace mote::graph {
namespace {

/// Returns the uses of each root, in the plan's order.
std::vector<std::vector<TensorUse>> uses_of(const Graph::State& state, const Plan& plan) {
  std::vector<std::vector<TensorUse>> uses(state.tensors.size());
  for (const std::uint32_t k : plan.schedule.order)
    each_operand(state.nodes[plan.nodes[k]], [&](std::uint32_t t, bool writes) {
      const auto add = [&](std::uint32_t memory) {
        uses[state.tensors[memory].root].push_back({k, memory, writes});
      };
      if (state.root_of(t).kind != TensorKind::choice)
        add(t);
      else
        each_memory(state, t, add);
    });
  return uses;
}

/// The writes to one memory so far, by the lowest byte of each.
class Written {
 public:
  void add(const ViewPlaces& locations, std::uint32_t use) {
    by_low_[locations.low].push_back(use);
    longest_ = std::max(longest_, locations.high - locations.low);
  }
  /// Calls use(write) for each write that may meet the bytes.
  template <typename Use>
  void each(const ViewPlaces& locations, const Use& use) const {
    auto from = by_low_.lower_bound(locations.low - longest_);
    for (; from != by_low_.end() && from->first < locations.high; ++from)
      std::ranges::for_each(from->second, use);
  }
  /// True if is_it(use) is true for a write that may meet the bytes.
  template <typename IsIt>
  bool any(const ViewPlaces& locations, const IsIt& is_it) const {
    const auto among = [&](const std::vector<std::uint32_t>& uses) {
      return std::any_of(uses.rbegin(), uses.rend(), is_it);  // mostly the latest is
    };
    const auto same = by_low_.find(locations.low);  // mostly there
    if (same != by_low_.end() && among(same->second)) return true;
    auto from = by_low_.lower_bound(locations.low - longest_);
    for (; from != by_low_.end() && from->first < locations.high; ++from)
      if (among(from->second)) return true;
    return false;
  }

 private:
  std::map<std::int64_t, std::vector<std::uint32_t>> by_low_;
  std::int64_t longest_ = 0;
};

}  // namespace

void check_producers(const Graph::State& state, const Plan& whole, const HappensBefore& before) {
  const std::vector<std::vector<TensorUse>> by_root = uses_of(state, whole);
  for (std::uint32_t root = 0; root < by_root.size(); ++root) {
    const std::vector<TensorUse>& uses = by_root[root];
    if (uses.empty() || state.tensors[root].kind != TensorKind::intermediate) continue;
    Written written;
    for (std::uint32_t u = 0; u < uses.size(); ++u) {
      const TensorUse& use = uses[u];
      const ViewPlaces locations = state.tensors[use.tensor].locations();
      if (locations.low == locations.high) continue;
      if (use.writes) {
        written.add(locations, u);
        continue;
      }
      const auto is_before = [&, &of = uses](std::uint32_t w) {
        return before(of[w].node, use.node);
      };
      const auto is_same = [&, &of = uses](std::uint32_t w) {
        return is_before(w) && state.tensors[of[w].tensor].locations() == locations;
      };
      if (written.any(locations, is_same)) continue;
      std::vector<ViewPlaces> writes;
      written.each(locations, [&, &of = uses](std::uint32_t w) {
        const ViewPlaces places = state.tensors[of[w].tensor].locations();
        if (is_before(w) && share_bytes(places, locations)) writes.push_back(places);
      });
      if (are_covered(locations, writes)) continue;
      refuse(text_of(state.nodes[whole.nodes[use.node]]) + " reads " +
             state.text_of_tensor(use.tensor) +
             (writes.empty() ? ", which no node before it writes"
                             : ", of which no node before it writes some elements"));
    }
  }
}

namespace {

/// Throws unless all uses of the two roots that conflict have an order.
void check_pair(const Graph::State& state, const Plan& whole, const HappensBefore& before,
                const std::vector<TensorUse>& a, const std::vector<TensorUse>& b) {
  for (const TensorUse& x : a)
    for (const TensorUse& y : b) {
      if ((!x.writes && !y.writes) || x.node == y.node) continue;
      if (before(x.node, y.node) || before(y.node, x.node)) continue;
      if (!share_bytes(state.tensors[x.tensor].locations(), state.tensors[y.tensor].locations()))
        continue;
      refuse(text_of(state.nodes[whole.nodes[x.node]]) + " and " +
             text_of(state.nodes[whole.nodes[y.node]]) + " have no order, but " +
             state.text_of_tensor(x.tensor) + " and " + state.text_of_tensor(y.tensor) +
             " are bound to memory that they share");
    }
}

MemoryExtent extent_of(const Graph::State& state, std::uint32_t root) {
  const TensorRecord& tensor = state.tensors[root];
  const auto first = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(tensor.data));
  return {tensor.form->locations.low + first, tensor.form->locations.high + first, root};
}

bool on_one_device(const TensorRecord& a, const TensorRecord& b) {
  const DLDevice x = a.form->form.device;
  const DLDevice y = b.form->form.device;
  return x.device_type == y.device_type && x.device_id == y.device_id;
}

/// Calls check(a, b) for each pair of extents that meet: a is sorted by its lowest byte.
template <typename Check>
void each_meeting(const std::vector<MemoryExtent>& a, std::int64_t longest, const MemoryExtent& b,
                  const Check& check) {
  auto at = std::ranges::lower_bound(a, b.low - longest, {}, &MemoryExtent::low);
  for (; at != a.end() && at->low < b.high; ++at)
    if (at->high > b.low) check(at->root, b.root);
}

}  // namespace

Sharing::Sharing(const Graph::State& state, const Plan& whole) : uses(uses_of(state, whole)) {
  for (std::uint32_t root = 0; root < uses.size(); ++root) {
    if (uses[root].empty()) continue;
    if (state.tensors[root].kind == TensorKind::placeholder) {
      placeholders.push_back(root);
      continue;
    }
    const MemoryExtent extent = extent_of(state, root);
    if (extent.low < extent.high) fixed.push_back(extent);
    longest = std::max(longest, extent.high - extent.low);
  }
  std::ranges::sort(fixed, {}, &MemoryExtent::low);
}

void check_sharing(Graph::State& state, bool all) {
  PreparedGraph& p = state.prepared;
  if (p.whole->schedule.stream_count() <= 1) return;  // all nodes have an order
  if (!p.sharing) p.sharing = std::make_shared<Sharing>(state, *p.whole);
  const Sharing& sharing = *p.sharing;
  const auto check = [&](std::uint32_t a, std::uint32_t b) {
    if (!on_one_device(state.tensors[a], state.tensors[b])) return;
    if (!p.before) p.before.emplace(p.whole->schedule);
    check_pair(state, *p.whole, *p.before, sharing.uses[a], sharing.uses[b]);
  };
  std::vector<MemoryExtent> bound, rebound;
  std::int64_t longest = 0;
  for (const std::uint32_t root : sharing.placeholders) {
    if (!state.tensors[root].has_memory) continue;
    const MemoryExtent extent = extent_of(state, root);
    if (extent.low == extent.high) continue;
    bound.push_back(extent);
    longest = std::max(longest, extent.high - extent.low);
    if (all || std::ranges::binary_search(state.rebound, root)) rebound.push_back(extent);
  }
  for (const MemoryExtent& extent : rebound)
    each_meeting(sharing.fixed, sharing.longest, extent, check);
  // Few are compared with all, without sorting these.
  constexpr std::size_t kFew = 8;
  if (rebound.size() <= kFew) {
    for (const MemoryExtent& extent : rebound)
      for (const MemoryExtent& other : bound)
        if (other.root != extent.root && other.low < extent.high && extent.low < other.high)
          check(std::min(other.root, extent.root), std::max(other.root, extent.root));
    return;
  }
  std::ranges::sort(bound, {}, &MemoryExtent::low);
  for (const MemoryExtent& extent : rebound)
    each_meeting(bound, longest, extent, [&](std::uint32_t a, std::uint32_t b) {
      if (a != b) check(std::min(a, b), std::max(a, b));
    });
}

}  // namespace mote::graph
