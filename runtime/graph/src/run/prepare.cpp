// SPDX-License-Identifier: Apache-2.0
// Preparing a graph: kernels for its nodes, a schedule, the checks that need it, and a plan.
#include <algorithm>
#include <limits>
#include <string>

#include "control/runner.h"
#include "mote/graph/large_pages.h"
#include "schedule/order.h"
#include "state.h"

namespace mote::graph {
namespace {

/// Throws StatusError with the names of the nodes of a cycle, if there is one.
void check_cycles(const Graph::State& state, const ScheduleProblem& problem,
                  const std::vector<std::uint32_t>& nodes) {
  const auto cycle = find_cycle(problem);
  if (!cycle) return;
  constexpr std::size_t kNamed = 8;
  std::string text;
  for (std::size_t k = 0; k < std::min(cycle->size(), kNamed); ++k)
    text += text_of(state.nodes[nodes[(*cycle)[k]]]) + " -> ";
  if (cycle->size() > kNamed) text += "… -> ";
  refuse("a cycle: " + text + text_of(state.nodes[nodes[cycle->front()]]));
}

StreamSchedule schedule_for(const Graph::State& state, const ScheduleProblem& problem,
                            const std::vector<std::uint32_t>& nodes, const GraphOptions& options,
                            const StreamSchedule* given) {
  if (given == nullptr) {
    try {
      return schedule(problem, state.is_serial ? 1 : options.streams);
    } catch (const StatusError&) {
      check_cycles(state, problem, nodes);
      throw;
    }
  }
  if (const std::optional<Reason> reason = violation(problem, *given)) {
    check_cycles(state, problem, nodes);
    refuse("prepare: the schedule does not fit: " + reason->text);
  }
  return *given;
}

/// Makes the actions of a plan, and its steps stream after stream.
class ActionList {
 public:
  ActionList(Plan& plan, const std::vector<bool>& is_control)
      : plan_(plan),
        is_control_(is_control),
        first_(plan.schedule.stream_count() + 1),
        open_(plan.schedule.stream_count()) {
    const StreamSchedule& s = plan.schedule;
    for (const std::uint32_t stream : s.stream) ++first_[stream + 1];
    for (std::size_t k = 0; k + 1 < first_.size(); ++k) first_[k + 1] += first_[k];
    for (std::size_t k = 0; k < open_.size(); ++k) open_[k] = first_[k];
    std::vector<std::uint32_t> event_of(s.node_count(), kNone);
    for (std::uint32_t e = 0; e < s.events.size(); ++e) event_of[s.events[e]] = e;
    for (const std::uint32_t node : s.order) add(node, event_of[node]);
    for (std::uint32_t stream = 0; stream < open_.size(); ++stream)
      close(stream, first_[stream + 1]);
  }

 private:
  void add(std::uint32_t node, std::uint32_t event) {
    const StreamSchedule& s = plan_.schedule;
    const std::uint32_t stream = s.stream[node];
    const std::uint32_t step = first_[stream] + s.position[node];
    for (std::size_t w = s.wait_begin[node]; w < s.wait_begin[node + 1]; ++w) {
      close(stream, step);
      plan_.actions.push_back({.kind = Action::Kind::wait, .stream = stream, .event = s.waits[w]});
    }
    if (is_control_[node]) {
      close(stream, step);
      plan_.actions.push_back({.kind = Action::Kind::control, .stream = stream, .first = step});
      open_[stream] = step + 1;
    }
    if (event == kNone) return;
    close(stream, step + 1);
    plan_.actions.push_back({.kind = Action::Kind::record, .stream = stream, .event = event});
  }
  /// Adds a run of the stream's steps up to `end`.
  void close(std::uint32_t stream, std::uint32_t end) {
    if (open_[stream] < end)
      plan_.actions.push_back(
          {.kind = Action::Kind::run, .stream = stream, .first = open_[stream], .last = end});
    open_[stream] = end;
  }

  Plan& plan_;
  const std::vector<bool>& is_control_;  ///< by node of the plan
  std::vector<std::uint32_t> first_;     ///< the first step of each stream
  std::vector<std::uint32_t> open_;      ///< the first one that no action has yet
};

/// Finds the placeholders that a plan's nodes use, each with the first node. What a choice may be
/// is looked at once, however many choices it is among.
void find_placeholders(const Graph::State& state, Plan& plan) {
  std::vector<bool> is_seen(state.tensors.size());
  std::vector<std::uint32_t> open;
  const auto reach = [&](std::uint32_t tensor) {
    const std::uint32_t root = state.tensors[tensor].root;
    if (!is_seen[root]) open.push_back(root);
    is_seen[root] = true;
  };
  for (const std::uint32_t n : plan.nodes)
    each_operand(state.nodes[n], [&](std::uint32_t t, bool) {
      for (reach(t); !open.empty();) {
        const TensorRecord& record = state.tensors[open.back()];
        if (record.kind == TensorKind::placeholder) plan.placeholders.emplace_back(open.back(), n);
        open.pop_back();
        if (record.choice == nullptr) continue;
        for (const auto* list : {&record.choice->first, &record.choice->cycle})
          std::ranges::for_each(*list, reach);
      }
    });
}

/// Finds the nodes of each placeholder. Returns the placeholders with their first nodes, in the
/// order of these.
Plan::Placeholders find_users(Graph::State& state, const std::vector<std::uint32_t>& nodes) {
  Plan::Placeholders placeholders;
  PlaceholderUsers users;
  users.begin.resize(state.tensors.size() + 1);
  std::vector<std::uint32_t> last(state.rare.placeholders ? state.tensors.size() : 0, kNone);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> uses;  // a placeholder, and a node
  for (const std::uint32_t n : nodes) {
    if (!state.rare.placeholders) break;
    each_operand(state.nodes[n], [&](std::uint32_t t, bool) {
      const std::uint32_t root = state.tensors[t].root;
      if (state.tensors[root].kind != TensorKind::placeholder || last[root] == n) return;
      if (last[root] == kNone) placeholders.emplace_back(root, n);
      last[root] = n;
      uses.emplace_back(root, n);
      ++users.begin[root + 1];
    });
  }
  for (std::size_t k = 1; k < users.begin.size(); ++k) users.begin[k] += users.begin[k - 1];
  std::vector<std::uint32_t> next = users.begin;
  users.nodes.resize(uses.size());
  for (const auto& [root, n] : uses) users.nodes[next[root]++] = n;
  state.prepared.users = std::move(users);
  return placeholders;
}

/// Returns the tensor, or what stands for one that has no memory yet.
NodeTensor node_tensor(const TensorRecord& record) {
  if (record.has_memory) return {record.form.get(), record.data, record.owner.get()};
  // Each placeholder gets 2^40 bytes that no memory of a process has.
  const std::uintptr_t base =
      (std::uintptr_t{1} << 62) + (std::uintptr_t{record.root % 0x100000} << 40);
  return {record.form.get(),
          reinterpret_cast<std::byte*>(base + (std::uintptr_t{1} << 39) +
                                       static_cast<std::uintptr_t>(record.offset)),
          nullptr};
}

void list_tensors(const Graph::State& state, const NodeRecord& node, NodeTensors& tensors) {
  tensors.have_memory = true;
  const auto list = [&](NodeRecord::Tensors of, std::vector<NodeTensor>& to) {
    to.clear();
    for (const std::uint32_t t : of) {
      to.push_back(t == kNone ? NodeTensor{} : node_tensor(state.tensors[t]));
      if (t != kNone && !state.tensors[t].has_memory) tensors.have_memory = false;
    }
  };
  list(node.inputs(), tensors.inputs);
  list(node.outputs(), tensors.outputs);
}

}  // namespace

void bind_node(Graph::State& state, std::uint32_t index) {
  const NodeRecord& node = state.nodes[index];
  NodeTensors& tensors = state.prepared.bound_now;
  BoundOperation& operation = (*state.prepared.operations)[index];
  try {
    list_tensors(state, node, tensors);
    if (operation.exists() && operation.bind(tensors)) return;
    operation = BoundOperation(node, tensors, *state.prepared.plans);
  } catch (...) {
    rethrow_of(node);
  }
}

std::shared_ptr<Plan> plan_of(Graph::State& state, std::vector<std::uint32_t> nodes,
                              StreamSchedule schedule, const Plan::Placeholders* placeholders) {
  auto plan = std::make_shared<Plan>();
  plan->nodes = std::move(nodes);
  plan->schedule = std::move(schedule);
  const StreamSchedule& s = plan->schedule;
  plan->devices.resize(s.stream_count());
  for (std::uint32_t k = 0; k < s.node_count(); ++k)
    if (s.position[k] == 0)
      plan->devices[s.stream[k]] = device_of(state, state.nodes[plan->nodes[k]]);
  std::vector<bool> is_control(plan->nodes.size());
  for (std::uint32_t k = 0; state.rare.controls && k < plan->nodes.size(); ++k)
    is_control[k] = control_of(state.nodes[plan->nodes[k]]) != nullptr;
  const ActionList list(*plan, is_control);
  plan->is_loop = s.stream_count() <= 1 && (plan->devices.empty() || !plan->devices.front());
  std::vector<std::uint32_t> first(s.stream_count() + 1);
  for (const std::uint32_t stream : s.stream) ++first[stream + 1];
  for (std::size_t k = 0; k + 1 < first.size(); ++k) first[k + 1] += first[k];
  if (!plan->is_loop) plan->events.resize(s.events.size());
  plan->steps.resize(s.node_count());
  for (std::uint32_t k = 0; k < s.node_count(); ++k)
    plan->steps[first[s.stream[k]] + s.position[k]] = {
        &(*state.prepared.operations)[plan->nodes[k]], k};
  if (state.rare.placeholders && placeholders == nullptr) find_placeholders(state, *plan);
  if (placeholders != nullptr) plan->placeholders = *placeholders;
  if (state.rare.controls || state.rare.functions) find_controls(*plan);
  return plan;
}

void prepare(Graph::State& state, const GraphOptions& options, const StreamSchedule* given) {
  prepare_one(state, options, given);
  state.prepared.is_current = false;
  prepare_sub_graphs(state);
  state.prepared.is_current = true;
}

void prepare_one(Graph::State& state, const GraphOptions& options, const StreamSchedule* given) {
  wait_to_change(state, "prepare");
  const std::vector<std::uint32_t> nodes = live_nodes(state);
  const ScheduleProblem problem = problem_of(state, nodes);
  StreamSchedule schedule = schedule_for(state, problem, nodes, options, given);
  PreparedGraph& p = state.prepared;
  p.is_current = false;
  p.edges = problem.predecessors.size();
  state.options = options;
  if (p.plans) p.chosen += p.plans->made();
  p.plans = std::make_unique<KernelPlans>(
      RunOptions{.context = options.context, .without_nan = options.without_nan});
  p.operations = std::make_shared<std::vector<BoundOperation>>();
  detail::reserve_in_large_pages(*p.operations, state.nodes.size());
  p.operations->resize(state.nodes.size());
  p.related.clear();
  p.parts.clear();
  p.bound.clear();
  p.before.reset();
  p.sharing.reset();
  for (const std::uint32_t n : nodes) bind_node(state, n);
  const Plan::Placeholders placeholders = find_users(state, nodes);
  std::shared_ptr<Plan> whole =
      plan_of(state, nodes, std::move(schedule), state.rare.choices ? nullptr : &placeholders);
  if (state.rare.intermediates) {
    p.before.emplace(whole->schedule);
    check_producers(state, *whole, *p.before);
  }
  p.whole = std::move(whole);
  p.parts.assign(1, p.whole);
  p.bound.assign(1, 0);
  p.has_given_schedule = given != nullptr;
  state.rebound.clear();
  p.is_current = true;
  if (state.binding > 0) check_sharing(state, true);
}

StreamSchedule restriction(const Plan& whole, const HappensBefore& before,
                           const std::vector<std::uint32_t>& nodes) {
  const StreamSchedule& s = whole.schedule;
  std::vector<std::uint32_t> local_of(whole.nodes.size(), kNone);  // by the number in `whole`
  for (std::uint32_t k = 0, at = 0; k < nodes.size(); ++k) {
    while (whole.nodes[at] != nodes[k]) ++at;
    local_of[at] = k;
  }
  StreamSchedule r;
  std::vector<std::uint32_t> stream_of(s.stream_count(), kNone);
  std::vector<std::vector<std::uint32_t>> on(s.stream_count());  // the nodes of each stream, whole
  r.stream.resize(nodes.size());
  r.position.resize(nodes.size());
  for (const std::uint32_t n : s.order) {
    const std::uint32_t k = local_of[n];
    if (k == kNone) continue;
    std::uint32_t& stream = stream_of[s.stream[n]];
    if (stream == kNone) {
      stream = static_cast<std::uint32_t>(r.devices.size());
      r.devices.push_back(s.devices[s.stream[n]]);
    }
    r.order.push_back(k);
    r.stream[k] = stream;
    r.position[k] = static_cast<std::uint32_t>(on[s.stream[n]].size());
    on[s.stream[n]].push_back(n);
  }
  // The last node of each stream that is before a node is all that it can have to wait for.
  ScheduleProblem problem;
  for (std::uint32_t n = 0; n < local_of.size(); ++n) {
    if (local_of[n] == kNone) continue;
    for (const std::vector<std::uint32_t>& earlier : on) {
      const auto end = std::partition_point(earlier.begin(), earlier.end(),
                                            [&](std::uint32_t q) { return before(q, n); });
      if (end != earlier.begin()) problem.predecessors.push_back(local_of[*(end - 1)]);
    }
    problem.begin.push_back(problem.predecessors.size());
  }
  add_waits(problem, r);
  return r;
}

}  // namespace mote::graph
