// SPDX-License-Identifier: Apache-2.0
// Runs on streams: which runs wait for which, and what the caller's stream is given.
#include <algorithm>
#include <exception>
#include <string>

#include "control/runner.h"
#include "run/give.h"
#include "state.h"

namespace mote::graph {

namespace {

/// Forgets the runs that are over, and the errors that these left in the graph's own streams.
void forget_what_is_over(Graph::State& state, const std::vector<Stream*>& streams) {
  std::vector<GivenRun>& given = state.prepared.given;
  std::vector<Stream*> idle;
  std::erase_if(given, [&](const GivenRun& g) {
    if (!g.end.is_over()) return false;
    idle.insert(idle.end(), g.own.begin(), g.own.end());
    return true;
  });
  for (Stream* stream : idle) {
    const auto uses_it = [&](const GivenRun& g) {
      return std::ranges::find(g.own, stream) != g.own.end();
    };
    if (std::ranges::find(streams, stream) == streams.end() || std::ranges::any_of(given, uses_it))
      continue;
    try {
      stream->synchronize();
    } catch (const StatusError&) {  // NOLINT(bugprone-empty-catch): that run's caller has it
    }
  }
}

bool need_order(Graph::State& state, const GivenRun& given, std::uint32_t part, const Plan& plan) {
  if (given.part == part) return true;
  const std::pair<std::uint32_t, std::uint32_t> key = std::minmax(given.part, part);
  const auto known = state.prepared.related.find(key);
  if (known != state.prepared.related.end()) return known->second;
  // Memory may have been planned by a given schedule: then all of its order counts.
  const bool answer =
      state.prepared.has_given_schedule || are_related(state, given.run->plan->nodes, plan.nodes);
  return state.prepared.related[key] = answer;
}

void wait_quietly(const Event& event) noexcept {
  try {
    event.synchronize();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the stream that was given the run has the error
  }
}

/// Gives the run to the streams, between earlier and later work of the caller's.
void give_between(const std::shared_ptr<RunState>& run, const RunStreams& streams, Stream& caller) {
  const Event start;
  caller.record(start);
  for (Stream* stream : streams.of_plan)
    if (stream != &caller) stream->wait(start);
  give_actions(run, streams.of_plan);
  bool is_joined = false;
  for (Stream* stream : streams.of_plan) {
    if (stream == &caller) continue;
    const bool by_host = streams.joint != nullptr && stream->device();
    const Event end;
    stream->record(end);
    (by_host ? *streams.joint : caller).wait(end);
    is_joined = is_joined || by_host;
  }
  if (!is_joined) return;
  const Event end;
  streams.joint->record(end);
  caller.wait(end);
}

bool has_host_work(const RunStreams& streams) {
  return std::ranges::any_of(streams.of_plan, [](const Stream* s) { return !s->device(); });
}

}  // namespace

bool wait_for_given(Graph::State& state) noexcept {
  bool all_over = true;
  for (const GivenRun& given : state.prepared.given) {
    wait_quietly(given.end);
    all_over = all_over && given.end.is_over();
  }
  if (all_over) state.replaced.clear();
  try {
    forget_what_is_over(state, {});
  } catch (...) {  // NOLINT(bugprone-empty-catch): they are forgotten later
  }
  return all_over;
}

void wait_to_change(Graph::State& state, const char* op) {
  if (!wait_for_given(state))
    refuse(std::string(op) + ": a run is under way, and the work of a stream must not wait for it");
}

void run_and_wait(Graph::State& state, std::uint32_t part) {
  const std::shared_ptr<Plan>& ready = ready_plan(state, part);
  if (part == 0) state.ran_with = state.binding;
  for (const GivenRun& given : state.prepared.given)
    if (need_order(state, given, part, *ready)) wait_quietly(given.end);
  if (ready->is_loop) [[likely]]
    return run_loop(state, ready);
  Event().synchronize();  // throws in the work of a stream, which must not wait
  if (state.prepared.runner != nullptr) {
    forget_what_is_over(state, {});
    return run_controls(state, ready);
  }
  const RunStreams streams = streams_for(state, *ready, nullptr);
  forget_what_is_over(state, streams.own);
  const std::shared_ptr<RunState> run = begin_run(state, ready);
  try {
    give_actions(run, streams.of_plan);
  } catch (...) {
    abandon(*run, streams.own);
    throw;
  }
  finish(*run, streams.of_plan);
}

void give_run(Graph::State& state, std::uint32_t part, Stream& caller) {
  std::shared_ptr<Plan> plan = ready_plan(state, part);
  if (part == 0) state.ran_with = state.binding;
  const bool has_controls = state.prepared.runner != nullptr;
  if (has_controls && !plan->is_loop) plan = serial_plan(*plan);
  RunStreams streams;
  if (!plan->is_loop) streams = streams_for(state, *plan, &caller);
  forget_what_is_over(state, streams.own);
  for (const GivenRun& given : state.prepared.given)
    if (need_order(state, given, part, *plan)) caller.wait(given.end);
  const std::shared_ptr<RunState> run = begin_run(state, plan);
  GivenRun given{.part = part, .run = run, .end = Event(), .own = streams.own};
  state.prepared.given.reserve(state.prepared.given.size() + 1);
  try {
    if (has_controls) {
      caller.enqueue([run, plan, runner = std::make_shared<Runner>(state)] {
        runner->run(plan, {.number = run->number, .is_serial = true, .spans = run->spans});
      });
    } else if (plan->is_loop) {
      const auto count = static_cast<std::uint32_t>(plan->steps.size());
      caller.enqueue([run, count] {
        run_steps(*run, 0, count);
        run->throw_error();
      });
    } else {
      give_between(run, streams, caller);
      if (has_host_work(streams) || run->has_failed) caller.enqueue([run] { run->throw_error(); });
    }
    caller.record(given.end);
  } catch (...) {
    abandon(*run, streams.own, &caller);
    throw;
  }
  state.prepared.given.push_back(std::move(given));
}

}  // namespace mote::graph
