// SPDX-License-Identifier: Apache-2.0
// Compares in the order of verdicts: damage first, then elements never written, then runs that
// differ, then values.
#include "judge/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace mote {
namespace {

/// A smallest case has fewer elements, so all its differences are kept.
constexpr std::size_t kDifferencesKept = 1024;

std::vector<std::int64_t> unravel(std::int64_t linear, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t k = shape.size(); k-- > 0;) {
    index[k] = linear % shape[k];
    linear /= shape[k];
  }
  return index;
}

/// Calls f(output, linear) for every element of every output.
template <typename F>
void for_each_output(const Comparison& c, F&& f) {
  for (std::size_t k = 0; k < c.first.size(); ++k) {
    for (std::int64_t at = 0; at < c.first[k].count(); ++at) f(k, at);
  }
}

void note(Outcome& outcome, const Comparison& c, std::size_t output, std::int64_t at,
          const Dense& got, const Interval* bounds = nullptr) {
  ++outcome.differing;
  if (outcome.differences.size() >= kDifferencesKept) return;
  const CaseTensor& t = c.of.outputs[output];
  Difference d{t.name, unravel(at, t.shape), c.expected[output].at(at), got.at(at), std::nullopt};
  if (bounds != nullptr && !bounds->certain()) {
    d.allowed.emplace(store_as(bounds->ends[0].at(at), t.dtype),
                      store_as(bounds->ends[1].at(at), t.dtype));
  }
  outcome.differences.push_back(std::move(d));
}

std::int64_t count_unwritten(const Comparison& c, Outcome& outcome) {
  for_each_output(c, [&](std::size_t k, std::int64_t at) {
    if (c.first[k].is_poison(at, Poison::first) && c.second[k].is_poison(at, Poison::second)) {
      note(outcome, c, k, at, c.second[k]);
    }
  });
  return outcome.differing;
}

bool runs_differ(const Comparison& c) {
  bool differ = false;
  for_each_output(c, [&](std::size_t k, std::int64_t at) {
    differ = differ || !c.first[k].same(at, c.second[k]);
  });
  return differ;
}

bool holds(const Interval& bounds, std::int64_t at, const Dense& got) {
  return !bounds.certain() && accepts(bounds, at, got);
}

bool is_finite(const Dense& x, std::int64_t at) {
  return !is_real(x.dtype()) || std::isfinite(x.at(at).real());
}

/// The first intervals that contain the element, or otherwise the form's.
const Interval& bound_for(const Comparison& c, std::size_t k, std::int64_t at, const Dense& got) {
  const Interval& bounds = c.intervals()[k];
  if (holds(bounds, at, got)) return bounds;
  if (c.of_definition) {
    const Interval& other = c.of_definition()[k];
    if (holds(other, at, got)) return other;
  }
  if (c.at_infinities && !(is_finite(got, at) && is_finite(c.expected[k], at))) {
    const Interval& other = c.at_infinities()[k];
    if (holds(other, at, got)) return other;
  }
  return bounds;
}

/// Compares the element of each run that differs from the reference with its interval.
void compare_element(const Comparison& c, Outcome& outcome, std::size_t k, std::int64_t at) {
  bool unknown = false;
  for (const std::vector<Dense>* run : {&c.first, &c.second}) {
    const Dense& got = (*run)[k];
    if (got.same(at, c.expected[k])) continue;
    const Interval& bounds = bound_for(c, k, at, got);
    if (!holds(bounds, at, got)) return note(outcome, c, k, at, got, &bounds);
    unknown = unknown || is_indeterminate(bounds, at, got.dtype());
    outcome.error = std::max(outcome.error, error_share(bounds, at, got, c.expected[k]));
  }
  outcome.indeterminate += unknown ? 1 : 0;
}

/// Elements that equal the reference bit for bit lie in every interval, so no interval is computed
/// for them.
void compare_values(const Comparison& c, Outcome& outcome) {
  for_each_output(c, [&](std::size_t k, std::int64_t at) {
    if (c.first[k].same(at, c.expected[k]) && c.second[k].same(at, c.expected[k])) return;
    compare_element(c, outcome, k, at);
  });
}

constexpr const char* kRunsDiffer =
    "two runs on the same inputs differ: it depends on what outputs, gaps or workspace held "
    "before, "
    "or on time";

void judge_values(const Comparison& c, Outcome& outcome) {
  compare_values(c, outcome);
  if (c.deterministic && runs_differ(c)) {
    outcome.verdict = Verdict::nondeterministic;
    outcome.reason = kRunsDiffer;
    return;
  }
  if (outcome.differing > 0) {
    outcome.verdict = Verdict::failed;
    return;
  }
  outcome.reason = vacuity(c);
  outcome.verdict = outcome.reason.empty() || c.is_given ? Verdict::passed : Verdict::vacuous;
  if (static_cast<double>(outcome.indeterminate) >
      kFewElements * static_cast<double>(outcome.elements)) {
    outcome.verdict = Verdict::weak;
    outcome.reason = fmt::format("nothing is known about {} of {} elements", outcome.indeterminate,
                                 outcome.elements);
  }
}

}  // namespace

Outcome compare(const Comparison& c) {
  Outcome outcome;
  for (const Dense& d : c.first) outcome.elements += d.count();
  if (c.status_of_second != MOTE_OK) {
    outcome.verdict = Verdict::nondeterministic;
    outcome.reason = fmt::format("the second run returned status {}, the first succeeded",
                                 int{c.status_of_second});
  } else if (!c.damage.empty()) {
    outcome.verdict = c.damage_verdict;
    outcome.reason = c.damage;
    compare_values(c, outcome);
  } else if (count_unwritten(c, outcome) > 0) {
    outcome.verdict = Verdict::unwritten;
    outcome.reason = "elements of the output are never written";
  } else {
    judge_values(c, outcome);
  }
  return outcome;
}

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::unwritten:
      return "unwritten";
    case Verdict::out_of_bounds:
      return "out of bounds";
    case Verdict::wrote_gap:
      return "wrote a gap";
    case Verdict::changed_input:
      return "changed input";
    case Verdict::changed_mode:
      return "changed mode";
    case Verdict::left_threads:
      return "left threads";
    case Verdict::too_much_memory:
      return "too much memory";
    case Verdict::nondeterministic:
      return "nondeterministic";
    case Verdict::stale:
      return "stale";
    case Verdict::late_access:
      return "late access";
    case Verdict::crashed:
      return "crashed";
    case Verdict::hung:
      return "hung";
    case Verdict::declined:
      return "declined";
    case Verdict::weak:
      return "weak";
    case Verdict::vacuous:
      return "vacuous";
    case Verdict::skipped:
      return "skipped";
  }
  return "unknown";
}

std::string_view meaning(Verdict verdict) {
  switch (verdict) {
    case Verdict::declined:
      return "the backend says that it does not take the call";
    case Verdict::weak:
      return "nothing is wrong, but of more than a tenth of the elements nothing is known";
    case Verdict::vacuous:
      return "passed, but told nothing: no output had an element, or all that is read and expected "
             "is 0";
    case Verdict::skipped:
      return "not run, since it does not fit into memory or has no reference";
    default:
      return "";
  }
}

bool is_failure(Verdict verdict) { return verdict >= Verdict::failed && verdict <= Verdict::hung; }

}  // namespace mote
