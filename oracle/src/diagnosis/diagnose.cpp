// Verdicts that say what it is, else hypotheses against several failing cases.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/hypotheses.h"
#include "diagnosis/mine.h"
#include "mote/oracle/diagnosis.h"
#include "mote/oracle/exactness.h"

namespace mote {
namespace {

using namespace diagnosis;

constexpr std::size_t kCases = 5;     ///< failing cases that a hypothesis is tested on
constexpr double kMostWork = 50'000;  ///< multiply-adds of such a case
constexpr int kRepetitions = 8;

struct Found {
  std::string kind;
  std::string text;
};

/// Runs that differ among themselves although everything that they are given is the same, or not.
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
  if (different > 0)
    return {"race", fmt::format("{} of {} repetitions with the same memory gave other values",
                                different, kRepetitions)};
  return {"surviving poison",
          fmt::format("it depends on what outputs, gaps or workspace held before: {} repetitions "
                      "with the same memory agree",
                      kRepetitions)};
}

/// What the verdict says by itself.
std::optional<Found> by_verdict(const Case& c, const Outcome& outcome,
                                const std::function<Outcome(const Case&)>& judge) {
  switch (outcome.verdict) {
    case Verdict::unwritten:
      return Found{"surviving poison", "elements keep what the output held before the call"};
    case Verdict::out_of_bounds:
    case Verdict::wrote_gap:
    case Verdict::changed_input:
      return Found{"out of range", outcome.reason};
    case Verdict::stale:
      return Found{"stale value", outcome.reason};
    case Verdict::late_access:
      return Found{"race", outcome.reason};
    case Verdict::nondeterministic:
      return why_runs_differ(c, outcome, judge);
    default:
      return std::nullopt;
  }
}

bool fits(const Hypothesis& h, const Observed& o) {
  const auto outputs = h.outputs(o);
  return outputs && explains(o, *outputs);
}

/// The hypothesis that explains most of the failing cases, more than half of them, and the smallest
/// one in any event.
std::optional<Found> best(const std::vector<Observed>& cases) {
  std::vector<Hypothesis> all;
  for (auto* family : {value_hypotheses, form_hypotheses, rounding_hypotheses, missing_hypotheses,
                       place_hypotheses})
    std::ranges::move(family(cases.front()), std::back_inserter(all));
  const Hypothesis* winner = nullptr;
  std::size_t most = 0;
  for (const Hypothesis& h : all) {
    if (!fits(h, cases.front())) continue;
    std::size_t explained = 1;
    for (std::size_t k = 1; k < cases.size(); ++k) explained += fits(h, cases[k]) ? 1 : 0;
    if (explained <= most) continue;
    most = explained;
    winner = &h;
  }
  if (winner == nullptr || 2 * most <= cases.size()) return std::nullopt;
  return Found{winner->kind,
               fmt::format("{} the reference gives what was got, in {} of {} failing "
                           "case{}",
                           winner->text, most, cases.size(), cases.size() == 1 ? "" : "s")};
}

/// The smallest, and small ones of those that fail in the same way: drawn ones first, as those made
/// from the smallest share its accidents.
std::vector<Observed> observed_cases(const Case& smallest, const Outcome& outcome,
                                     const std::vector<Sample>& samples) {
  std::vector<Observed> all;
  if (auto o = observe(smallest, outcome)) all.push_back(*std::move(o));
  if (all.empty()) return all;
  const auto work = [](const Sample* s) { return multiply_adds(*s->of.program, s->of.binding); };
  std::vector<const Sample*> alike;
  for (const Sample& s : samples)
    if (s.outcome.verdict == outcome.verdict && s.of.program == smallest.program &&
        !s.outcome.differences.empty() && work(&s) <= kMostWork)
      alike.push_back(&s);
  std::ranges::stable_sort(alike, {},
                           [&](const Sample* s) { return std::pair(!s->drawn, work(s)); });
  for (std::size_t k = 0; k < alike.size() && all.size() < kCases; ++k)
    if (auto o = observe(alike[k]->of, alike[k]->outcome)) all.push_back(*std::move(o));
  return all;
}

}  // namespace

Diagnosis diagnose(const Case& smallest, const Outcome& outcome,
                   const std::function<Outcome(const Case&)>& judge) {
  Diagnosis d;
  const std::vector<Sample> all = samples(smallest, judge);
  for (const Sample& s : all) {
    ++d.runs;
    d.failed += s.failed() ? 1 : 0;
    d.random_runs += s.drawn ? 1 : 0;
    d.random_failed += s.drawn && s.failed() ? 1 : 0;
  }
  const Condition condition = mine(smallest, all);
  d.condition = condition.text;
  d.condition_is_exact = condition.exact;
  d.held = condition.held;
  std::optional<Found> found = by_verdict(smallest, outcome, judge);
  if (!found) {
    const std::vector<Observed> cases = observed_cases(smallest, outcome, all);
    if (!cases.empty()) found = best(cases);
  }
  if (found) {
    d.kind = std::move(found->kind);
    d.text = std::move(found->text);
  }
  return d;
}

std::string diagnosis_text(const Diagnosis& d) {
  std::string text = d.kind.empty() ? "  diagnosis: none of the hypotheses that were tried fits\n"
                                    : fmt::format("  diagnosis: {}: {}\n", d.kind, d.text);
  if (d.random_runs > 0)
    text += fmt::format("  fails in {} of {} random cases\n", d.random_failed, d.random_runs);
  if (!d.condition.empty())
    text +=
        fmt::format("  fails {} {}: {} of {} further cases\n",
                    d.condition_is_exact ? "where" : "only where", d.condition, d.failed, d.runs);
  return text;
}

}  // namespace mote
