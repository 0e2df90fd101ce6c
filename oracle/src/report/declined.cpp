// SPDX-License-Identifier: Apache-2.0
// Compares reasons without their sizes, so that a thousand cases have only a few.
#include "report/declined.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "mote/oracle/text.h"

namespace mote {
namespace {

constexpr std::size_t kDeclinedShown = 8;
constexpr std::size_t kReasonsShown = 2;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The text with everything in brackets replaced by "…".
std::string without_brackets(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    result += text[at];
    const std::size_t end = text[at] == '[' ? text.find(']', at) : std::string::npos;
    if (end == std::string::npos) continue;
    result += "…";
    at = end - 1;
  }
  return result;
}

std::vector<const Declined*> most_frequent(const Row& row) {
  std::vector<const Declined*> all;
  for (const auto& [kind, declined] : row.declined) all.push_back(&declined);
  std::ranges::stable_sort(all, std::greater<>(), &Declined::count);
  return all;
}

std::string reasons_of(const Row& row) {
  const std::vector<const Declined*> all = most_frequent(row);
  if (all.size() == 1) return without_brackets(all.front()->example);
  std::string text;
  std::int64_t others = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (k < kReasonsShown || all.size() == kReasonsShown + 1)
      text += fmt::format("{}{}x {}", k > 0 ? "; " : "", all[k]->count,
                          without_brackets(all[k]->example));
    else
      others += all[k]->count;
  }
  return others == 0 ? text : fmt::format("{}; {}x for other reasons", text, others);
}

/// The dtypes of an op that a backend declines for the same reasons.
struct Group {
  std::string op, backend, reasons;
  std::vector<std::string_view> dtypes;
  std::int64_t declined = 0, cases = 0;
  bool is_late = false;
};

void add_to_groups(std::vector<Group>& groups, const Row& row) {
  const std::string reasons = reasons_of(row);
  const auto is_alike = [&](const Group& g) {
    return g.op == row.op && g.backend == row.backend && g.reasons == reasons;
  };
  auto at = std::ranges::find_if(groups, is_alike);
  if (at == groups.end()) at = groups.insert(groups.end(), {row.op, row.backend, reasons, {}});
  at->dtypes.push_back(name(row.dtype));
  at->declined += row.count(Verdict::declined);
  at->cases += row.cases();
  at->is_late = at->is_late || row.declines_late();
}

}  // namespace

/// Digits in a word that begins with a letter belong to its name: f32, but not 3x3.
std::string reason_kind(const std::string& reason) {
  std::string kind;
  bool in_word = false;
  bool is_name = false;
  for (const char c : without_brackets(reason)) {
    if (!in_word) is_name = is_letter(c);
    in_word = is_letter(c) || is_digit(c) || c == '_';
    if (!is_digit(c) || is_name)
      kind += c;
    else if (!kind.ends_with('#'))
      kind += '#';
  }
  return kind;
}

std::int64_t Row::accepted() const {
  return cases() - count(Verdict::declined) - count(Verdict::skipped) + declined_by_run;
}

bool Row::declines_late() const {
  return static_cast<double>(declined_by_run) > kFewDeclined * static_cast<double>(accepted());
}

std::string declined_text(const std::vector<Row>& rows, const Screen& screen) {
  std::vector<Group> groups;
  std::int64_t declined = 0, drawn = 0;
  for (const Row& row : rows) {
    drawn += row.cases();
    declined += row.count(Verdict::declined);
    const bool took_some = row.accepted() > 0 || row.count(Verdict::skipped) > 0;
    if (!row.declined.empty() && took_some) add_to_groups(groups, row);
  }
  if (declined == 0) return "";
  std::ranges::stable_sort(groups, std::greater<>(),
                           [](const Group& g) { return std::pair(g.is_late, g.declined); });
  std::string text =
      fmt::format("declined: {} of {} cases{}\n", declined, drawn, groups.empty() ? "" : ":");
  for (std::size_t k = 0; k < std::min(kDeclinedShown, groups.size()); ++k) {
    const Group& g = groups[k];
    text += wrapped(fmt::format("  {} {} {}, {} of {}: {}", g.op, fmt::join(g.dtypes, ", "),
                                g.backend, g.declined, g.cases, g.reasons),
                    screen.columns, 4);
  }
  if (groups.size() > kDeclinedShown)
    text += fmt::format("  and of {} more ops and dtypes (--json lists all)\n",
                        groups.size() - kDeclinedShown);
  return text;
}

nlohmann::ordered_json declined_json(const Row& row) {
  auto all = nlohmann::ordered_json::array();
  for (const Declined* d : most_frequent(row))
    all.push_back({{"reason", d->example}, {"count", d->count}});
  return all;
}

std::string notes_text(const std::vector<Row>& rows, const Screen& screen) {
  std::string text;
  for (const Row& row : rows)
    if (row.noted > 0)
      text += wrapped(fmt::format("  {} {} {}, {} of {} that passed: {}", row.op, name(row.dtype),
                                  row.backend, row.noted, row.count(Verdict::passed), row.note),
                      screen.columns, 4);
  return text.empty() ? "" : "notes:\n" + text;
}

}  // namespace mote
