// SPDX-License-Identifier: Apache-2.0
// Prints the kill table as text and as lines of JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "mote/oracle/mutants.h"
#include "mote/oracle/report.h"
#include "mote/oracle/shrink.h"
#include "mote/oracle/text.h"
#include "report/json_line.h"
#include "report/table.h"

namespace mote {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::int64_t count(const std::vector<MutantResult>& results, MutantState state) {
  return std::ranges::count(results, state, &MutantResult::state);
}

std::vector<std::string> cells(const MutantResult& r) {
  if (!r.failure) {
    const bool ran = r.note.empty();
    return {r.mutant.name,
            std::string(name(r.state)),
            ran ? fmt::format("{}", r.cases) : "",
            ran ? fmt::format("{:.2f}", r.seconds) : "",
            "",
            r.state == MutantState::killed ? "declined by run" : "",
            "",
            r.note.empty() ? r.mutant.text : r.note + ": " + r.mutant.text};
  }
  return {r.mutant.name,
          std::string(name(r.state)),
          fmt::format("{}", r.cases),
          fmt::format("{:.2f}", r.seconds),
          fmt::format("{}", input_elements(r.failure->smallest)),
          std::string(name(r.failure->outcome.verdict)),
          r.failure->diagnosis.kind.empty() ? "-" : r.failure->diagnosis.kind,
          r.mutant.text};
}

std::string kills_line(const std::vector<MutantResult>& results) {
  std::vector<double> seconds;
  std::int64_t bugs = 0;
  std::int64_t not_looked_for = 0;
  for (const MutantResult& r : results) {
    if (r.mutant.twin) continue;
    ++bugs;
    if (r.state == MutantState::killed) seconds.push_back(r.seconds);
    if (!r.note.empty()) ++not_looked_for;
  }
  if (bugs == 0) return "";
  std::string text = fmt::format("{} of {} bugs killed", seconds.size(), bugs);
  if (not_looked_for > 0) text += fmt::format(", {} not looked for", not_looked_for);
  if (!seconds.empty()) {
    std::ranges::sort(seconds);
    text += fmt::format("; seconds to kill: median {:.2f}, most {:.2f}",
                        seconds[seconds.size() / 2], seconds.back());
  }
  return text + "\n";
}

std::string twins_line(const std::vector<MutantResult>& results) {
  std::int64_t cases = 0;
  for (const MutantResult& r : results) cases += r.mutant.twin ? r.cases : 0;
  const std::int64_t passed = count(results, MutantState::passed);
  const std::int64_t alarms = count(results, MutantState::false_alarm);
  if (passed + alarms == 0) return "";
  return fmt::format("{} twins passed, {} accused, in {} cases\n", passed, alarms, cases);
}

std::string shrunk_line(const std::vector<MutantResult>& results) {
  std::int64_t shrunk = 0;
  std::string large;
  for (const MutantResult& r : results) {
    if (!r.failure) continue;
    const std::int64_t elements = input_elements(r.failure->smallest);
    if (elements <= kSmallCase) ++shrunk;
    if (elements > kSmallCase)
      large +=
          fmt::format("  {}, {} elements: {}\n", r.mutant.name, elements, r.failure->not_smaller);
  }
  std::string text =
      fmt::format("{} failures shrunk to {} input elements or fewer", shrunk, kSmallCase);
  if (!large.empty()) text += "; larger:\n" + large.substr(0, large.size() - 1);
  return text + "\n";
}

/// A line with the meaning of each state that occurs.
std::string state_legend(const std::vector<MutantResult>& results, const Screen& screen) {
  std::string text;
  const auto explain = [&](MutantState state, std::string_view means) {
    if (count(results, state) > 0)
      text += wrapped(fmt::format("  {}: {}", name(state), means), screen.columns, 4);
  };
  explain(MutantState::killed, "a planted bug that was found");
  explain(MutantState::survived, "a planted bug that was not found, or not looked for");
  explain(MutantState::passed, "a correct twin, of which no case failed");
  explain(MutantState::false_alarm, "a correct twin that was accused");
  explain(MutantState::unjudged, "no case was judged");
  return text;
}

}  // namespace

std::string mutants_text(const std::vector<MutantResult>& results, const Screen& screen) {
  Table table{.lines = {{"mutant", "state", "cases", "seconds", "elements", "verdict", "diagnosis",
                         "defect"}},
              .left = {true, true, false, false, false, true, true, true},
              .colours = {Colour::bold}};
  for (const MutantResult& r : results) {
    table.lines.push_back(cells(r));
    table.colours.push_back(as_expected(r) ? Colour::none : Colour::red);
  }
  leave_out_columns(table, {"", "0"}, 2);
  std::string text = aligned(table, screen) + state_legend(results, screen);
  std::istringstream summary(kills_line(results) + twins_line(results) + shrunk_line(results));
  for (std::string line; std::getline(summary, line);) text += wrapped(line, screen.columns, 4);
  return text;
}

std::string mutants_json(const std::vector<MutantResult>& results) {
  std::string text;
  for (const MutantResult& r : results) {
    OrderedJson line = {{"type", "mutant"},        {"name", r.mutant.name},
                        {"op", r.mutant.op},       {"twin", r.mutant.twin},
                        {"needs", r.mutant.needs}, {"text", r.mutant.text},
                        {"state", name(r.state)},  {"cases", r.cases},
                        {"seconds", r.seconds},    {"note", r.note}};
    if (r.failure) {
      line["elements"] = input_elements(r.failure->smallest);
      line["failure"] = OrderedJson::parse(failure_json(*r.failure));
    }
    text += json_line(line);
  }
  return text;
}

}  // namespace mote
