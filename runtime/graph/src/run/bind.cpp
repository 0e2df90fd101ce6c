// SPDX-License-Identifier: Apache-2.0
// Provides what a run needs before it begins: a graph that is prepared, the plan of its part, and
// nodes that have the tensors which were bound last.
#include <algorithm>

#include "state.h"

namespace mote::graph {

void apply_bindings(Graph::State& state) {
  if (state.rebound.empty()) return;
  wait_to_change(state, "bind");
  std::ranges::sort(state.rebound);
  state.rebound.erase(std::unique(state.rebound.begin(), state.rebound.end()), state.rebound.end());
  check_sharing(state, false);
  const std::vector<bool>& is_variable = state.prepared.variables.is_node;
  for (const std::uint32_t root : state.rebound) {
    for (const std::uint32_t n : state.prepared.users.of(root))
      if (!is_variable[n]) bind_node(state, n);
  }
  state.prepared.variables.is_stale = true;
  state.rebound.clear();
  if (!state.prepared.subs.empty()) bind_sub_graphs(state);
}

namespace {

void make_part(Graph::State& state, std::uint32_t part) {
  PreparedGraph& p = state.prepared;
  if (p.parts.size() <= part) {
    p.bound.resize(part + 1);
    p.parts.resize(part + 1);
  }
  if (p.parts[part]) return;
  const std::vector<std::uint32_t> nodes = nodes_of(state, state.parts[part]);
  if (!p.before) p.before.emplace(p.whole->schedule);
  StreamSchedule schedule = restriction(*p.whole, *p.before, nodes);
  p.parts[part] = plan_of(state, nodes, std::move(schedule));
}

void check_bound(const Graph::State& state, const Plan& plan) {
  for (const auto& [root, node] : plan.placeholders)
    if (!state.tensors[root].has_memory)
      refuse(text_of(state.nodes[node]) + " needs the placeholder " + state.text_of_tensor(root) +
             ", which is not bound");
}

}  // namespace

const std::shared_ptr<Plan>& ready_plan(Graph::State& state, std::uint32_t part) {
  PreparedGraph& p = state.prepared;
  if (!p.is_current) {
    if (p.has_given_schedule)
      refuse("run: it was changed since it was prepared with a schedule: prepare it again");
    const GraphOptions options = state.options;
    prepare(state, options, nullptr);
  }
  constexpr std::uint64_t kLookedAt = 1;  // so that 0 stands for a part that no run has looked at
  if (part < p.parts.size() && p.parts[part] && p.bound[part] == state.binding + kLookedAt)
      [[likely]]
    return p.parts[part];
  make_part(state, part);
  check_bound(state, *p.parts[part]);
  apply_bindings(state);
  p.bound[part] = state.binding + kLookedAt;
  return p.parts[part];
}

}  // namespace mote::graph
