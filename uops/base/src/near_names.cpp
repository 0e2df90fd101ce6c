// SPDX-License-Identifier: Apache-2.0
// Finds names by edit distance.
#include "mote/base/near_names.h"

#include <algorithm>
#include <utility>

namespace mote {
namespace {

/// The longest text that is compared, on either side: a longer one is no slip in a name, and would
/// take long.
constexpr std::size_t kLongest = 200;

/// Counts the insertions, deletions, replacements and swaps of neighbours that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::vector<std::string> near_names(std::string_view name, std::span<const std::string> known) {
  if (name.size() > kLongest) return {};
  std::vector<std::pair<std::size_t, std::string>> slips, parts;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance <= 1 + name.size() / 4) slips.emplace_back(distance, candidate);
    const bool holds = name.size() >= 3 && candidate.find(name) != std::string::npos;
    const bool held = candidate.size() >= 3 && name.find(candidate) != std::string_view::npos;
    if (holds || held) parts.emplace_back(distance, candidate);
  }
  std::vector<std::pair<std::size_t, std::string>>& found = slips.empty() ? parts : slips;
  std::ranges::sort(found);
  std::vector<std::string> names;
  for (const auto& [distance, match] : found) {
    if (names.size() < 3) names.push_back(match);
  }
  return names;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  if (name.size() < 2) return "";  // any other letter would be as near
  const std::vector<std::string> near = near_names(name, known);
  std::string text;
  for (std::size_t k = 0; k < near.size(); ++k)
    text += (k == 0 ? ", did you mean " : k + 1 < near.size() ? ", " : " or ") + near[k];
  return text.empty() ? text : text + "?";
}

}  // namespace mote
