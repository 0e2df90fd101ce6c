// SPDX-License-Identifier: Apache-2.0
// The graph as an object, and the calls that prepare and run it.
#include "mote/graph/graph.h"

#include <utility>

#include "state.h"

namespace mote {

using graph::InUse;
using graph::refuse;

Graph::Graph() : state_(std::make_unique<State>()) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;
Graph::State::~State() { graph::wait_for_given(*this); }

Graph::Graph(const Graph& other) {
  const InUse use(other.state_, "copy");
  state_ = std::make_unique<State>(*other.state_);
  graph::copy_sub_graphs(*state_, *other.state_);
}

Graph& Graph::operator=(const Graph& other) {
  if (this != &other) *this = Graph(other);
  return *this;
}

const Graph::State& Graph::state() const {
  const InUse use(state_, "state");
  return *state_;
}

void Graph::run_one_by_one() {
  const InUse use(state_, "run_one_by_one");
  state_->is_serial = true;
  state_->prepared.is_current = false;
}

void Graph::prepare(const GraphOptions& options) {
  const InUse use(state_, "prepare");
  graph::prepare(*state_, options, nullptr);
}

void Graph::prepare(const StreamSchedule& schedule, const GraphOptions& options) {
  const InUse use(state_, "prepare");
  graph::prepare(*state_, options, &schedule);
}

const StreamSchedule& Graph::schedule() const {
  const InUse use(state_, "schedule");
  if (!state_->prepared.is_current) refuse("schedule: it is not prepared");
  return state_->prepared.whole->schedule;
}

void Graph::run() {
  const InUse use(state_, "run");
  graph::run_and_wait(*state_, 0);
}

void Graph::run(GraphPart part) {
  const InUse use(state_, "run");
  graph::run_and_wait(*state_, state_->index_of(part, "run"));
}

void Graph::run(Stream& stream) {
  const InUse use(state_, "run");
  graph::give_run(*state_, 0, stream);
}

void Graph::run(GraphPart part, Stream& stream) {
  const InUse use(state_, "run");
  graph::give_run(*state_, state_->index_of(part, "run"), stream);
}

void Graph::cancel() {
  if (!state_) refuse("cancel: it was moved to another one");
  graph::PreparedGraph& p = state_->prepared;
  p.cancelled_up_to.store(p.runs_begun.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void Graph::trace_to(GraphTrace* trace) {
  const InUse use(state_, "trace_to");
  state_->trace = trace;
}

GraphStatistics Graph::statistics() const {
  const InUse use(state_, "statistics");
  const graph::PreparedGraph& p = state_->prepared;
  GraphStatistics statistics;
  statistics.prepared = p.chosen + (p.plans ? p.plans->made() : 0);
  statistics.sub_graphs = state_->subs.size();
  statistics.runs = p.runs;
  if (!p.is_current) {
    const ScheduleProblem problem = graph::problem_of(*state_);
    statistics.nodes = problem.node_count();
    statistics.edges = problem.predecessors.size();
    return statistics;
  }
  const StreamSchedule& s = p.whole->schedule;
  statistics.nodes = s.node_count();
  statistics.edges = p.edges;
  statistics.waits = s.waits.size();
  statistics.edges_without_wait = statistics.edges - s.waits.size();
  statistics.events = s.events.size();
  statistics.streams = s.stream_count();
  for (const graph::BoundOperation& operation : *p.operations)
    statistics.workspace_bytes = std::max(statistics.workspace_bytes, operation.workspace_bytes());
  return statistics;
}

}  // namespace mote
