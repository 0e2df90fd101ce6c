// SPDX-License-Identifier: Apache-2.0
// Runs a case in a worker: other contents first, then the case's at the same pointers, then the
// case's again at other pointers, over other poison, with the first pages closed. A kernel that
// remembers pointers, contents or memory is found this way.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "isolate/isolated_run.h"
#include "isolate/other_contents.h"
#include "isolate/processors.h"
#include "judge/outcome.h"
#include "mote/base/error.h"
#include "mote/base/kernel_call.h"
#include "run/scan.h"

namespace mote {
namespace {

using isolate::IsolatedRun;

constexpr std::int64_t kSubjectMemory = std::int64_t{1} << 30U;
constexpr int kStaleTrials = 4;
constexpr double kLastLook = 0.2;  ///< seconds
constexpr double kPatience = 3;    ///< seconds, if a fork may lack threads
constexpr double kSlower =
    3;  ///< the maximum ratio of the time in a fork to that in a relaunched program
constexpr const char* kLacksThreads =
    "no result in a fork of this program, which lacks its other threads; it cannot be looked at in "
    "a "
    "process without them (the option in_process runs it in this one)";

/// The maximum number of threads of thread pools, which may have twice as many as processors; more
/// are a leak.
int most_threads() { return 2 * static_cast<int>(processors()) + 8; }

/// True if the subject may have damaged its own process.
bool spoils_worker(Verdict v) {
  return v >= Verdict::out_of_bounds && v <= Verdict::late_access && v != Verdict::nondeterministic;
}

}  // namespace

bool Prepared::is_taken_in_worker(const mote_backend& backend) {
  IsolatedRun run(case_, options_, *state_, backend,
                  options_.isolation->state().location_of(backend), limits(), multiply_adds_);
  const mote_kernel* kernel = run.choose();
  if (kernel == nullptr) return run.why().verdict != Verdict::declined;
  return !is_declined(*kernel->contract);
}

Outcome Prepared::run_isolated(const mote_backend& backend) {
  Isolation::State& isolation = options_.isolation->state();
  if (isolation.may_lack_threads(backend)) return run_where_threads_are_missing(backend);
  IsolatedRun run(case_, options_, *state_, backend, isolation.location_of(backend), limits(),
                  multiply_adds_);
  return run_calls(run);
}

/// A fork of this program has its state, but not its threads: a kernel that waits for a thread of a
/// pool never returns. If there is no result soon, the case also runs in this program launched
/// again, which lacks the state that main() made, but no thread. A kernel is wrong if it is wrong
/// in both.
Outcome Prepared::run_where_threads_are_missing(const mote_backend& backend) {
  Isolation::State& isolation = options_.isolation->state();
  const auto run_at = [&](const Isolation::State::Location& location,
                          const isolate::Limits& within) {
    IsolatedRun run(case_, options_, *state_, backend, location, within, multiply_adds_);
    return run_calls(run);
  };
  const Isolation::State::Location here = isolation.location_of(backend);
  isolate::Limits soon = limits();
  soon.seconds = std::min(soon.seconds, kPatience);
  soon.warm_up_s = 0;
  if (Outcome outcome = run_at(here, soon); outcome.verdict != Verdict::hung) return outcome;
  Outcome elsewhere = outcome_of(Verdict::skipped, "");
  const auto location = isolation.location_elsewhere(backend);
  const auto begin = std::chrono::steady_clock::now();
  if (location) elsewhere = run_at(*location, limits());
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  const bool is_judged = elsewhere.verdict != Verdict::skipped;
  if (elsewhere.verdict == Verdict::hung) {
    isolation.settle(backend, false);
    return elsewhere;
  }
  const bool is_sure = is_judged && kSlower * taken.count() < soon.seconds;
  if (is_sure || (is_judged && !is_failure(elsewhere.verdict))) {
    isolation.settle(backend, true);
    return elsewhere;
  }
  Outcome outcome = run_at(here, limits());
  if (outcome.verdict == Verdict::hung && !is_judged)
    return outcome_of(Verdict::skipped, kLacksThreads);
  isolation.settle(backend, outcome.verdict == Verdict::hung);
  return outcome.verdict == Verdict::hung ? elsewhere : outcome;
}

isolate::Limits Prepared::limits() const {
  return {.seconds = options_.limit_s.value_or(time_limit(multiply_adds_)),
          .warm_up_s = options_.warm_up_s,
          .memory = options_.subject_memory.value_or(kSubjectMemory + 8 * memory_.needed),
          .stop = options_.stop};
}

Outcome Prepared::run_calls(IsolatedRun& run) {
  const mote_kernel* kernel = run.choose();
  if (kernel == nullptr) return run.why();
  fill_inputs();
  if (auto refused = refusal(*kernel->contract, run.workspace())) return *refused;
  run.place();
  Outcome outcome = run_in_worker(run, kernel->contract);
  if (spoils_worker(outcome.verdict) || run.has_failed()) run.restart();
  return outcome;
}

Outcome Prepared::run_in_worker(IsolatedRun& run, const mote_contract* contract) {
  const std::vector<Dense>& inputs = state_->inputs;
  std::vector<Dense> others = isolate::other_contents(
      case_, inputs, judgement_.radius,
      case_.indices | (contract != nullptr ? indices_of(*contract) : MOTE_INDICES_ANY));
  // A read that met memory of an earlier call, and does so in a fresh process too, in which there
  // was none, is one outside of the kernel's tensors, as with wrong strides.
  const auto of_own_access = [&](const Outcome& outcome, int site) {
    if (outcome.verdict != Verdict::stale || !run.affords_restarts()) return outcome;
    run.restart();
    const RunResult alone = run.run(inputs, Poison::first, site);
    if (!alone.ended || alone.ended->verdict != Verdict::stale) return outcome;
    return outcome_of(Verdict::out_of_bounds, "reads outside of its tensors, far from them");
  };
  const RunResult other = run.run(others, Poison::first, 0);
  if (auto nothing = without_result(other)) return of_own_access(*nothing, 0);
  const RunResult first = run.run(inputs, Poison::first, 0);
  if (auto nothing = without_result(first)) return of_own_access(*nothing, 0);
  const RunResult second = run.run(inputs, Poison::second, 1);
  if (second.ended) return of_own_access(*second.ended, 1);
  if (auto leak = leaked_threads(run)) return *leak;
  Outcome outcome = judged(first, second, contract);
  const bool differs =
      outcome.verdict == Verdict::failed || outcome.verdict == Verdict::nondeterministic;
  const auto remembers = [&] {
    return !same_values(first.outputs, second.outputs) ||
           (same_values(first.outputs, other.outputs) && asks_for_other_outputs(others));
  };
  if (differs && remembers() && is_stale(run, others, contract)) {
    outcome.verdict = Verdict::stale;
    outcome.reason =
        "right in a fresh process, wrong after a call with other contents at the same pointers";
  }
  return outcome;
}

/// True if the reference gives other outputs for these contents; if it does not (a sum of moved
/// elements), equal outputs do not show that the kernel remembers.
bool Prepared::asks_for_other_outputs(std::vector<Dense>& contents) const {
  std::vector<Dense> outputs;
  for (const CaseTensor& t : case_.outputs) outputs.emplace_back(t.dtype, volume(t.shape));
  try {
    state_->reference->run(case_, contents, outputs);
  } catch (const Error&) {
    return true;
  }
  return !same_values(outputs, state_->expected);
}

/// Tries several times, since a race may succeed once and fail later; it gives up after some cases
/// if a process takes long to start.
bool Prepared::is_stale(IsolatedRun& run, const std::vector<Dense>& others,
                        const mote_contract* contract) {
  if (!run.affords_restarts()) return false;
  for (int k = 0; k < kStaleTrials; ++k) {
    if (is_right_alone(run, contract) && !is_right_after(run, others, contract)) continue;
    run.note_restarts_in_vain();
    return false;
  }
  return true;
}

std::optional<Outcome> Prepared::leaked_threads(IsolatedRun& run) {
  while (run.leaves_threads() && run.threads() <= most_threads()) {
    const RunResult again = run.run(state_->inputs, Poison::first, 0);
    if (again.ended) return again.ended;
  }
  if (!run.leaves_threads()) return std::nullopt;
  run.set_linger(kLastLook);  // threads that are about to write do so
  if (const RunResult last = run.run(state_->inputs, Poison::first, 0); last.ended)
    return last.ended;
  return outcome_of(Verdict::left_threads,
                    fmt::format("every call leaves a thread behind, {} now", run.threads()));
}

bool Prepared::is_right_alone(IsolatedRun& run, const mote_contract* contract) {
  run.restart();
  const RunResult alone = run.run(state_->inputs, Poison::first, 0);
  // A kernel that reads gaps gives something else over the other poison.
  const RunResult again = run.run(state_->inputs, Poison::second, 0);
  return !without_result(alone) && !without_result(again) &&
         !is_failure(judged(alone, again, contract).verdict);
}

bool Prepared::is_right_after(IsolatedRun& run, const std::vector<Dense>& others,
                              const mote_contract* contract) {
  run.restart();
  run.run(others, Poison::first, 0);
  const RunResult after = run.run(state_->inputs, Poison::first, 0);
  const RunResult elsewhere = run.run(state_->inputs, Poison::second, 1);
  return !without_result(after) && !without_result(elsewhere) &&
         !is_failure(judged(after, elsewhere, contract).verdict);
}

}  // namespace mote
