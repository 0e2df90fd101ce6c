// SPDX-License-Identifier: Apache-2.0
// Gives the nodes of a plan to streams. Work of the graph on the host keeps its error in the
// RunState and throws nothing, so that the graph's own streams stay usable; the caller gets the
// error at the end.
#include "run/give.h"

#include <algorithm>
#include <exception>
#include <string>

#include "control/counters.h"

namespace mote::graph {
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

}  // namespace

void run_steps(RunState& run, std::uint32_t first, std::uint32_t last) noexcept {
  const LoopScope counters(run.counters, run.owner);
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

namespace {

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

}  // namespace

void give_action(const std::shared_ptr<RunState>& run, const Action& a,
                 const std::vector<Stream*>& streams) {
  Stream& stream = *streams[a.stream];
  const auto event = [&] { return run->plan->events[a.event]; };
  switch (a.kind) {
    case Action::Kind::wait:
      return stream.wait(event());
    case Action::Kind::record:
      return stream.record(event());
    case Action::Kind::run:
      return give_steps(run, a, stream);
    case Action::Kind::control:
      throw InternalError("graph: a loop or branch is given to a stream");
  }
}

void give_actions(const std::shared_ptr<RunState>& run, const std::vector<Stream*>& streams) {
  for (const Action& a : run->plan->actions) give_action(run, a, streams);
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
  if (run->plan->has_functions) run->owner = run->own.emplace().number();
  run->number = ++p.runs;
  p.runs_begun.store(run->number, std::memory_order_relaxed);
  return run;
}

namespace {

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

}  // namespace

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

void abandon(RunState& run, const std::vector<Stream*>& own, Stream* caller) noexcept {
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

namespace {

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

}  // namespace

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

}  // namespace mote::graph
