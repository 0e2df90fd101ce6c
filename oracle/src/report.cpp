// SPDX-License-Identifier: Apache-2.0
// Reports. Numbers are printed so that they read back to the same bits.
#include "mote/oracle/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "diagnosis/json.h"
#include "peers.h"
#include "table.h"

namespace mote {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kShown = 4;
constexpr std::size_t kInJson = 8;  // differing elements

std::string number_text(const Number& n) {
  return n.is_real() ? fmt::format("{}", n.real()) : fmt::format("{}", n.integer());
}

std::string place_text(const Difference& d) {
  return fmt::format("{}[{}]", d.tensor, fmt::join(d.index, ","));
}

/// ", allowed [5.9, 6.1]" where more than one value is.
std::string allowed_text(const Difference& d) {
  if (!d.allowed || same(d.allowed->first, d.allowed->second)) return "";
  return fmt::format(", allowed [{}, {}]", number_text(d.allowed->first),
                     number_text(d.allowed->second));
}

/// JSON has no NaN and no infinity: those are strings.
OrderedJson number_json(const Number& n) {
  if (!n.is_real()) return n.integer();
  const bool finite = n.real() - n.real() == 0;
  return finite ? OrderedJson(n.real()) : OrderedJson(fmt::format("{}", n.real()));
}

OrderedJson differences_json(const Outcome& outcome) {
  OrderedJson all = OrderedJson::array();
  const std::size_t shown = std::min(kInJson, outcome.differences.size());
  for (const Difference& d : std::span(outcome.differences).first(shown)) {
    all.push_back({{"tensor", d.tensor},
                   {"index", d.index},
                   {"expected", number_json(d.expected)},
                   {"got", number_json(d.got)}});
    if (!d.allowed) continue;
    all.back()["allowed"] = {number_json(d.allowed->first), number_json(d.allowed->second)};
  }
  return all;
}

/// What is not judged or only weakly, and why: the first reason of each row that has one.
std::string reasons(const CampaignResult& result) {
  std::string text;
  for (const Row& row : result.rows) {
    if (row.reason.empty() || (row.judged > 0 && row.count(Verdict::skipped) == 0)) continue;
    text += fmt::format("  {} {} {}: {}\n", row.op, name(row.dtype), row.backend, row.reason);
  }
  for (const std::string& line : result.without_kernel) text += "  " + line + "\n";
  return text.empty() ? "" : "not judged:\n" + text;
}

/// A failure that is not made smaller is not diagnosed either.
bool was_diagnosed(const Diagnosis& d) {
  return !d.kind.empty() || d.runs > 0 || d.random_runs > 0;
}

}  // namespace

std::string table_text(const CampaignResult& result) {
  std::vector<Cells> lines = {{"op", "dtype", "backend", "judged", "passed", "failed", "weak",
                               "vacuous", "unsupported", "skipped", "indeterminate elements",
                               "error/bound", "judged >= 1000 multiply-adds"}};
  for (const Row& row : result.rows) {
    const auto count = [&](Verdict v) { return fmt::format("{}", row.count(v)); };
    lines.push_back({row.op, std::string(name(row.dtype)), row.backend,
                     fmt::format("{}", row.judged), count(Verdict::passed),
                     fmt::format("{}", row.failures()), count(Verdict::weak),
                     count(Verdict::vacuous), count(Verdict::unsupported), count(Verdict::skipped),
                     fmt::format("{}", row.indeterminate), fmt::format("{:.2f}", row.error()),
                     fmt::format("{}", row.judged_large)});
  }
  return (result.rows.empty() ? "" : aligned(lines, {true, true, true})) + reasons(result);
}

std::string progress_text(const CampaignResult& result, std::int64_t cases) {
  std::string text = fmt::format("\nafter {} case{}:\n", cases, cases == 1 ? "" : "s");
  text += table_text(result);
  for (const Failure& f : result.failures) text += "\n" + failure_text(f);
  return text;
}

std::string progress_json(const CampaignResult& result, std::int64_t cases) {
  std::string text = table_json(result);
  for (const Failure& f : result.failures) text += failure_json(f);
  return text + OrderedJson{{"type", "progress"}, {"cases", cases}}.dump() + "\n";
}

std::string differences_text(const Outcome& outcome, std::size_t most) {
  std::string text;
  for (std::size_t k = 0; k < std::min(most, outcome.differences.size()); ++k) {
    const Difference& d = outcome.differences[k];
    if (outcome.verdict == Verdict::unwritten) {
      text += fmt::format("  {}: never written\n", place_text(d));
    } else {
      text += fmt::format("  {}: expected {}, got {}{}\n", place_text(d), number_text(d.expected),
                          number_text(d.got), allowed_text(d));
    }
  }
  const auto shown = static_cast<std::int64_t>(std::min(most, outcome.differences.size()));
  if (outcome.differing > shown) {
    text +=
        fmt::format("  and {} more of {} elements\n", outcome.differing - shown, outcome.elements);
  }
  return text;
}

std::string failure_text(const Failure& failure) { return failure_text(failure, replay_command); }

std::string failure_text(const Failure& failure,
                         const std::function<std::string(const Case&)>& replay) {
  const Case& c = failure.smallest;
  std::string text =
      fmt::format("{}: {} on {}, {} time{}, first after {:.2f} s\n", name(failure.outcome.verdict),
                  c.target->text(), c.backend, failure.occurrences,
                  failure.occurrences == 1 ? "" : "s", failure.found_after_s);
  text += fmt::format("  smallest case: {}\n", to_string(c));
  if (!failure.outcome.reason.empty()) text += fmt::format("  {}\n", failure.outcome.reason);
  text += differences_text(failure.outcome, kShown);
  if (failure.outcome.differing > 0) {
    text += fmt::format("  {} of {} elements differ\n", failure.outcome.differing,
                        failure.outcome.elements);
  }
  if (was_diagnosed(failure.diagnosis)) text += diagnosis_text(failure.diagnosis);
  if (!failure.peers.empty()) text += fmt::format("  {}\n", peers_text(failure.peers));
  if (!failure.sparsest.empty())
    text +=
        fmt::format("  with most elements 0: {}\n  {}", failure.sparsest, failure.sparsest_text);
  text += fmt::format("  first seen: {}\n", to_string(failure.first));
  return text + "  replay: " + replay(c) + "\n";
}

std::string table_json(const CampaignResult& result) {
  std::string text;
  for (const Row& row : result.rows) {
    OrderedJson counts;
    for (std::size_t v = 0; v < kVerdicts; ++v) {
      counts[std::string(name(static_cast<Verdict>(v)))] = row.counts[v];
    }
    OrderedJson errors = OrderedJson::object();
    for (const auto& [fill, error] : row.errors) errors[std::string(name(fill))] = error;
    const OrderedJson line = {{"type", "row"},
                              {"op", row.op},
                              {"dtype", std::string(name(row.dtype))},
                              {"backend", row.backend},
                              {"judged", row.judged},
                              {"judged_large", row.judged_large},
                              {"verdicts", counts},
                              {"indeterminate", row.indeterminate},
                              {"error", errors},
                              {"reason", row.reason}};
    text += line.dump() + "\n";
  }
  return text;
}

std::string outcome_json(const Case& c, const Outcome& outcome) {
  const OrderedJson line = {{"type", "outcome"},
                            {"case", to_string(c)},
                            {"verdict", std::string(name(outcome.verdict))},
                            {"reason", outcome.reason},
                            {"elements", outcome.elements},
                            {"indeterminate", outcome.indeterminate},
                            {"error", outcome.error},
                            {"differing", outcome.differing},
                            {"differences", differences_json(outcome)}};
  return line.dump() + "\n";
}

std::string failure_json(const Failure& failure) {
  const OrderedJson line = {{"type", "failure"},
                            {"op", failure.smallest.target->text()},
                            {"backend", failure.smallest.backend},
                            {"verdict", std::string(name(failure.outcome.verdict))},
                            {"reason", failure.outcome.reason},
                            {"occurrences", failure.occurrences},
                            {"found_after_s", failure.found_after_s},
                            {"first", to_string(failure.first)},
                            {"smallest", to_string(failure.smallest)},
                            {"sparsest", failure.sparsest},
                            {"tries", failure.tries},
                            {"not_smaller", failure.not_smaller},
                            {"diagnosis", diagnosis_json(failure.diagnosis)},
                            {"other_backends", peers_json(failure.peers)},
                            {"elements", failure.outcome.elements},
                            {"differing", failure.outcome.differing},
                            {"differences", differences_json(failure.outcome)},
                            {"replay", replay_command(failure.smallest)}};
  return line.dump() + "\n";
}

}  // namespace mote
