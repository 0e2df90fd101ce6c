// SPDX-License-Identifier: Apache-2.0
#include "schedule/order.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "mote/runtime/status.h"

namespace mote::graph {
namespace {

/// The successors of each node, in compressed rows.
struct Successors {
  explicit Successors(const ScheduleProblem& p)
      : begin(p.node_count() + 1), nodes(p.predecessors.size()) {
    for (const std::uint32_t q : p.predecessors) ++begin[q + 1];
    for (std::size_t n = 0; n < p.node_count(); ++n) begin[n + 1] += begin[n];
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t n = 0; n < p.node_count(); ++n)
      for (const std::uint32_t q : predecessors_of(p, n))
        nodes[next[q]++] = static_cast<std::uint32_t>(n);
  }
  std::span<const std::uint32_t> of(std::size_t node) const {
    return std::span(nodes).subspan(begin[node], begin[node + 1] - begin[node]);
  }

  std::vector<std::size_t> begin;
  std::vector<std::uint32_t> nodes;
};

/// Among nodes whose predecessors are done, takes one of the greatest urgency first, and the one of
/// the lowest number among equals. Returns fewer nodes than there are if some are on a cycle.
std::vector<std::uint32_t> order_by(const ScheduleProblem& p, const Successors& successors,
                                    std::span<const double> urgency) {
  using Ready = std::pair<double, std::uint32_t>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  std::vector<std::size_t> missing(p.node_count());
  const auto ready_up = [&](std::size_t n) {
    ready.emplace(urgency.empty() ? 0.0 : -urgency[n], static_cast<std::uint32_t>(n));
  };
  for (std::size_t n = 0; n < p.node_count(); ++n) {
    missing[n] = p.begin[n + 1] - p.begin[n];
    if (missing[n] == 0) ready_up(n);
  }
  std::vector<std::uint32_t> order;
  order.reserve(p.node_count());
  while (!ready.empty()) {
    const std::uint32_t n = ready.top().second;
    ready.pop();
    order.push_back(n);
    for (const std::uint32_t next : successors.of(n))
      if (--missing[next] == 0) ready_up(next);
  }
  return order;
}

/// Returns for each node the longest time from its begin to the end of the graph.
std::vector<double> longest_ways(const ScheduleProblem& p, const Successors& successors,
                                 std::span<const std::uint32_t> order) {
  std::vector<double> ways(p.node_count());
  for (std::size_t k = order.size(); k-- > 0;) {
    double longest = 0;
    for (const std::uint32_t next : successors.of(order[k]))
      longest = std::max(longest, ways[next]);
    ways[order[k]] = longest + weight_of(p, order[k]);
  }
  return ways;
}

void check_order(const ScheduleProblem& p) {
  constexpr std::uint32_t kMissing = std::numeric_limits<std::uint32_t>::max();
  if (p.order.size() != p.node_count())
    refuse_schedule("the order has " + std::to_string(p.order.size()) + " nodes, expected " +
                    std::to_string(p.node_count()));
  std::vector<std::uint32_t> rank(p.node_count(), kMissing);
  for (std::uint32_t k = 0; k < p.order.size(); ++k) {
    if (p.order[k] >= p.node_count() || rank[p.order[k]] != kMissing)
      refuse_schedule("the order must have each node once, got " + std::to_string(p.order[k]) +
                      " as number " + std::to_string(k));
    rank[p.order[k]] = k;
  }
  for (std::size_t n = 0; n < p.node_count(); ++n)
    for (const std::uint32_t q : predecessors_of(p, n))
      if (rank[q] >= rank[n])
        refuse_schedule("the order has node " + std::to_string(n) + " before its predecessor " +
                        std::to_string(q));
}

[[noreturn]] void refuse_cycle(const ScheduleProblem& p) {
  std::string text;
  const auto cycle = find_cycle(p);
  if (!cycle) throw InternalError("schedule: an order lacks nodes, but there is no cycle");
  constexpr std::size_t kNamed = 8;
  for (std::size_t k = 0; k < std::min(cycle->size(), kNamed); ++k)
    text += std::to_string((*cycle)[k]) + " -> ";
  if (cycle->size() > kNamed) text += "… -> ";
  refuse_schedule("nodes wait for each other: " + text + std::to_string(cycle->front()));
}

}  // namespace

void refuse_schedule(const std::string& what) {
  throw StatusError(MOTE_INVALID, "schedule: " + what);
}

void check_problem(const ScheduleProblem& p, int streams) {
  const auto refuse_size = [&](const char* what, std::size_t size) {
    if (size != 0 && size != p.node_count())
      refuse_schedule(std::to_string(size) + " " + what + " for " + std::to_string(p.node_count()) +
                      " nodes");
  };
  if (streams < 1 || streams > 1024)
    refuse_schedule("1..1024 streams are possible, got " + std::to_string(streams));
  if (p.begin.empty() || p.begin.front() != 0 || p.begin.back() != p.predecessors.size() ||
      !std::ranges::is_sorted(p.begin))
    refuse_schedule("`begin` must rise from 0 to the number of predecessors");
  if (p.node_count() >= std::numeric_limits<std::uint32_t>::max())
    refuse_schedule(std::to_string(p.node_count()) + " nodes are too many");
  for (const std::uint32_t q : p.predecessors)
    if (q >= p.node_count())
      refuse_schedule("predecessor " + std::to_string(q) + " of " + std::to_string(p.node_count()) +
                      " nodes");
  refuse_size("devices", p.devices.size());
  refuse_size("weights", p.weights.size());
  const auto is_time = [](double w) { return w >= 0 && std::isfinite(w); };
  if (!std::ranges::all_of(p.weights, is_time) || !is_time(p.wait_weight))
    refuse_schedule("weights must be finite and at least 0");
}

std::vector<std::uint32_t> find_topological_order(const ScheduleProblem& p, bool one_stream) {
  if (!p.order.empty()) {
    check_order(p);
    return p.order;
  }
  const Successors successors(p);
  std::vector<std::uint32_t> order = order_by(p, successors, {});
  if (order.size() != p.node_count()) refuse_cycle(p);
  if (one_stream) return order;
  return order_by(p, successors, longest_ways(p, successors, order));
}

}  // namespace mote::graph

namespace mote {

std::optional<std::vector<std::uint32_t>> find_cycle(const ScheduleProblem& problem) {
  graph::check_problem(problem, 1);
  enum class State : std::uint8_t { unseen, open, done };
  std::vector<State> states(problem.node_count(), State::unseen);
  std::vector<std::pair<std::uint32_t, std::size_t>> path;  // a node and its next predecessor
  for (std::uint32_t start = 0; start < problem.node_count(); ++start) {
    if (states[start] != State::unseen) continue;
    path.assign(1, {start, 0});
    states[start] = State::open;
    while (!path.empty()) {
      auto& [node, next] = path.back();
      const std::span<const std::uint32_t> before = graph::predecessors_of(problem, node);
      if (next == before.size()) {
        states[node] = State::done;
        path.pop_back();
        continue;
      }
      const std::uint32_t q = before[next++];
      if (states[q] == State::open) {
        std::vector<std::uint32_t> cycle;
        for (std::size_t k = path.size(); cycle.empty() || cycle.back() != q;)
          cycle.push_back(path[--k].first);
        return cycle;
      }
      if (states[q] != State::unseen) continue;
      states[q] = State::open;
      path.emplace_back(q, 0);
    }
  }
  return std::nullopt;
}

}  // namespace mote
