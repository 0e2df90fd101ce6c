// SPDX-License-Identifier: Apache-2.0
// Finds diagnoses that need no hypothesis, only runs of the same case.
#include "diagnosis/found.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "isolate/processors.h"

namespace mote::diagnosis {
namespace {

constexpr int kRepetitions = 8;
constexpr double kNearly = 0x1p-6;  ///< the maximum error, as a share of the value

/// Finds whether runs with the same inputs and the same memory differ.
Found why_runs_differ(const Case& c, const Outcome& outcome,
                      const std::function<Outcome(const Case&)>& judge) {
  int different = 0;
  for (int k = 0; k < kRepetitions; ++k) {
    const Outcome again = judge(c);
    const bool same_as_before =
        again.differences.size() == outcome.differences.size() &&
        std::equal(again.differences.begin(), again.differences.end(), outcome.differences.begin(),
                   [](const Difference& a, const Difference& b) {
                     return a.index == b.index && same(a.got, b.got);
                   });
    if (!same_as_before) ++different;
  }
  const bool one = processors() == 1;
  if (different > 0)
    return {"race", fmt::format("{} of {} repetitions with the same memory gave other values{}",
                                different, kRepetitions, one ? ", on one processor" : "")};
  return {"surviving poison",
          fmt::format("it depends on what outputs, gaps or workspace held before: {} repetitions "
                      "with the same memory agree{}",
                      kRepetitions, one ? ", on one processor, where a race seldom shows" : "")};
}

}  // namespace

std::optional<Found> by_chance(const Case& c, const Outcome& outcome,
                               const std::function<Outcome(const Case&)>& judge) {
  if (outcome.verdict != Verdict::failed || outcome.differences.empty()) return std::nullopt;
  Found found = why_runs_differ(c, outcome, judge);
  if (found.kind != "race") return std::nullopt;
  return found;
}

namespace {

/// The greatest error as a share of the expected value; nullopt if a number is not finite.
std::optional<double> greatest_distance(const Outcome& outcome) {
  double greatest = 0;
  for (const Difference& d : outcome.differences) {
    const double expected = d.expected.as_real(), got = d.got.as_real();
    const double share = std::abs(got - expected) / std::abs(expected);
    if (!std::isfinite(share)) return std::nullopt;
    greatest = std::max(greatest, share);
  }
  return greatest;
}

}  // namespace

std::optional<Found> by_distance(const std::vector<Observed>& cases) {
  double greatest = 0;
  for (const Observed& o : cases) {
    const auto share = greatest_distance(o.outcome);
    if (!share || *share > kNearly) return std::nullopt;
    greatest = std::max(greatest, *share);
  }
  if (cases.empty() || greatest == 0) return std::nullopt;
  return Found{
      "inaccurate",
      fmt::format("no element is farther from what it should be than {:.1e} of that, in {} "
                  "failing case{}",
                  greatest, cases.size(), cases.size() == 1 ? "" : "s")};
}

std::optional<Found> by_verdict(const Case& c, const Outcome& outcome,
                                const std::function<Outcome(const Case&)>& judge) {
  switch (outcome.verdict) {
    case Verdict::unwritten:
      return Found{"surviving poison", "elements keep what the output held before the call"};
    case Verdict::out_of_bounds:
    case Verdict::wrote_gap:
    case Verdict::changed_input:
      return Found{"out of range", ""};
    case Verdict::stale:
      return Found{"stale value", ""};
    case Verdict::late_access:
      return Found{"race", ""};
    case Verdict::nondeterministic:
      return why_runs_differ(c, outcome, judge);
    case Verdict::crashed:
    case Verdict::hung:
    case Verdict::changed_mode:
    case Verdict::left_threads:
    case Verdict::too_much_memory:
      return Found{std::string(name(outcome.verdict)), ""};
    default:
      return std::nullopt;
  }
}

}  // namespace mote::diagnosis
