// SPDX-License-Identifier: Apache-2.0
// A graph's nodes and edges as numbers: the problem of its schedule, the nodes of a part, and
// whether two parts depend on each other.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "state.h"

namespace mote::graph {
namespace {

/// The nodes that follow each node, or come before it.
struct Neighbours {
  Neighbours(const Graph::State& state, bool forward) : begin(state.nodes.size() + 1) {
    const auto from = [&](const Edge& e) { return forward ? e.first : e.second; };
    const auto to = [&](const Edge& e) { return forward ? e.second : e.first; };
    for (const Edge& e : state.edges) ++begin[from(e) + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    nodes.resize(state.edges.size());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    for (const Edge& e : state.edges) nodes[next[from(e)]++] = to(e);
  }
  std::span<const std::uint32_t> of(std::uint32_t node) const {
    return std::span(nodes).subspan(begin[node], begin[node + 1] - begin[node]);
  }

  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> nodes;
};

/// Returns which nodes can be reached from the given ones, these included.
std::vector<bool> reached(const Graph::State& state, std::span<const std::uint32_t> from,
                          bool forward) {
  const Neighbours neighbours(state, forward);
  std::vector<bool> is_reached(state.nodes.size());
  std::vector<std::uint32_t> open;
  const auto enter = [&](std::uint32_t node) {
    if (state.nodes[node].removed || is_reached[node]) return;
    is_reached[node] = true;
    open.push_back(node);
  };
  for (const std::uint32_t node : from) enter(node);
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    for (const std::uint32_t next : neighbours.of(node)) enter(next);
  }
  return is_reached;
}

bool is_among(const std::vector<bool>& set, const std::vector<std::uint32_t>& nodes) {
  return std::ranges::any_of(nodes, [&](std::uint32_t n) { return set[n]; });
}

}  // namespace

std::vector<std::uint32_t> live_nodes(const Graph::State& state) {
  std::vector<std::uint32_t> nodes;
  nodes.reserve(state.nodes.size());
  for (const NodeRecord& n : state.nodes)
    if (!n.removed) nodes.push_back(n.index);
  return nodes;
}

std::vector<std::uint32_t> nodes_of(const Graph::State& state, const PartRecord& part) {
  std::vector<std::uint32_t> nodes = live_nodes(state);
  if (!part.sources.empty()) {
    const std::vector<bool> after = reached(state, part.sources, true);
    std::erase_if(nodes, [&](std::uint32_t n) { return !after[n]; });
  }
  if (!part.destinations.empty()) {
    const std::vector<bool> before = reached(state, part.destinations, false);
    std::erase_if(nodes, [&](std::uint32_t n) { return !before[n]; });
  }
  return nodes;
}

bool are_related(const Graph::State& state, const std::vector<std::uint32_t>& a,
                 const std::vector<std::uint32_t>& b) {
  return is_among(reached(state, a, true), b) || is_among(reached(state, b, true), a);
}

std::optional<Device> device_of(const Graph::State& state, const NodeRecord& node) {
  if (state.is_on_host || std::holds_alternative<FunctionNode>(node.work) ||
      std::holds_alternative<ControlNode>(node.work))
    return std::nullopt;
  std::optional<Device> device;
  each_operand(node, [&](std::uint32_t t, bool) {
    const DLDevice on = state.tensors[t].form->form.device;
    if (!device && on.device_type != kDLCPU) device = Device::of(on);
  });
  return device;
}

ScheduleProblem problem_of(const Graph::State& state) {
  return problem_of(state, live_nodes(state));
}

ScheduleProblem problem_of(const Graph::State& state, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::uint32_t> local(state.nodes.size(), kNone);
  for (std::uint32_t k = 0; k < nodes.size(); ++k) local[nodes[k]] = k;
  ScheduleProblem problem;
  problem.predecessors.reserve(state.edges.size());
  problem.begin.reserve(nodes.size() + 1);
  const Neighbours before(state, false);
  for (const std::uint32_t n : nodes) {
    for (const std::uint32_t q : before.of(n)) problem.predecessors.push_back(local[q]);
    const auto begin =
        problem.predecessors.begin() + static_cast<std::ptrdiff_t>(problem.begin.back());
    if (!std::is_sorted(begin, problem.predecessors.end()))
      std::sort(begin, problem.predecessors.end());
    problem.predecessors.erase(std::unique(begin, problem.predecessors.end()),
                               problem.predecessors.end());
    problem.begin.push_back(problem.predecessors.size());
  }
  std::map<std::pair<int, int>, std::uint16_t> numbers = {{{kDLCPU, 0}, std::uint16_t{0}}};
  bool is_measured = false;
  bool all_measured = true;
  if (state.is_on_host) problem.devices.assign(nodes.size(), 0);
  if (state.is_on_host && !state.rare.weights) return problem;
  for (const std::uint32_t n : nodes) {
    if (!state.is_on_host) {
      const std::optional<Device> on = device_of(state, state.nodes[n]);
      const std::pair<int, int> key =
          on ? std::pair<int, int>(on->dl().device_type, on->dl().device_id)
             : std::pair<int, int>(kDLCPU, 0);
      problem.devices.push_back(
          numbers.try_emplace(key, static_cast<std::uint16_t>(numbers.size())).first->second);
    }
    if (!std::holds_alternative<CommandNode>(state.nodes[n].work)) continue;
    is_measured = is_measured || state.nodes[n].weight > 0;
    all_measured = all_measured && state.nodes[n].weight > 0;
  }
  if (is_measured && all_measured)
    for (const std::uint32_t n : nodes) problem.weights.push_back(state.nodes[n].weight);
  return problem;
}

}  // namespace mote::graph
