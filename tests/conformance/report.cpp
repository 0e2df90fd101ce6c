// SPDX-License-Identifier: Apache-2.0
// Counts results by operator, and writes Markdown.
#include "report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "mote/macroops/catalogue.h"

namespace mote::onnx {
namespace {

struct Row {
  int tests = 0, passed = 0, exact = 0, failed = 0, not_applicable = 0;
  int calls = 0, evaluated = 0;
  std::set<std::string> ops;
  std::map<std::string, int> reasons;  ///< the reasons of tests that are not applicable
};

void count(const Result& r, Row& row) {
  ++row.tests;
  row.calls += r.calls;
  row.evaluated += r.evaluated;
  row.ops.insert(r.ops.begin(), r.ops.end());
  if (r.verdict == Verdict::passed) {
    ++row.passed;
    row.exact += r.exact ? 1 : 0;
  } else if (r.verdict == Verdict::failed) {
    ++row.failed;
  } else {
    ++row.not_applicable;
    ++row.reasons[r.reason];
  }
}

std::map<std::string, Row> rows_of(const std::vector<Result>& results) {
  std::map<std::string, Row> rows;
  for (const Result& r : results) count(r, rows[r.op]);
  return rows;
}

std::string reasons_of(const Row& row) {
  std::vector<std::string> texts;
  for (const auto& [reason, times] : row.reasons) {
    texts.push_back(
        times == row.not_applicable || times == 1 ? reason : fmt::format("{} ({})", reason, times));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

/// Returns the cells of one line of a table, without the bars.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line.substr(1));
  for (std::string cell; std::getline(text, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' '), last = cell.find_last_not_of(' ');
    cells.push_back(first == std::string::npos ? "" : cell.substr(first, last - first + 1));
  }
  return cells;
}

std::vector<std::string> rows_in(const std::string& text) {
  std::vector<std::string> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| ")) rows.push_back(line);
  }
  return rows;
}

}  // namespace

std::string table(const std::vector<Result>& results) {
  Row total;
  for (const Result& r : results) count(r, total);
  std::string text = fmt::format(
      "{} tests: {} passed ({} of them compared bit for bit), {} failed, {} not applicable. {} of "
      "mote's ops ran, in {} calls, of which {} were compared with `evaluate`.\n\n| ONNX operator "
      "| "
      "tests | passed | bit for bit | failed | not applicable | mote's ops that ran | why not "
      "applicable |\n|---|---|---|---|---|---|---|---|\n",
      total.tests, total.passed, total.exact, total.failed, total.not_applicable, total.ops.size(),
      total.calls, total.evaluated);
  std::string rest;
  for (const auto& [op, row] : rows_of(results)) {
    if (row.passed + row.failed == 0) {
      rest += fmt::format("| {} | {} | {} |\n", op, row.tests, reasons_of(row));
      continue;
    }
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", op, row.tests, row.passed,
                        row.exact, row.failed, row.not_applicable, fmt::join(row.ops, ", "),
                        reasons_of(row));
  }
  if (rest.empty()) return text;
  return text +
         "\nOf these none is applicable:\n\n| ONNX operator | tests | why |\n|---|---|---|\n" +
         rest;
}

std::string unreached(const std::vector<Result>& results) {
  std::set<std::string> ran;
  for (const Result& r : results) ran.insert(r.ops.begin(), r.ops.end());
  std::vector<std::string> rest;
  for (const OpRecord& record : catalogue()) {
    if (!ran.contains(record.name)) rest.push_back(record.name);
  }
  return fmt::format("No test reaches {} of the {} ops of the catalogue: {}.\n", rest.size(),
                     catalogue().size(), fmt::join(rest, ", "));
}

std::vector<std::string> losses(const std::string& earlier, const std::vector<Result>& results) {
  std::map<std::string, int> before;
  for (const std::string& line : rows_in(earlier)) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() < 8 || cells[2].find_first_not_of("0123456789") != std::string::npos) continue;
    before[cells[0]] += std::stoi(cells[2]);
  }
  std::map<std::string, Row> rows = rows_of(results);
  std::vector<std::string> lost;
  for (const auto& [op, passed] : before) {
    const int now = rows[op].passed;
    if (now < passed) lost.push_back(fmt::format("{}: {} passed, now {}", op, passed, now));
  }
  return lost;
}

std::vector<std::string> outdated(const std::string& earlier, const std::string& now) {
  std::vector<std::string> kept = rows_in(now), gone;
  std::ranges::sort(kept);
  for (const std::string& row : rows_in(earlier)) {
    if (!std::ranges::binary_search(kept, row)) gone.push_back(row);
  }
  return gone;
}

}  // namespace mote::onnx
