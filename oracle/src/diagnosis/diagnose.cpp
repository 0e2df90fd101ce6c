// SPDX-License-Identifier: Apache-2.0
// Uses the verdict if it explains the failure (found.cpp), and otherwise tests hypotheses against
// several failing cases.
#include <fmt/format.h>

#include <algorithm>

#include "diagnosis/failing_cases.h"
#include "diagnosis/find_condition.h"
#include "diagnosis/found.h"
#include "diagnosis/hypotheses.h"
#include "mote/base/error.h"
#include "mote/oracle/diagnosis.h"

namespace mote {
namespace {

using namespace diagnosis;

constexpr std::size_t kMoreCases = 8;   ///< if kCases leave several hypotheses
constexpr std::size_t kConfirming = 3;  ///< the number of these for a strict hypothesis
constexpr int kMaxInVain = 3;           ///< consecutive cases that do not distinguish

bool fits(const Hypothesis& h, const Observed& o) {
  const auto outputs = h.outputs(o);
  return outputs && explains(o, *outputs);
}

struct Candidate {
  Hypothesis hypothesis;
  std::size_t explained = 0;
  bool told = false;  ///< an explained case tells it from others

  void count(const Observed& o) {
    if (!fits(hypothesis, o)) return;
    ++explained;
    told = told || !hypothesis.tells || hypothesis.tells(o);
  }
};

using Family = std::vector<Hypothesis> (*)(const Observed&);

/// Adds the hypotheses of the families that explain the smallest case.
void add_candidates(std::vector<Candidate>& all, const Observed& smallest,
                    std::span<const Family> families, bool strict) {
  for (const Family family : families)
    for (Hypothesis& h : family(smallest)) {
      h.strict = h.strict || strict;
      Candidate c{std::move(h)};
      c.count(smallest);
      if (c.explained > 0) all.push_back(std::move(c));
    }
}

std::vector<Candidate> candidates(const Observed& smallest) {
  constexpr Family kFew[] = {block_hypotheses,    end_hypotheses,      index_hypotheses,
                             left_out_hypotheses, value_hypotheses,    form_hypotheses,
                             rounding_hypotheses, missing_hypotheses,  parameter_hypotheses,
                             location_hypotheses, overflow_hypotheses, tie_hypotheses,
                             padding_hypotheses};
  constexpr Family kMany[] = {index_of_other_axis_hypotheses,
                              order_hypotheses,
                              other_op_hypotheses,
                              quantity_hypotheses,
                              duplicate_hypotheses,
                              along_other_axis_hypotheses,
                              inner_sum_hypotheses};
  std::vector<Candidate> all;
  add_candidates(all, smallest, kFew, false);
  if (!is_heavy(smallest.of)) add_candidates(all, smallest, kMany, true);
  return all;
}

/// Used if no other hypothesis fits.
std::vector<Candidate> formulas(const Observed& smallest) {
  constexpr Family kFormulas[] = {formula_hypotheses};
  std::vector<Candidate> all;
  if (!is_heavy(smallest.of)) add_candidates(all, smallest, kFormulas, true);
  return all;
}

/// All hypotheses, used if zeros or an overflow explain the failure: these also explain saturated
/// integers and rows with nothing to sum. Few drawn cases have such a row, so a case made from the
/// smallest may confirm that hypothesis.
std::vector<Candidate> all_hypotheses(const Observed& smallest) {
  std::vector<Candidate> others = formulas(smallest);
  const auto is_telling = [](const Candidate& c) { return c.hypothesis.kind == "empty row"; };
  const auto rest = std::stable_partition(others.begin(), others.end(), is_telling);
  std::vector<Candidate> all(std::make_move_iterator(others.begin()),
                             std::make_move_iterator(rest));
  for (Candidate& c : all) c.hypothesis.strict = false;
  for (Candidate& c : candidates(smallest)) all.push_back(std::move(c));
  all.insert(all.end(), std::make_move_iterator(rest), std::make_move_iterator(others.end()));
  return all;
}

/// True for diagnoses that many faults give, so that a formula may say more.
bool says_little(const Found& found) {
  return found.kind == "zeros" || found.kind == "copy of an input" || found.kind == "overflow";
}

void count(std::vector<Candidate>& all, const Observed& o) {
  for (Candidate& c : all) c.count(o);
}

std::size_t most_explained(const std::vector<Candidate>& all) {
  return std::ranges::max_element(all, {}, &Candidate::explained)->explained;
}

/// The number of hypotheses that explain the most cases.
std::ptrdiff_t leaders(const std::vector<Candidate>& all) {
  return std::ranges::count(all, most_explained(all), &Candidate::explained);
}

const Candidate& leader(const std::vector<Candidate>& all) {
  return *std::ranges::max_element(all, {}, &Candidate::explained);
}

/// True if a strict hypothesis explains fewer than four in five.
bool is_chance(const Candidate& c, std::size_t cases) {
  return c.hypothesis.strict && 5 * c.explained < 4 * cases;
}

/// Tries larger failing cases until one hypothesis leads or they stop distinguishing: in cases of
/// few elements a lost term may be the only one, so that zeros explain them too. A strict
/// hypothesis is always confirmed by some. Returns the number of cases.
std::size_t tell_apart(std::vector<Candidate>& all,
                       const std::function<std::optional<Observed>()>& next) {
  std::size_t used = 0;
  int in_vain = 0;
  while (used < kMoreCases) {
    const std::ptrdiff_t before = leaders(all);
    const bool undecided = before > 1 && in_vain < kMaxInVain;
    const Candidate& ahead = leader(all);
    const bool unconfirmed = (used < kConfirming && ahead.hypothesis.strict) || !ahead.told;
    if (!undecided && !unconfirmed) break;
    const std::optional<Observed> o = next();
    if (!o) break;
    count(all, *o);
    ++used;
    in_vain = leaders(all) < before ? 0 : in_vain + 1;
  }
  return used;
}

/// The hypothesis that explains most of the failing cases (more than half of them, and always the
/// smallest); of several, the one that also explains most of the larger ones.
std::optional<Found> best(std::vector<Candidate> all, std::vector<Observed>& cases,
                          bool& some_are_drawn,
                          const std::function<std::optional<Observed>()>& next) {
  if (all.empty()) return std::nullopt;
  const auto is_strict = [](const Candidate& c) { return c.hypothesis.strict; };
  if (!some_are_drawn && std::ranges::all_of(all, is_strict)) {
    if (std::optional<Observed> drawn = next()) {
      cases.push_back(*std::move(drawn));
      some_are_drawn = true;
    }
  }
  for (std::size_t k = 1; k < cases.size(); ++k) count(all, cases[k]);
  std::erase_if(all, [&](const Candidate& c) {  // cases made from the smallest share its accidents
    return (is_strict(c) && !some_are_drawn) || is_chance(c, cases.size());
  });
  if (all.empty()) return std::nullopt;
  const std::size_t most = most_explained(all);
  if (2 * most <= cases.size()) return std::nullopt;
  std::erase_if(all, [&](const Candidate& c) { return c.explained < most; });
  const std::size_t tried = cases.size() + tell_apart(all, next);
  const Candidate& winner = leader(all);
  if (is_chance(winner, tried) || !winner.told) return std::nullopt;
  const Hypothesis& h = winner.hypothesis;
  return Found{
      h.kind,
      fmt::format("{} the reference gives what was got, in {} of {} failing case{}",
                  h.say ? h.say() : h.text, winner.explained, tried, tried == 1 ? "" : "s")};
}

}  // namespace

Diagnosis diagnose(const Case& smallest, const Outcome& outcome,
                   const std::function<Outcome(const Case&)>& judge, double seconds) {
  const Deadline deadline(seconds), of_condition(seconds / 2);
  Diagnosis d;
  const std::vector<Sample> all = samples(smallest, judge, of_condition);
  for (const Sample& s : all) {
    ++d.runs;
    d.failed += s.failed() ? 1 : 0;
    d.random_runs += s.drawn ? 1 : 0;
    d.random_failed += s.drawn && s.failed() ? 1 : 0;
  }
  WhereItFails condition =
      find_condition({smallest, outcome, false, contents_of(smallest)}, all, judge, of_condition);
  d.condition = std::move(condition.text);
  d.condition_is_necessary = condition.necessary;
  d.condition_is_exact = condition.exact;
  d.with = condition.with;
  d.without = condition.without;
  std::optional<Found> found = by_offset(smallest, judge);
  if (!found) found = by_strides(smallest, outcome, judge);
  if (!found) found = by_verdict(smallest, outcome, judge);
  if (!found) {
    FailingCases failing(smallest, outcome, all, judge, deadline);
    std::vector<Observed> cases = failing.first();
    bool some_are_drawn = failing.some_are_drawn();
    const auto next = [&] { return failing.next(); };
    const auto explain = [&] {
      for (const auto& tried : {candidates, formulas})
        if (!found) found = best(tried(cases.front()), cases, some_are_drawn, next);
    };
    if (!cases.empty()) explain();
    if (found && says_little(*found))
      if (auto more = best(all_hypotheses(cases.front()), cases, some_are_drawn, next))
        found = std::move(more);
    if (!found && cases.size() >= kConfirming) {  // the smallest may have unusual numbers
      std::swap(cases[0], cases[1]);
      explain();
    }
    if (!found) found = by_chance(smallest, outcome, judge);
    if (!found) found = by_distance(cases);
  }
  if (found) {
    d.kind = std::move(found->kind);
    d.text = std::move(found->text);
  }
  return d;
}

std::string diagnosis_text(const Diagnosis& d) {
  std::string text;
  if (d.kind.empty())
    text = "  diagnosis: none of the hypotheses that were tried fits\n";
  else if (!d.text.empty())
    text = fmt::format("  diagnosis: {}: {}\n", d.kind, d.text);
  if (d.random_failed > 0)
    text += fmt::format("  fails in {} of {} random cases\n", d.random_failed, d.random_runs);
  if (d.condition.empty()) return text;
  const auto share = [](const Share& of) { return fmt::format("{} of {}", of.failed, of.runs); };
  if (d.condition_is_exact)
    text +=
        fmt::format("  fails where {}, and nowhere else: in {} fresh cases with it, {} without\n",
                    d.condition, share(d.with), share(d.without));
  else if (d.condition_is_necessary)
    text += fmt::format("  fails only where {}: in {} fresh cases with it, {} without\n",
                        d.condition, share(d.with), share(d.without));
  else
    text += fmt::format("  fails in {} fresh cases where {}, in {} others\n", share(d.with),
                        d.condition, share(d.without));
  return text;
}

}  // namespace mote
