// SPDX-License-Identifier: Apache-2.0
// Makes the failures of a campaign: their sums, the smallest case, the exit code.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "isolate/isolation_state.h"
#include "judge/outcome.h"
#include "mote/base/error.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/isolation.h"
#include "mote/oracle/report.h"
#include "mote/oracle/shrink.h"

namespace mote {
namespace {

/// The maximum number of tries of slow cases: a hang takes its time limit, and left threads take
/// many calls.
constexpr int kTriesOfSlow = 40;
bool is_slow(Verdict verdict) {
  return verdict == Verdict::hung || verdict == Verdict::left_threads;
}
constexpr double kLimitOfHangs = 1;
/// The number of fresh processes to try: a race does not always fail.
constexpr int kFreshTries = 4;
constexpr const char* kOnlyAfter = "fails only after other calls in the same process";
/// The time to wait for a late write while its case becomes smaller.
constexpr double kLingerForLate = 0.2;

ShrinkLimits limits_for(Verdict verdict, std::optional<double> most_s) {
  ShrinkLimits limits;
  limits.seconds = most_s.value_or(limits.seconds);
  if (is_slow(verdict)) limits.tries = kTriesOfSlow;
  return limits;
}

using Hangs = Isolation::State::Hangs;

/// Looks for hangs with little patience, if they are looked for before their limit.
class Impatience {
 public:
  Impatience(const CaseRunOptions& options, Verdict verdict) {
    if (verdict != Verdict::hung || !options.isolation || options.limit_s) return;
    Hangs& hangs = options.isolation->state().hangs;
    if (hangs != Hangs::early) return;
    hangs_ = &hangs;
    hangs = Hangs::in_tries;
  }
  ~Impatience() {
    if (hangs_ != nullptr) *hangs_ = Hangs::early;
  }
  Impatience(const Impatience&) = delete;
  Impatience& operator=(const Impatience&) = delete;

 private:
  Hangs* hangs_ = nullptr;
};

bool finds_hangs_early(const CaseRunOptions& options) {
  return options.isolation && !options.limit_s && options.isolation->state().hangs == Hangs::early;
}

CaseRunOptions options_for_tries(CaseRunOptions options, Verdict verdict) {
  if (verdict == Verdict::hung)
    options.limit_s = std::min(options.limit_s.value_or(kLimitOfHangs), kLimitOfHangs);
  if (verdict == Verdict::late_access)
    options.linger_s = std::max(options.linger_s, kLingerForLate);
  return options;
}

/// Adds the diagnosis of the smallest case, and the case with as few elements as possible.
void explain(Failure& failure, Verdict verdict, const ShrinkLimits& limits,
             const std::optional<Case>& sparsest,
             const std::function<Outcome(const Case&)>& outcome_of) {
  if (failure.outcome.verdict != verdict) {
    failure.outcome.verdict = verdict;
    failure.outcome.reason = "not seen again when the smallest case was run once more";
  } else if (is_slow(verdict)) {  // too few runs for more than the verdict
    failure.diagnosis.kind = std::string(name(verdict));
    failure.diagnosis.text = failure.outcome.reason;
  } else if (limits.seconds > 0) {
    failure.diagnosis = diagnose(failure.smallest, failure.outcome, outcome_of, limits.seconds);
  }
  if (verdict != Verdict::failed || !sparsest) return;
  failure.sparsest_text = differences_text(outcome_of(*sparsest), 1);
  failure.sparsest = to_string(*sparsest);
}

}  // namespace

std::int64_t Row::failures() const {
  std::int64_t sum = 0;
  for (std::size_t v = 0; v < kVerdicts; ++v) {
    if (is_failure(static_cast<Verdict>(v))) sum += counts[v];
  }
  return sum;
}

std::int64_t Row::cases() const {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

double Row::error() const {
  double greatest = 0;
  for (const auto& [fill, error] : errors) greatest = std::max(greatest, error);
  return greatest;
}

namespace {

/// Runs a backend on the cases that are tried while a failure is made smaller.
class Tries {
 public:
  Tries(const BackendEntry& backend, Verdict verdict, const CaseRunOptions& given)
      : backend_(backend),
        verdict_(verdict),
        given_(given),
        options_(options_for_tries(given, verdict)) {}

  Outcome run(const Case& candidate) const {
    const Impatience impatience(given_, verdict_);
    return run_with(options_, candidate);
  }
  /// True if the failure is a hang that was found before its limit: it must be confirmed.
  bool is_early() const { return verdict_ == Verdict::hung && finds_hangs_early(given_); }
  /// Runs the case as the campaign does, where tries have less patience with hangs.
  Outcome run_patiently(const Case& candidate) const {
    return run_with(is_early() ? given_ : options_, candidate);
  }
  /// Runs the case in a fresh process.
  Outcome run_afresh(const Case& candidate) const {
    if (options_.isolation) options_.isolation->end_workers();
    return run_patiently(candidate);
  }
  bool fails(const Case& candidate) {
    try {
      Outcome outcome = run(candidate);
      if (outcome.verdict != verdict_) return false;
      last_failing_.emplace(candidate, std::move(outcome));
    } catch (const Error&) {  // it does not fit into memory, so it is no smaller case
      return false;
    } catch (const Interrupted&) {
      return false;
    }
    failing_.push_back(candidate);
    return true;
  }
  /// The outcome if the case fails again in one of a few fresh processes.
  std::optional<Outcome> failing_afresh(const Case& candidate) const {
    for (int k = 0; k < (is_slow(verdict_) ? 1 : kFreshTries); ++k) {
      try {
        Outcome outcome = run_afresh(candidate);
        if (outcome.verdict == verdict_) return outcome;
      } catch (const Error&) {  // it does not fit into memory
        return std::nullopt;
      }
    }
    return std::nullopt;
  }
  /// The cases that failed, the latest last.
  const std::vector<Case>& failing() const { return failing_; }
  const std::optional<std::pair<Case, Outcome>>& last_failing() const { return last_failing_; }

 private:
  Outcome run_with(const CaseRunOptions& options, const Case& candidate) const {
    if (options.stopping()) throw Interrupted();
    return Prepared(candidate, options).run(*backend_.backend, backend_.plugin);
  }

  const BackendEntry& backend_;
  Verdict verdict_;
  const CaseRunOptions& given_;
  CaseRunOptions options_;
  std::vector<Case> failing_;
  std::optional<std::pair<Case, Outcome>> last_failing_;
};

double seconds_spent(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Confirms that the smallest case fails in a fresh process, since an earlier call in a worker may
/// be the cause. Otherwise it takes the latest failing case that does, and shrinks it in fresh
/// processes only; if none does, only_after says so.
void confirm(Failure& failure, Shrunk& shrunk, Tries& tries, const ShrinkLimits& limits) {
  const auto begin = std::chrono::steady_clock::now();
  if (auto outcome = tries.failing_afresh(failure.smallest)) {
    failure.outcome = *std::move(outcome);
    return;
  }
  if (tries.is_early()) {  // the kernel may be slow, so that the cases before took long
    failure.only_after = kOnlyAfter;
    return;
  }
  std::vector<Case> before = {failure.first};
  before.insert(before.end(), tries.failing().begin(), tries.failing().end());
  for (; !before.empty(); before.pop_back()) {
    const bool is_last = before.size() == 1;
    if (!is_last && seconds_spent(begin) > limits.seconds) before.resize(1);
    auto outcome = tries.failing_afresh(before.back());
    if (!outcome) continue;
    failure.smallest = before.back();
    failure.outcome = *std::move(outcome);
    const auto fails = [&](const Case& candidate) {
      return tries.failing_afresh(candidate).has_value();
    };
    shrunk = shrink(failure.smallest, fails, limits);
    failure.smallest = shrunk.smallest;
    if (auto again = tries.failing_afresh(failure.smallest)) failure.outcome = *std::move(again);
    failure.tries += shrunk.tries;
    failure.not_smaller = shrunk.reason;
    return;
  }
  failure.outcome = tries.run_patiently(failure.smallest);
  failure.only_after = kOnlyAfter;
}

}  // namespace

Failure shrink_failure(const Case& c, const BackendEntry& backend, Verdict verdict,
                       const CaseRunOptions& options, std::optional<double> most_s) {
  Tries tries(backend, verdict, options);
  const auto fails = [&](const Case& candidate) { return tries.fails(candidate); };
  Failure failure;
  failure.first = c;
  failure.first.backend = backend.name();
  failure.first.plugin = backend.plugin;
  ShrinkLimits limits = limits_for(verdict, most_s);
  limits.stop = options.stop;
  Shrunk shrunk = shrink(failure.first, fails, limits);
  failure.smallest = shrunk.smallest;
  failure.tries = shrunk.tries;
  failure.not_smaller = shrunk.reason;
  try {
    if (options.isolation && limits.seconds > 0) {
      confirm(failure, shrunk, tries, limits);
    } else {
      failure.outcome = tries.run_patiently(failure.smallest);
    }
    const auto outcome_of = [&](const Case& candidate) { return tries.run(candidate); };
    explain(failure, verdict, limits, shrunk.sparsest, outcome_of);
  } catch (const Interrupted&) {  // returns what is known so far
    if (failure.outcome.verdict == verdict) return failure;
    const auto& seen = tries.last_failing();
    failure.smallest = seen ? seen->first : failure.first;
    failure.outcome = seen ? seen->second : outcome_of(verdict, "not run again");
  }
  return failure;
}

int exit_code(const CampaignResult& result, const std::vector<BackendEntry>& backends,
              bool each_must_judge) {
  if (backends.empty()) return 77;
  std::map<std::string, std::int64_t> judged;
  std::int64_t total = 0;
  const auto any = [&](const auto& is) { return std::ranges::any_of(result.rows, is); };
  const auto lost = [](const Row& r) {
    return r.count(Verdict::crashed) + r.count(Verdict::hung) > 0;
  };
  if (any(lost)) return 3;
  if (any([](const Row& r) { return r.failures() > 0; })) return 1;
  if (any([](const Row& r) { return r.declines_late(); })) return 4;
  for (const Row& row : result.rows) {
    judged[row.backend] += row.judged;
    total += row.judged;
  }
  const bool all =
      std::ranges::all_of(backends, [&](const BackendEntry& e) { return judged[e.name()] > 0; });
  return total == 0 || (each_must_judge && !all) ? 4 : 0;
}

}  // namespace mote
