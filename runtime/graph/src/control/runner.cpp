// SPDX-License-Identifier: Apache-2.0
#include "control/runner.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "control/counters.h"
#include "mote/base/element_types.h"
#include "mote/runtime/error_under_way.h"

namespace mote {
namespace graph {

namespace {

/// Returns the records of a sub-graph, of lists by sub-graph; fewer: none.
template <typename Record>
std::span<const Record> of_sub(const std::vector<std::vector<Record>>& lists, std::int64_t sub) {
  const auto k = static_cast<std::size_t>(sub);
  return k < lists.size() ? std::span<const Record>(lists[k]) : std::span<const Record>();
}

}  // namespace

Runner::Runner(Graph::State& root) : root_(root) {
  std::unordered_map<const Graph::State*, std::size_t> depths = {{&root, 1}};
  std::size_t deepest = 1;
  for (const SubLocation& location : root.prepared.subs) {
    const std::size_t depth = depths.at(location.around) + 1;
    depths[location.state] = depth;
    deepest = std::max(deepest, depth);
    const ControlWork& work = *control_of(location.around->nodes[location.node]);
    const Graph::State& of = work.is_loop ? *location.state : *location.around;
    std::vector<Tensor>& reads = reads_[&work];
    reads.clear();
    for (const std::uint32_t t : work.reads) reads.push_back(of.tensor_at(t));
  }
  frames_.reserve(deepest);
  counters_.reserve(deepest);
}

void Runner::run(const std::shared_ptr<Plan>& plan, const Start& start) {
  start_ = start;
  frames_.clear();
  counters_.clear();
  // Equal inputs give results at the same places in each run.
  for (auto& [pointer, shown] : *root_.prepared.pointers) shown = {};
  const LoopOwner owner;
  owner_ = owner.number();
  const LoopScope here(counters_, owner_);
  try {
    frames_.push_back({.state = &root_, .plan = &plan});
    refresh(root_);
    begin(frames_.back());
    work();
  } catch (...) {
    abandon_all();
    rethrow_inside();
  }
}

void Runner::work() {
  for (;;) {
    if (!advance(frames_.back())) continue;
    if (frames_.size() == 1) return frames_.clear();
    finish_plan();
  }
}

/// Begins the frame's plan.
void Runner::begin(Frame& frame) {
  frame.at = 0;
  frame.next_control = 0;
  if (start_.is_serial || (*frame.plan)->is_loop) return;
  frame.streams = streams_for(*frame.state, **frame.plan, nullptr);
  frame.run = begin_run(*frame.state, *frame.plan);
  frame.run->cancelled_up_to = &root_.prepared.cancelled_up_to;
  frame.run->number = start_.number;
  frame.run->counters = counters_;
  frame.run->own.reset();
  frame.run->owner = owner_;
}

/// Goes on with the frame's plan. False if a sub-graph is to run first.
bool Runner::advance(Frame& frame) {
  return frame.run == nullptr ? advance_steps(frame) : advance_streams(frame);
}

bool Runner::advance_steps(Frame& frame) {
  const Plan& plan = **frame.plan;
  for (;;) {
    const bool is_last = frame.next_control == plan.controls.size();
    const std::size_t end = is_last ? plan.steps.size() : plan.controls[frame.next_control];
    if (frame.at < end) run_steps(frame, end);
    if (is_last) return true;
    ++frame.next_control;
    if (enter(frame, plan.steps[frame.at++])) return false;
  }
}

bool Runner::advance_streams(Frame& frame) {
  const std::vector<Action>& actions = (*frame.plan)->actions;
  while (frame.at < actions.size()) {
    const Action& action = actions[frame.at++];
    if (action.kind != Action::Kind::control) {
      give_action(frame.run, action, frame.streams.of_plan);
      continue;
    }
    frame.streams.of_plan[action.stream]->synchronize();
    if (frame.run->has_failed.load(std::memory_order_acquire)) break;
    if (enter(frame, (*frame.plan)->steps[action.first])) return false;
  }
  finish(*std::exchange(frame.run, nullptr), frame.streams.of_plan);
  return true;
}

void Runner::run_steps(Frame& frame, std::size_t end) {
  if (start_.spans != nullptr) return trace_steps(frame, end);
  const Step* step = (*frame.plan)->steps.data() + frame.at;
  const Step* const last = (*frame.plan)->steps.data() + end;
  try {
    for (; step != last; ++step) {
      if (is_cancelled()) [[unlikely]]
        break;
      step->operation->run();
    }
  } catch (...) {
    rethrow_of(step->operation->node());
  }
  if (step != last) refuse_cancelled(step->operation->node());
  frame.at = end;
}

void Runner::trace_steps(Frame& frame, std::size_t end) {
  for (; frame.at < end; ++frame.at) {
    const Step& step = (*frame.plan)->steps[frame.at];
    if (is_cancelled()) refuse_cancelled(step.operation->node());
    const std::int64_t begin = trace_clock();
    try {
      step.operation->run();
    } catch (...) {
      rethrow_of(step.operation->node());
    }
    add_span(frame, step.operation->node(), begin);
  }
}

/// Adds the span of a node of the frame, which ends now, to the trace.
void Runner::add_span(const Frame& frame, const NodeRecord& node, std::int64_t begin) {
  const GraphTrace::Span span{node.index, 0, begin, trace_clock()};
  if (frame.node != nullptr) {
    if (start_.inner != nullptr) start_.inner->push_back({frame.state->id, span, counters_});
    return;
  }
  const std::vector<std::uint32_t>& nodes = (*frame.plan)->nodes;
  start_.spans[std::ranges::lower_bound(nodes, node.index) - nodes.begin()] = span;
}

/// Begins the loop or the branch of a step of the frame. False if there is nothing to run.
bool Runner::enter(Frame& frame, const Step& step) {
  const NodeRecord& node = step.operation->node();
  const ControlWork& work = *control_of(node);
  if (is_cancelled()) refuse_cancelled(node);
  const std::int64_t begun = start_.spans != nullptr ? trace_clock() : 0;
  std::int64_t index = 0;
  if (!work.is_loop) {
    try {
      index = ask(*frame.state, work);
      if (index < 0 && work.must_run)
        refuse("no branch has the index " + std::to_string(index) +
               ", and nothing stands for its results");
      if (index >= static_cast<std::int64_t>(work.subs.size()))
        refuse("there is no branch " + std::to_string(index) + ", it has " +
               std::to_string(work.subs.size()));
    } catch (...) {
      const auto [status, what] = error_under_way();
      throw StatusError(status, inside(text_of(node), what));
    }
    if (index < 0) {
      move_pointers(*frame.state, work.others);
      set_result(frame, node, 0);
      return false;
    }
  }
  Graph::State& sub = *work.subs[static_cast<std::size_t>(index)].state;
  frames_.push_back({.state = &sub, .node = &node, .work = &work, .branch = index, .begun = begun});
  for (const Link& link : sub.prepared.variable_links) {
    const TensorRecord& outer = frame.state->tensors[link.outer];
    const TensorRecord& inner = sub.tensors[link.inner];
    if (inner.data == outer.data && inner.has_memory == outer.has_memory) continue;
    point_tensor(sub, link.inner, outer);
    sub.prepared.variables.is_stale = true;
  }
  if (work.is_loop) {
    for (const std::uint64_t clock : work.starts) root_.prepared.clocks->at(clock).now = 0;
    counters_.push_back(0);
    set_counters(counters_);
    move_pointers(sub, work.others);
    begin_iteration(frames_.back());
  } else {
    take_regions(sub, of_sub(work.takes, index));
    refresh(sub);
    begin_plan(frames_.back(), false);
  }
  return true;
}

void Runner::begin_plan(Frame& frame, bool is_rest) {
  const SubPlans& plans = frame.state->prepared.sub_plans;
  frame.is_asked = is_rest;
  if (start_.is_serial)
    frame.plan = is_rest ? &plans.serial_rest : &plans.serial_first;
  else
    frame.plan = is_rest ? &plans.rest : &plans.first;
  begin(frame);
}

void Runner::begin_iteration(Frame& frame) {
  frame.state->prepared.iteration = counters_.back();
  take_regions(*frame.state, of_sub(frame.work->takes, 0));
  refresh(*frame.state);
  if (frame.work->counter != kNone)
    *reinterpret_cast<std::int64_t*>(frame.state->tensors[frame.work->counter].data) =
        counters_.back();
  begin_plan(frame, false);
}

/// Makes the clocks go on that count what has run.
void Runner::count_on(const Frame& frame) {
  const auto branch = static_cast<std::size_t>(frame.branch);
  if (branch >= frame.work->counts.size()) return;
  for (const std::uint64_t clock : frame.work->counts[branch])
    ++root_.prepared.clocks->at(clock).now;
}

/// Goes on after a plan of the innermost sub-graph is done.
void Runner::finish_plan() {
  Frame& frame = frames_.back();
  const bool is_over = !frame.work->is_loop || frame.is_asked;
  if (is_over) move_pointers(*frame.state, of_sub(frame.work->moves, frame.branch));
  if (!frame.work->is_loop) {
    count_on(frame);
    return leave(frame.branch + 1);
  }
  if (frame.is_asked) {
    ++counters_.back();
    count_on(frame);
    return begin_iteration(frame);
  }
  if (is_cancelled()) refuse("cancelled", MOTE_FAILED);
  if (ask(*frame.state, *frame.work) == 0) return leave(counters_.back());
  if (counters_.back() >= frame.work->limit)
    refuse("its condition holds after " + std::to_string(counters_.back()) +
               " iterations, and its limit is " + std::to_string(frame.work->limit),
           MOTE_FAILED);
  begin_plan(frame, true);
}

void Runner::leave(std::int64_t result) {
  const NodeRecord& node = *frames_.back().node;
  const std::int64_t begun = frames_.back().begun;
  if (frames_.back().work->is_loop) {
    for (const std::uint64_t clock : frames_.back().work->starts) {
      Clock& ended = root_.prepared.clocks->at(clock);
      ended.at_end = ended.now;
    }
    counters_.pop_back();
    set_counters(counters_);
  }
  frames_.pop_back();
  set_result(frames_.back(), node, result);
  if (start_.spans != nullptr) add_span(frames_.back(), node, begun);
}

/// Points what is chosen by the node.
void Runner::set_result(Frame& frame, const NodeRecord& node, std::int64_t result) {
  frame.state->prepared.results[node.index] = result;
  refresh_results(*frame.state, node.index);
}

std::int64_t Runner::ask(const Graph::State& state, const ControlWork& work) {
  if (work.tensor != kNone) {
    const TensorRecord& record = state.tensors[work.tensor];
    const DType dtype = record.form->form.dtype;
    if (record.form->form.is_on_host()) return integer_at(dtype, record.data);
    const Tensor fetched(dtype, record.form->form.shape);
    mote::copy(state.tensor_at(work.tensor), fetched);
    return integer_at(dtype, fetched.data());
  }
  std::vector<Tensor>& reads = reads_.at(&work);
  for (std::size_t k = 0; k < reads.size(); ++k)
    if (reads[k].data() != state.tensors[work.reads[k]].data)
      reads[k] = state.tensor_at(work.reads[k]);
  return work.function(counters_, reads);
}

std::int64_t Runner::integer_at(DType dtype, const void* data) {
  return with_dtype(dtype, [&]<DType D>() -> std::int64_t {
    if constexpr (is_real(D))
      throw InternalError("graph: a decision has another dtype");
    else
      return load_from<D>(data);
  });
}

/// Rethrows the exception under way, with the loops and branches that it came from.
void Runner::rethrow_inside() {
  constexpr std::size_t kNamed = 8;
  std::string where;
  for (std::size_t k = 1; k < frames_.size(); ++k) {
    if (k > kNamed / 2 && k + kNamed / 2 < frames_.size()) {
      if (k == kNamed / 2 + 1) where += "…: ";
      continue;
    }
    where += (where.empty() || where.ends_with(": ") ? "" : ": ") + text_of(*frames_[k].node);
    const auto loops_before = static_cast<std::size_t>(
        std::count_if(frames_.begin() + 1, frames_.begin() + static_cast<std::ptrdiff_t>(k),
                      [](const Frame& frame) { return frame.work->is_loop; }));
    if (frames_[k].work->is_loop && loops_before < counters_.size())
      where += ", iteration " + std::to_string(counters_[loops_before]);
  }
  frames_.clear();
  const auto [status, what] = error_under_way();
  throw StatusError(status, where.empty() ? what : inside(where, what));
}

void Runner::abandon_all() noexcept {
  for (const Frame& frame : frames_)
    if (frame.run != nullptr) abandon(*frame.run, frame.streams.own);
}

}  // namespace graph
}  // namespace mote
