// SPDX-License-Identifier: Apache-2.0
// Runs on streams. Work of the graph on the host keeps its error in the RunState and throws
// nothing, so that the graph's own streams stay usable; the caller gets the error at the end.
#include <algorithm>
#include <exception>
#include <string>

#include "state.h"

namespace mote::graph {

void run_loop(Graph::State& state, const Plan& plan);

namespace {

/// Runs steps of a plan in a stream's work.
void run_steps(RunState& run, std::uint32_t first, std::uint32_t last) noexcept {
  for (std::uint32_t k = first; k < last; ++k) {
    if (run.has_failed.load(std::memory_order_relaxed)) return;
    const Step& step = run.plan->steps[k];
    const NodeRecord& node = step.operation->node();
    try {
      if (run.is_cancelled()) refuse_cancelled(node);
      const std::int64_t begin = run.spans != nullptr ? trace_clock() : 0;
      try {
        step.operation->run();
      } catch (...) {
        rethrow_of(node);
      }
      if (run.spans != nullptr)
        run.spans[step.local] = {node.index, run.plan->schedule.stream[step.local], begin,
                                 trace_clock()};
    } catch (...) {
      return run.fail();
    }
  }
}

void give_steps(const std::shared_ptr<RunState>& run, const Action& a, Stream& stream) {
  const auto give_own = [&](std::uint32_t first, std::uint32_t last) {
    stream.enqueue([run, first, last] { run_steps(*run, first, last); });
  };
  const Plan& plan = *run->plan;
  if (!plan.devices[a.stream] || run->spans != nullptr) return give_own(a.first, a.last);
  for (std::uint32_t k = a.first; k < a.last; ++k) {
    if (plan.steps[k].operation->is_given_to_device())
      plan.steps[k].operation->give(stream);
    else
      give_own(k, k + 1);
  }
}

void give_actions(const std::shared_ptr<RunState>& run, const std::vector<Stream*>& streams) {
  for (const Action& a : run->plan->actions) {
    Stream& stream = *streams[a.stream];
    const auto event = [&] { return run->plan->events[a.event]; };
    switch (a.kind) {
      case Action::Kind::wait:
        stream.wait(event());
        break;
      case Action::Kind::record:
        stream.record(event());
        break;
      case Action::Kind::run:
        give_steps(run, a, stream);
        break;
    }
  }
}

std::shared_ptr<RunState> begin_run(Graph::State& state, std::shared_ptr<const Plan> plan) {
  PreparedGraph& p = state.prepared;
  auto run = std::make_shared<RunState>();
  run->plan = std::move(plan);
  run->operations = p.operations;
  run->cancelled_up_to = &p.cancelled_up_to;
  if (state.trace != nullptr) {
    state.trace->runs.emplace_back().spans.resize(run->plan->nodes.size());
    run->spans = state.trace->runs.back().spans.data();
  }
  run->number = ++p.runs;
  p.runs_begun.store(run->number, std::memory_order_relaxed);
  return run;
}

/// Returns the graph's own stream of that number on the device.
Stream* own_stream(Graph::State& state, const std::optional<Device>& device, std::size_t number) {
  if (state.options.context == nullptr)
    refuse("run: several streams, or a device, need a context in its options");
  PreparedGraph& p = state.prepared;
  if (p.streams_of != state.options.context) {
    p.own_streams.clear();
    p.streams_of = state.options.context;
  }
  const std::pair<int, int> key =
      device ? std::pair<int, int>(device->dl().device_type, device->dl().device_id)
             : std::pair<int, int>(kDLCPU, 0);
  std::vector<std::unique_ptr<Stream>>& of_device = p.own_streams[key];
  while (of_device.size() <= number)
    of_device.push_back(device ? std::make_unique<Stream>(*p.streams_of, *device)
                               : std::make_unique<Stream>(*p.streams_of));
  return of_device[number].get();
}

/// Returns a stream for each of the plan's: the graph's own, and the caller's for the first on its
/// device.
std::vector<Stream*> streams_for(Graph::State& state, const Plan& plan, Stream* caller) {
  std::vector<Stream*> streams;
  std::map<std::pair<int, int>, std::size_t> used;
  const std::optional<Device> of_caller = caller != nullptr ? caller->device() : std::nullopt;
  bool is_taken = caller == nullptr;
  for (const std::optional<Device>& device : plan.devices) {
    if (!is_taken && device == of_caller) {
      streams.push_back(caller);
      is_taken = true;
      continue;
    }
    const std::pair<int, int> key =
        device ? std::pair<int, int>(device->dl().device_type, device->dl().device_id)
               : std::pair<int, int>(kDLCPU, 0);
    streams.push_back(own_stream(state, device, used[key]++));
  }
  return streams;
}

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

/// Waits for streams after not all of a run could be given to them.
void abandon(RunState& run, const std::vector<Stream*>& streams, const Stream* caller) noexcept {
  run.fail();
  for (Stream* stream : streams) {
    if (stream == caller) continue;
    try {
      stream->synchronize();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the caller gets the first error
    }
  }
}

/// Waits for all streams and throws the run's error: that of a node, or else that of a device.
void finish(RunState& run, const std::vector<Stream*>& streams) {
  std::exception_ptr other;
  for (Stream* stream : streams) {
    try {
      stream->synchronize();
    } catch (...) {
      if (!other) other = std::current_exception();
    }
  }
  run.throw_error();
  if (!other) return;
  try {
    std::rethrow_exception(other);
  } catch (const StatusError& e) {
    refuse(e.what(), e.status());
  }
}

/// Gives the run to the streams, between earlier and later work of the caller's.
void give_between(const std::shared_ptr<RunState>& run, const std::vector<Stream*>& streams,
                  Stream& caller) {
  const Event start;
  caller.record(start);
  for (Stream* stream : streams)
    if (stream != &caller) stream->wait(start);
  give_actions(run, streams);
  for (Stream* stream : streams) {
    if (stream == &caller) continue;
    const Event end;
    stream->record(end);
    caller.wait(end);
  }
}

bool has_host_work(const RunState& run) {
  return run.spans != nullptr || std::ranges::any_of(run.plan->steps, [](const Step& step) {
           return !step.operation->is_given_to_device();
         });
}

}  // namespace

void wait_for_given(Graph::State& state) noexcept {
  for (const GivenRun& given : state.prepared.given) wait_quietly(given.end);
  try {
    forget_what_is_over(state, {});
  } catch (...) {  // NOLINT(bugprone-empty-catch): they are forgotten later
  }
}

void run_and_wait(Graph::State& state, std::uint32_t part) {
  const std::shared_ptr<Plan>& ready = ready_plan(state, part);
  for (const GivenRun& given : state.prepared.given)
    if (need_order(state, given, part, *ready)) wait_quietly(given.end);
  if (ready->is_loop) [[likely]]
    return run_loop(state, *ready);
  Event().synchronize();  // throws in the work of a stream, which must not wait
  const std::vector<Stream*> streams = streams_for(state, *ready, nullptr);
  forget_what_is_over(state, streams);
  const std::shared_ptr<RunState> run = begin_run(state, ready);
  try {
    give_actions(run, streams);
  } catch (...) {
    abandon(*run, streams, nullptr);
    throw;
  }
  finish(*run, streams);
}

void give_run(Graph::State& state, std::uint32_t part, Stream& caller) {
  const std::shared_ptr<Plan> plan = ready_plan(state, part);
  std::vector<Stream*> streams;
  if (!plan->is_loop) streams = streams_for(state, *plan, &caller);
  forget_what_is_over(state, streams);
  for (const GivenRun& given : state.prepared.given)
    if (need_order(state, given, part, *plan)) caller.wait(given.end);
  const std::shared_ptr<RunState> run = begin_run(state, plan);
  GivenRun given{.part = part, .run = run, .end = Event(), .own = streams};
  std::erase(given.own, &caller);
  state.prepared.given.reserve(state.prepared.given.size() + 1);
  try {
    if (plan->is_loop) {
      const auto count = static_cast<std::uint32_t>(plan->steps.size());
      caller.enqueue([run, count] {
        run_steps(*run, 0, count);
        run->throw_error();
      });
    } else {
      give_between(run, streams, caller);
      if (has_host_work(*run)) caller.enqueue([run] { run->throw_error(); });
    }
    caller.record(given.end);
  } catch (...) {
    abandon(*run, streams, &caller);
    throw;
  }
  state.prepared.given.push_back(std::move(given));
}

}  // namespace mote::graph
