// SPDX-License-Identifier: Apache-2.0
// Compares in the order of verdicts: damage first, then elements never written, then runs that
// differ, then values.
#include "judge/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "run/scan.h"

namespace mote {
namespace {

/// A smallest case has fewer elements, so all its differences are kept.
constexpr std::size_t kDifferencesKept = 1024;

constexpr std::int64_t kStretch = 1024;  ///< elements

std::vector<std::int64_t> unravel(std::int64_t linear, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t k = shape.size(); k-- > 0;) {
    index[k] = linear % shape[k];
    linear /= shape[k];
  }
  return index;
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
  for (std::size_t k = 0; k < c.first.size(); ++k) {
    const Dense &first = c.first[k], &second = c.second[k];
    const std::int64_t count = first.count();
    for (std::int64_t at = -1; (at = first_unwritten(first, second, {at + 1, count})) < count;)
      note(outcome, c, k, at, second);
  }
  return outcome.differing;
}

bool holds(const Interval& bounds, std::int64_t at, const Dense& got) {
  return !bounds.certain() && accepts(bounds, at, got);
}

bool runs_differ(const Comparison& c) { return !same_values(c.first, c.second); }

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

/// The first element of the stretch in which a run differs from the reference, or its end.
std::int64_t first_other(const Comparison& c, std::size_t k, Stretch of) {
  of.end = first_difference(c.first[k], c.expected[k], of);
  return first_difference(c.second[k], c.expected[k], of);
}

/// The first element of the stretch about which compare_element has more to ask than whether both
/// runs lie between finite ends, or its end.
std::int64_t first_open(const Comparison& c, Outcome& outcome, std::size_t k, Stretch of) {
  const Interval& bounds = c.intervals()[k];
  if (bounds.certain()) return of.begin;
  of.end = end_of_accepted(bounds, of, c.first[k], c.expected[k], outcome.error);
  if (same_bits(c.first[k], c.second[k], of)) return of.end;
  return end_of_accepted(bounds, of, c.second[k], c.expected[k], outcome.error);
}

/// Elements that equal the reference bit for bit lie in every interval, so no interval is computed
/// for them.
void compare_stretch(const Comparison& c, Outcome& outcome, std::size_t k, Stretch of) {
  while ((of.begin = first_other(c, k, of)) < of.end) {
    const std::int64_t open = first_open(c, outcome, k, of);
    if (open == of.begin) compare_element(c, outcome, k, open);
    of.begin = std::max(open, of.begin + 1);
  }
}

/// Stretches are short, since a run that is right is looked at again where the other is wrong.
void compare_values(const Comparison& c, Outcome& outcome) {
  for (std::size_t k = 0; k < c.first.size(); ++k) {
    const std::int64_t count = c.first[k].count();
    for (std::int64_t at = 0; at < count; at += kStretch)
      compare_stretch(c, outcome, k, {at, std::min(at + kStretch, count)});
  }
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
    outcome.reason = fmt::format("the second run returned status {}, the first succeeded{}{}",
                                 int{c.status_of_second}, c.message_of_second.empty() ? "" : ": ",
                                 c.message_of_second);
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
