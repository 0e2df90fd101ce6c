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

/// False if the run has failed or is cancelled, which is its error then.
bool may_begin(RunState& run, const Step& step) noexcept {
  if (run.has_failed.load(std::memory_order_relaxed)) return false;
  if (!run.is_cancelled()) [[likely]]
    return true;
  try {
    refuse_cancelled(step.operation->node());
  } catch (...) {
    run.fail();
  }
  return false;
}

/// Runs steps of a plan in a stream's work.
void run_steps(RunState& run, std::uint32_t first, std::uint32_t last) noexcept {
  for (std::uint32_t k = first; k < last; ++k) {
    const Step& step = run.plan->steps[k];
    if (!may_begin(run, step)) return;
    const NodeRecord& node = step.operation->node();
    try {
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
  if (stream.device()) {
    for (std::uint32_t k = a.first; k < a.last; ++k) {
      if (!may_begin(*run, run->plan->steps[k])) return;
      run->plan->steps[k].operation->give(stream);
    }
    return;
  }
  stream.enqueue([run, first = a.first, last = a.last] { run_steps(*run, first, last); });
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

std::pair<int, int> key_of(const std::optional<Device>& device) {
  if (!device) return {kDLCPU, 0};
  return {device->dl().device_type, device->dl().device_id};
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

/// The streams of one run.
struct RunStreams {
  std::vector<Stream*> of_plan;  ///< one for each of the plan's: the graph's own, or the caller's
  std::vector<Stream*> own;      ///< the graph's own among them, and `joint`
  /// A stream on the host that waits for a device's streams, if the caller's is on a device too:
  /// only the host learns of the errors there.
  Stream* joint = nullptr;
};

/// Chooses streams. The caller's is taken for the first of the plan's on its device. While the
/// graph is traced, nodes on a device run in streams of the host, which wait for each.
RunStreams streams_for(Graph::State& state, const Plan& plan, Stream* caller) {
  RunStreams streams;
  std::map<std::pair<int, int>, std::size_t> used;
  const std::optional<Device> of_caller = caller != nullptr ? caller->device() : std::nullopt;
  bool is_taken = caller == nullptr;
  bool has_device = false;
  for (const std::optional<Device>& wanted : plan.devices) {
    const std::optional<Device> device = state.trace != nullptr ? std::nullopt : wanted;
    if (!is_taken && device == of_caller) {
      streams.of_plan.push_back(caller);
      is_taken = true;
      continue;
    }
    streams.own.push_back(own_stream(state, device, used[key_of(device)]++));
    streams.of_plan.push_back(streams.own.back());
    has_device = has_device || device;
  }
  if (!has_device || !of_caller) return streams;
  streams.joint = own_stream(state, std::nullopt, used[key_of(std::nullopt)]);
  streams.own.push_back(streams.joint);
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
void abandon(RunState& run, const std::vector<Stream*>& own, Stream* caller = nullptr) noexcept {
  run.fail();
  for (std::size_t k = 0; k <= own.size(); ++k) {
    Stream* const stream = k < own.size() ? own[k] : caller;
    if (stream == nullptr) continue;
    try {
      stream->synchronize();
    } catch (...) {  // NOLINT(bugprone-empty-catch): the caller gets the first error
    }
  }
}

/// Throws an error of a stream, which knows the failing operation at best by its op, with the first
/// and the last node of that stream.
[[noreturn]] void refuse_on_stream(const Plan& plan, std::size_t stream, const StatusError& error) {
  const auto is_there = [&](const Step& step) {
    return plan.schedule.stream[step.local] == stream;
  };
  const auto first = std::ranges::find_if(plan.steps, is_there);
  const auto last = std::find_if_not(first, plan.steps.end(), is_there) - 1;
  std::string nodes = text_of(first->operation->node());
  if (first != last) nodes += " to " + text_of(last->operation->node());
  refuse("on the stream of " + nodes + ": " + error.what(), error.status());
}

/// Waits for all streams and throws the run's error: that of a node, or else that of a device.
void finish(RunState& run, const std::vector<Stream*>& streams) {
  std::exception_ptr error;
  std::size_t of = 0;
  for (std::size_t k = 0; k < streams.size(); ++k) {
    try {
      streams[k]->synchronize();
    } catch (...) {
      if (!error) of = k;
      if (!error) error = std::current_exception();
    }
  }
  run.throw_error();
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const StatusError& e) {
    refuse_on_stream(*run.plan, of, e);
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
  for (const GivenRun& given : state.prepared.given)
    if (need_order(state, given, part, *ready)) wait_quietly(given.end);
  if (ready->is_loop) [[likely]]
    return run_loop(state, *ready);
  Event().synchronize();  // throws in the work of a stream, which must not wait
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
  const std::shared_ptr<Plan> plan = ready_plan(state, part);
  RunStreams streams;
  if (!plan->is_loop) streams = streams_for(state, *plan, &caller);
  forget_what_is_over(state, streams.own);
  for (const GivenRun& given : state.prepared.given)
    if (need_order(state, given, part, *plan)) caller.wait(given.end);
  const std::shared_ptr<RunState> run = begin_run(state, plan);
  GivenRun given{.part = part, .run = run, .end = Event(), .own = streams.own};
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
