// SPDX-License-Identifier: Apache-2.0
// Checks of memory that need the schedule: intermediate tensors that nothing writes in time, and
// placeholders whose memory turns out to be shared.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "mote/graph/overlap.h"
#include "state.h"

namespace mote::graph {
namespace {

struct Use {
  std::uint32_t node;  ///< local
  std::uint32_t tensor;
  bool writes;
};

std::int64_t address_of(const Tensor& x) {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(x.data()));
}

ViewPlaces places_of(const Tensor& x) { return {form_of(x), address_of(x)}; }

/// Returns the uses of each root, in the plan's order.
std::map<std::uint32_t, std::vector<Use>> uses_of(const Graph::State& state, const Plan& plan) {
  std::map<std::uint32_t, std::vector<Use>> uses;
  for (const std::uint32_t k : plan.schedule.order)
    each_operand(state.nodes[plan.nodes[k]], [&](std::uint32_t t, bool writes) {
      uses[state.tensors[t].root].push_back({k, t, writes});
    });
  return uses;
}

/// What was written to one memory so far: the last writes of each of its bytes, in segments.
class Written {
 public:
  void add(const ViewPlaces& places, std::uint32_t use) {
    by_low_[places.low].push_back(use);
    longest_ = std::max(longest_, places.high - places.low);
  }
  /// Calls see(use) for the writes that may meet the bytes until it returns true.
  template <typename See>
  bool any(const ViewPlaces& places, const See& see) const {
    auto from = by_low_.lower_bound(places.low - longest_);
    for (; from != by_low_.end() && from->first < places.high; ++from)
      for (std::size_t k = from->second.size(); k-- > 0;)  // the latest is the likeliest
        if (see(from->second[k])) return true;
    return false;
  }

 private:
  std::map<std::int64_t, std::vector<std::uint32_t>> by_low_;
  std::int64_t longest_ = 0;
};

}  // namespace

void check_producers(const Graph::State& state, const Plan& whole, const HappensBefore& before) {
  for (const auto& [root, uses] : uses_of(state, whole)) {
    if (state.tensors[root].kind != TensorKind::intermediate) continue;
    Written written;
    for (std::uint32_t u = 0; u < uses.size(); ++u) {
      const Use& use = uses[u];
      const ViewPlaces places = places_of(state.tensors[use.tensor].tensor);
      if (places.low == places.high) continue;
      if (use.writes) {
        written.add(places, u);
        continue;
      }
      const bool is_produced = written.any(places, [&](std::uint32_t w) {
        return before(uses[w].node, use.node) &&
               share_bytes(places_of(state.tensors[uses[w].tensor].tensor), places);
      });
      if (!is_produced)
        refuse(text_of(state.nodes[whole.nodes[use.node]]) + " reads " +
               state.text_of_tensor(use.tensor) + ", which no node before it writes");
    }
  }
}

namespace {

/// Throws unless all uses of the two roots that conflict have an order.
void check_pair(const Graph::State& state, const Plan& whole, const HappensBefore& before,
                const std::vector<Use>& a, const std::vector<Use>& b) {
  for (const Use& x : a)
    for (const Use& y : b) {
      if ((!x.writes && !y.writes) || x.node == y.node) continue;
      if (before(x.node, y.node) || before(y.node, x.node)) continue;
      if (!share_bytes(places_of(state.tensors[x.tensor].tensor),
                       places_of(state.tensors[y.tensor].tensor)))
        continue;
      refuse(text_of(state.nodes[whole.nodes[x.node]]) + " and " +
             text_of(state.nodes[whole.nodes[y.node]]) + " have no order, but " +
             state.text_of_tensor(x.tensor) + " and " + state.text_of_tensor(y.tensor) +
             " are bound to memory that they share");
    }
}

}  // namespace

void check_sharing(Graph::State& state) {
  const Plan& whole = *state.prepared.whole;
  const auto uses = uses_of(state, whole);
  struct Extent {
    std::int64_t low, high;
    std::uint32_t root;
  };
  std::vector<Extent> extents;
  for (const auto& [root, of_root] : uses) {
    const TensorRecord& t = state.tensors[root];
    if (!t.has_memory) continue;
    const ViewPlaces places = places_of(t.tensor);
    if (places.low < places.high) extents.push_back({places.low, places.high, root});
  }
  std::ranges::sort(extents, {}, &Extent::low);
  for (std::size_t k = 0; k < extents.size(); ++k)
    for (std::size_t m = k + 1; m < extents.size() && extents[m].low < extents[k].high; ++m) {
      const TensorRecord& a = state.tensors[extents[k].root];
      const TensorRecord& b = state.tensors[extents[m].root];
      if (a.kind != TensorKind::placeholder && b.kind != TensorKind::placeholder) continue;
      if (a.tensor.device().device_type != b.tensor.device().device_type ||
          a.tensor.device().device_id != b.tensor.device().device_id)
        continue;
      if (!state.prepared.before) state.prepared.before.emplace(whole.schedule);
      check_pair(state, whole, *state.prepared.before, uses.at(extents[k].root),
                 uses.at(extents[m].root));
    }
}

}  // namespace mote::graph
