// SPDX-License-Identifier: Apache-2.0
// Prints reports. Numbers are printed so that they read back to the same bits.
#include "mote/oracle/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <span>

#include "diagnosis/json.h"
#include "isolate/processors.h"
#include "mote/oracle/text.h"
#include "report/declined.h"
#include "report/json_line.h"
#include "report/table.h"
#include "run/peers.h"

namespace mote {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kShown = 4;
constexpr std::size_t kInJson = 8;  // differing elements

std::string location_text(const Difference& d) {
  return fmt::format("{}[{}]", d.tensor, fmt::join(d.index, ","));
}

/// The text ", allowed [5.9, 6.1]" if more than one value is allowed.
std::string allowed_text(const Difference& d) {
  if (!d.allowed || same(d.allowed->first, d.allowed->second)) return "";
  return fmt::format(", allowed [{}, {}]", number_text(d.allowed->first),
                     number_text(d.allowed->second));
}

/// A number in JSON, which has no NaN and no infinity: these are strings.
OrderedJson number_json(const Number& n) {
  if (!n.is_real()) return n.integer();
  const bool finite = n.real() - n.real() == 0;
  return finite ? OrderedJson(n.real()) : OrderedJson(number_text(n));
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

/// True if all cases of the row were declined.
bool says_nothing(const Row& row) { return row.cases() == row.count(Verdict::declined); }

Table table_of(const CampaignResult& result) {
  Table table{.lines = {{"op", "dtype", "backend", "judged", "passed", "failed", "weak", "vacuous",
                         "declined", "skipped", "indeterminate", "error/bound", "large"}},
              .left = {true, true, true},
              .colours = {Colour::bold}};
  for (const Row& row : result.rows) {
    if (says_nothing(row)) continue;
    const auto count = [&](Verdict v) { return fmt::format("{}", row.count(v)); };
    table.lines.push_back(
        {row.op, std::string(name(row.dtype)), row.backend, fmt::format("{}", row.judged),
         count(Verdict::passed), fmt::format("{}", row.failures()), count(Verdict::weak),
         count(Verdict::vacuous), count(Verdict::declined), count(Verdict::skipped),
         fmt::format("{}", row.indeterminate), fmt::format("{:.2f}", row.error()),
         fmt::format("{}", row.judged_large)});
    table.colours.push_back(row.failures() > 0 ? Colour::red : Colour::none);
  }
  leave_out_columns(table, {"0", "0.00"}, 3);
  return table;
}

/// A line with the meaning of each word of the table that occurs.
std::string legend(const Table& table, const Screen& screen) {
  const auto has = [&](const std::string& column) {
    return std::ranges::find(table.lines.front(), column) != table.lines.front().end();
  };
  std::string text;
  const auto explain = [&](const std::string& column, std::string_view means) {
    if (has(column)) text += wrapped(fmt::format("  {}: {}", column, means), screen.columns, 4);
  };
  for (const Verdict v : {Verdict::weak, Verdict::vacuous, Verdict::declined, Verdict::skipped})
    explain(std::string(name(v)), meaning(v));
  explain("indeterminate", "elements that differ, where the bound allows any value");
  explain("error/bound", "the greatest error, as a share of what the bound allows");
  explain("large", fmt::format("judged with {} operations or more", kLargeCase));
  return text;
}

/// Lines by backend, "openblas declined gemm i32 i64, matmul i32 i64 (gemm i32: a i32[2,3] is not
/// f32)": ops and dtypes without an accepted case, and the first reason.
std::map<std::string, std::string> declined_lines(const CampaignResult& result) {
  std::map<std::string, std::string> lines, ops, reasons;
  for (const Row& row : result.rows) {
    if (!says_nothing(row)) continue;
    std::string& line = lines[row.backend];
    if (line.empty()) {
      line = row.backend + " declined ";
      reasons[row.backend] = fmt::format(" ({} {}: {})", row.op, name(row.dtype), row.reason);
    }
    const bool same_op = ops[row.backend] == row.op;
    if (!same_op) line += (ops[row.backend].empty() ? "" : ", ") + row.op;
    ops[row.backend] = row.op;
    line += fmt::format(" {}", name(row.dtype));
  }
  for (auto& [backend, line] : lines) line += reasons[backend];
  return lines;
}

/// Lines about all that was not judged, and why: the ops and dtypes that a backend declines
/// together, the first reason of every other row, and ops without a kernel.
std::string not_judged(const CampaignResult& result, const Screen& screen) {
  std::string text;
  const auto add = [&](const std::string& line) {
    text += wrapped("  " + line, screen.columns, 4);
  };
  for (const Row& row : result.rows) {
    const bool is_judged = row.judged > 0 && row.count(Verdict::skipped) == 0;
    if (!row.reason.empty() && !is_judged && !says_nothing(row))
      add(fmt::format("{} {} {}: {}", row.op, name(row.dtype), row.backend, row.reason));
  }
  for (const auto& [backend, line] : declined_lines(result)) add(line);
  for (const auto& [backend, ops] : result.without_kernel)
    add(fmt::format("{} has no kernel for {}", backend, fmt::join(ops, ", ")));
  return text.empty() ? "" : "not judged:\n" + text;
}

/// True if the failure was diagnosed; one that is not made smaller is not diagnosed.
bool was_diagnosed(const Diagnosis& d) {
  return !d.kind.empty() || d.runs > 0 || d.random_runs > 0;
}

std::string counts_text(const Failure& failure) {
  return fmt::format(": {} on {}, {}, first after {:.2f} s\n", failure.smallest.target->text(),
                     failure.smallest.backend, counted(failure.occurrences, "time"),
                     failure.found_after_s);
}

}  // namespace

std::string table_text(const CampaignResult& result, const Screen& screen) {
  const Table table = table_of(result);
  const std::string shown =
      table.lines.size() > 1 ? aligned(table, screen) + legend(table, screen) : "";
  return shown + declined_text(result.rows, screen) + not_judged(result, screen) +
         notes_text(result.rows, screen);
}

std::string machine_text() {
  if (processors() != 1) return "";
  return "one processor: a race between threads of a kernel hardly shows here\n";
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
  return text + json_line(OrderedJson{{"type", "progress"}, {"cases", cases}});
}

std::string differences_text(const Outcome& outcome, std::size_t most) {
  std::string text;
  for (std::size_t k = 0; k < std::min(most, outcome.differences.size()); ++k) {
    const Difference& d = outcome.differences[k];
    if (outcome.verdict == Verdict::unwritten) {
      text += fmt::format("  {}: never written\n", location_text(d));
    } else {
      text += fmt::format("  {}: expected {}, got {}{}\n", location_text(d),
                          number_text(d.expected), number_text(d.got), allowed_text(d));
    }
  }
  const auto shown = static_cast<std::int64_t>(std::min(most, outcome.differences.size()));
  if (outcome.differing > shown) {
    text +=
        fmt::format("  and {} more of {} elements\n", outcome.differing - shown, outcome.elements);
  }
  return text;
}

std::string found_text(const FoundFailure& found, const Screen& screen) {
  const Outcome& outcome = found.outcome;
  const std::string verdict(name(outcome.verdict));
  std::string text =
      painted(verdict, Colour::red, screen) +
      fmt::format(": {} on {} after {:.2f} s, which is made smaller now\n",
                  found.first.target->text(), found.first.backend, found.found_after_s);
  if (!outcome.reason.empty()) text += fmt::format("  {}\n", outcome.reason);
  return text + fmt::format("  {}\n", to_string(found.first));
}

std::string failure_line(const Failure& failure, const Screen& screen) {
  const std::string verdict(name(failure.outcome.verdict));
  return painted(verdict, Colour::red, screen) + counts_text(failure);
}

std::string failure_text(const Failure& failure, const FailureStyle& style) {
  const Case& c = failure.smallest;
  const std::string verdict(name(failure.outcome.verdict));
  std::string text = painted(verdict, Colour::red, style.screen);
  text += style.counted
              ? counts_text(failure)
              : fmt::format(
                    ": {} on {}, first after {:.2f} s{}\n", c.target->text(), c.backend,
                    failure.found_after_s,
                    failure.tries == 0 ? "" : ", made smaller in " + counted(failure.tries, "run"));
  text += fmt::format("  smallest case: {}\n", to_string(c));
  if (!failure.outcome.reason.empty()) text += fmt::format("  {}\n", failure.outcome.reason);
  if (!failure.only_after.empty()) text += fmt::format("  {}\n", failure.only_after);
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
  return text + "  replay: " + (style.replay ? style.replay(c) : replay_command(c)) + "\n";
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
                              {"reason", row.reason},
                              {"declined", declined_json(row)},
                              {"declined_by_run", row.declined_by_run}};
    text += json_line(line);
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
  return json_line(line);
}

std::string found_json(const FoundFailure& found) {
  return json_line(OrderedJson{{"type", "found"},
                               {"op", found.first.target->text()},
                               {"dtype", std::string(name(found.first.instance.dtype))},
                               {"backend", found.first.backend},
                               {"verdict", std::string(name(found.outcome.verdict))},
                               {"reason", found.outcome.reason},
                               {"case", to_string(found.first)},
                               {"found_after_s", found.found_after_s}});
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
                            {"only_after", failure.only_after},
                            {"diagnosis", diagnosis_json(failure.diagnosis)},
                            {"other_backends", peers_json(failure.peers)},
                            {"elements", failure.outcome.elements},
                            {"differing", failure.outcome.differing},
                            {"differences", differences_json(failure.outcome)},
                            {"replay", replay_command(failure.smallest)}};
  return json_line(line);
}

}  // namespace mote
