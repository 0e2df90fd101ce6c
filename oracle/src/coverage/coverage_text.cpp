// SPDX-License-Identifier: Apache-2.0
// Prints coverage for a terminal, in few lines, and as complete JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "mote/oracle/coverage.h"
#include "mote/oracle/text.h"
#include "report/json_line.h"

namespace mote {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kRowsShown = 5;
constexpr std::size_t kTextShown = 90;  ///< the maximum number of characters of a row's cells

OrderedJson by_layout(const std::vector<CoverageCell>& cells) {
  OrderedJson all = OrderedJson::object();
  for (const CoverageCell& c : cells) all[c.layout].push_back(c.value);
  return all;
}

std::string cut(const std::string& text) {
  if (text.size() <= kTextShown) return text;
  const std::size_t end = text.find_last_of(";,", kTextShown);
  return text.substr(0, end == std::string::npos ? kTextShown : end) + ", ...";
}

}  // namespace

std::string cells_text(const std::vector<CoverageCell>& cells, const CaseFeatures& of) {
  if (cells.size() == of.layouts.size() * of.values.size()) return "all";
  const std::set<CoverageCell> left(cells.begin(), cells.end());
  const auto has = [&](const std::string& layout, const std::string& value) {
    return left.contains({layout, value});
  };
  std::vector<std::string> parts, values;
  std::set<std::string> whole;
  for (const std::string& layout : of.layouts) {
    if (!std::ranges::all_of(of.values, [&](const auto& v) { return has(layout, v); })) continue;
    whole.insert(layout);
    parts.push_back(layout);
  }
  for (const std::string& value : of.values) {
    if (!std::ranges::all_of(of.layouts, [&](const auto& l) { return has(l, value); })) continue;
    whole.insert(value);
    values.push_back(value);
  }
  if (!values.empty()) parts.push_back(fmt::format("{}", fmt::join(values, ", ")));
  for (const std::string& layout : of.layouts) {
    values.clear();
    if (whole.contains(layout)) continue;
    for (const std::string& value : of.values)
      if (!whole.contains(value) && has(layout, value)) values.push_back(value);
    if (!values.empty())
      parts.push_back(fmt::format("{} with {}", layout, fmt::join(values, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string coverage_text(const std::vector<Coverage>& coverage, const Screen& screen) {
  const CoverageSum sum = sum_of(coverage);
  std::string text = wrapped(
      fmt::format("coverage: {} of {} cells (op, dtype, layout, parameter's value, backend) "
                  "executed, {} declined by backends ({} of them ruled out), {} untested{}",
                  sum.executed, sum.cells(), sum.declined, sum.ruled_out, sum.untested,
                  sum.untested > 0 ? ":" : ""),
      screen.columns, 2);
  std::vector<const Coverage*> rows;
  for (const Coverage& c : coverage)
    if (!c.untested.empty()) rows.push_back(&c);
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const Coverage* c) { return c->untested.size(); });
  for (std::size_t k = 0; k < std::min(kRowsShown, rows.size()); ++k) {
    const Coverage& c = *rows[k];
    text += wrapped(
        fmt::format("  {} {} {}, {} of {}: {}", c.op, name(c.dtype), c.backend, c.untested.size(),
                    c.of.layouts.size() * c.of.values.size(), cut(cells_text(c.untested, c.of))),
        screen.columns, 4);
  }
  if (rows.size() > kRowsShown)
    text += fmt::format("  and of {} more ops and dtypes (--json and --html list all)\n",
                        rows.size() - kRowsShown);
  return text;
}

std::string coverage_json(const std::vector<Coverage>& coverage) {
  std::string text;
  for (const Coverage& c : coverage) {
    const OrderedJson line = {{"type", "coverage"},
                              {"op", c.op},
                              {"dtype", name(c.dtype)},
                              {"backend", c.backend},
                              {"cells", c.of.layouts.size() * c.of.values.size()},
                              {"executed", c.executed.size()},
                              {"declined", by_layout(c.declined)},
                              {"ruled_out", by_layout(c.ruled_out)},
                              {"untested", by_layout(c.untested)}};
    text += json_line(line);
  }
  return text;
}

}  // namespace mote
