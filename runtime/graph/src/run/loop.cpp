// SPDX-License-Identifier: Apache-2.0
// A run in the caller's thread: a loop over the nodes of one stream on the host.
#include <chrono>
#include <new>

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
  const auto say = [&](mote_status status, const char* what) {
    refuse(text_of(node) + ": " + what, status);
  };
  try {
    throw;
  } catch (const StatusError& e) {
    say(e.status(), e.what());
  } catch (const std::bad_alloc&) {
    say(MOTE_OUT_OF_MEMORY, "there is no memory");
  } catch (const std::exception& e) {
    say(MOTE_FAILED, e.what());
  } catch (...) {
    say(MOTE_FAILED, "it threw what is no std::exception");
  }
  throw InternalError("graph: an error was lost");
}

void refuse_cancelled(const NodeRecord& node) {
  refuse("cancelled before " + text_of(node), MOTE_FAILED);
}

std::int64_t trace_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void run_loop(Graph::State& state, const Plan& plan) {
  PreparedGraph& p = state.prepared;
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

}  // namespace mote::graph
