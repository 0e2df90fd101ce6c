// SPDX-License-Identifier: Apache-2.0
// A run in the caller's thread: a loop over the nodes of one stream on the host.
#include <chrono>
#include <optional>
#include <utility>

#include "control/runner.h"
#include "mote/runtime/error_under_way.h"
#include "state.h"

namespace mote::graph {
namespace {

/// Runs the steps one after the other, each through run(step).
template <typename Run>
void loop(const Plan& plan, std::uint64_t number, const std::atomic<std::uint64_t>& cancelled,
          const Run& run) {
  const Step* step = plan.steps.data();
  const Step* const end = step + plan.steps.size();
  try {
    for (; step != end; ++step) {
      if (cancelled.load(std::memory_order_relaxed) >= number) [[unlikely]]
        break;
      run(*step);
    }
  } catch (...) {
    rethrow_of(step->operation->node());
  }
  if (step != end) refuse_cancelled(step->operation->node());
}

}  // namespace

void rethrow_of(const NodeRecord& node) {
  const auto [status, what] = error_under_way();
  refuse(text_of(node) + ": " + what, status);
}

void refuse_cancelled(const NodeRecord& node) {
  refuse("cancelled before " + text_of(node), MOTE_FAILED);
}

std::int64_t trace_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void run_loop(Graph::State& state, const std::shared_ptr<Plan>& of) {
  PreparedGraph& p = state.prepared;
  if (p.runner != nullptr) [[unlikely]]
    return run_controls(state, of);
  const Plan& plan = *of;
  std::optional<LoopOwner> owner;
  std::optional<LoopScope> scope;
  if (plan.has_functions) scope.emplace(LoopCounters(), owner.emplace().number());
  const std::uint64_t number = ++p.runs;
  p.runs_begun.store(number, std::memory_order_relaxed);
  if (state.trace == nullptr) [[likely]]
    return loop(plan, number, p.cancelled_up_to, [](const Step& step) { step.operation->run(); });
  state.trace->runs.emplace_back().spans.resize(plan.nodes.size());
  GraphTrace::Span* const spans = state.trace->runs.back().spans.data();
  loop(plan, number, p.cancelled_up_to, [&](const Step& step) {
    GraphTrace::Span& span = spans[step.local];
    span.node = plan.nodes[step.local];
    span.begin = trace_clock();
    step.operation->run();
    span.end = trace_clock();
  });
}

void run_controls(Graph::State& state, const std::shared_ptr<Plan>& plan) {
  PreparedGraph& p = state.prepared;
  Runner::Start start{.number = ++p.runs};
  p.runs_begun.store(start.number, std::memory_order_relaxed);
  if (state.trace == nullptr) return p.runner->run(plan, start);
  GraphTrace::Run& traced = state.trace->runs.emplace_back();
  traced.spans.resize(plan->nodes.size());
  start.spans = traced.spans.data();
  start.inner = &traced.inner;
  start.is_serial = true;
  p.runner->run(plan->is_loop ? plan : serial_plan(*plan), start);
}

}  // namespace mote::graph
