// SPDX-License-Identifier: Apache-2.0
// The parts of scheduling: the checks of a problem, topological orders of its nodes, waits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mote/graph/schedule.h"

namespace mote::graph {

/// Throws StatusError "schedule: what".
[[noreturn]] void refuse_schedule(const std::string& what);
/// Throws StatusError unless the problem is well formed; cycles are not looked for.
void check_problem(const ScheduleProblem& problem, int streams);

inline std::span<const std::uint32_t> predecessors_of(const ScheduleProblem& p, std::size_t node) {
  return std::span(p.predecessors).subspan(p.begin[node], p.begin[node + 1] - p.begin[node]);
}
inline double weight_of(const ScheduleProblem& p, std::size_t node) {
  return p.weights.empty() ? 1 : p.weights[node];
}

/// Returns the given order, checked, or one that is chosen for one stream or for several. Throws
/// StatusError for a cycle.
std::vector<std::uint32_t> find_topological_order(const ScheduleProblem& problem, bool one_stream);

/// Adds the fewest waits and events that keep the problem's edges to a schedule that has an order
/// and the places of all nodes, and counts the edges.
void add_waits(const ScheduleProblem& problem, StreamSchedule& schedule);

}  // namespace mote::graph
