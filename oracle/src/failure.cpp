// SPDX-License-Identifier: Apache-2.0
// Rows and failures of a campaign: their sums, the smallest case, the exit code.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "mote/base/error.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/report.h"
#include "mote/oracle/shrink.h"
#include "outcome.h"

namespace mote {
namespace {

/// Each try of a case that hangs takes its time limit, each of one that leaves threads many calls.
constexpr int kTriesOfSlow = 40;
bool is_slow(Verdict verdict) {
  return verdict == Verdict::hung || verdict == Verdict::left_threads;
}
constexpr double kLimitOfHangs = 1;
/// So long a write that comes late is waited for while its case becomes smaller.
constexpr double kLingerForLate = 0.2;

ShrinkLimits limits_for(Verdict verdict, std::optional<double> most_s) {
  ShrinkLimits limits;
  limits.seconds = most_s.value_or(limits.seconds);
  if (is_slow(verdict)) limits.tries = kTriesOfSlow;
  return limits;
}

CaseRunOptions options_for_tries(CaseRunOptions options, Verdict verdict) {
  if (verdict == Verdict::hung)
    options.limit_s = std::min(options.limit_s.value_or(kLimitOfHangs), kLimitOfHangs);
  if (verdict == Verdict::late_access)
    options.linger_s = std::max(options.linger_s, kLingerForLate);
  return options;
}

/// The outcome of the smallest case, its diagnosis, and the case with as few elements as possible.
void explain(Failure& failure, Verdict verdict, const ShrinkLimits& limits,
             const std::optional<Case>& sparsest,
             const std::function<Outcome(const Case&)>& outcome_of) {
  failure.outcome = outcome_of(failure.smallest);
  if (failure.outcome.verdict != verdict) {
    failure.outcome.verdict = verdict;
    failure.outcome.reason = "not seen again when the smallest case was run once more";
  } else if (is_slow(verdict)) {  // too few runs for more than what the verdict says
    failure.diagnosis.kind = std::string(name(verdict));
    failure.diagnosis.text = failure.outcome.reason;
  } else if (limits.seconds > 0) {
    failure.diagnosis = diagnose(failure.smallest, failure.outcome, outcome_of);
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

Failure shrink_failure(const Case& c, const BackendEntry& backend, Verdict verdict,
                       const CaseRunOptions& options, std::optional<double> most_s) {
  const CaseRunOptions trying = options_for_tries(options, verdict);
  const auto outcome_of = [&](const Case& candidate) {
    if (trying.stopping()) throw Interrupted();
    return Prepared(candidate, trying).run(*backend.backend, backend.plugin);
  };
  std::optional<std::pair<Case, Outcome>> seen;  // the last that failed
  const auto fails = [&](const Case& candidate) {
    try {
      Outcome outcome = outcome_of(candidate);
      if (outcome.verdict != verdict) return false;
      seen.emplace(candidate, std::move(outcome));
      return true;
    } catch (const Error&) {  // does not fit into memory: no smaller case
      return false;
    } catch (const Interrupted&) {
      return false;
    }
  };
  Failure failure;
  failure.first = c;
  failure.first.backend = backend.name();
  failure.first.plugin = backend.plugin;
  ShrinkLimits limits = limits_for(verdict, most_s);
  limits.stop = options.stop;
  const Shrunk shrunk = shrink(failure.first, fails, limits);
  failure.smallest = shrunk.smallest;
  failure.tries = shrunk.tries;
  failure.not_smaller = shrunk.reason;
  try {
    explain(failure, verdict, limits, shrunk.sparsest, outcome_of);
  } catch (const Interrupted&) {  // what is known by then
    if (failure.outcome.verdict == verdict) return failure;
    failure.smallest = seen ? seen->first : failure.first;
    failure.outcome = seen ? seen->second : mote::outcome_of(verdict, "not run again");
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
  for (const Row& row : result.rows) {
    judged[row.backend] += row.judged;
    total += row.judged;
  }
  const bool all =
      std::ranges::all_of(backends, [&](const BackendEntry& e) { return judged[e.name()] > 0; });
  return total == 0 || (each_must_judge && !all) ? 4 : 0;
}

}  // namespace mote
