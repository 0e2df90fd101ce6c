// SPDX-License-Identifier: Apache-2.0
// A file has the lines `processor NAME` and `date DAY`, and one for each ratio: the peer, the
// median, the ends of its interval, the case. Lines that begin with # are comments.
#include "expected.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "mote/base/error.h"

namespace mote::bench {
namespace {

constexpr const char* kHead =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "# gen's time over another library's: the median of several sittings, and the interval that\n"
    "# holds it with 99%. `mote_speed_ratio --record` writes this file.\n";

SpeedRatio row_of(const std::string& line) {
  SpeedRatio row;
  std::istringstream words(line);
  words >> row.peer >> row.ratio.value >> row.ratio.low >> row.ratio.high >> std::ws;
  std::getline(words, row.case_text);
  const bool ordered =
      0 < row.ratio.low && row.ratio.low <= row.ratio.value && row.ratio.value <= row.ratio.high;
  if (row.case_text.empty() || !ordered)
    throw Error(fmt::format("expected PEER MEDIAN LOW HIGH CASE, got '{}'", line));
  return row;
}

}  // namespace

const SpeedRatio* SpeedRatios::find(std::string_view peer, std::string_view case_text) const {
  const auto at = std::ranges::find_if(
      rows, [&](const SpeedRatio& r) { return r.peer == peer && r.case_text == case_text; });
  return at == rows.end() ? nullptr : &*at;
}

std::string to_string(const SpeedRatios& ratios) {
  std::string text = kHead;
  text += fmt::format("processor {}\ndate {}\n", ratios.processor, ratios.date);
  for (const SpeedRatio& r : ratios.rows)
    text += fmt::format("{} {:.4g} {:.4g} {:.4g} {}\n", r.peer, r.ratio.value, r.ratio.low,
                        r.ratio.high, r.case_text);
  return text;
}

SpeedRatios parse_ratios(std::string_view text) {
  SpeedRatios ratios;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto rest = [&](std::string_view name) { return line.substr(name.size()); };
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("processor ")) {
      ratios.processor = rest("processor ");
    } else if (line.starts_with("date ")) {
      ratios.date = rest("date ");
    } else {
      try {
        ratios.rows.push_back(row_of(line));
      } catch (const Error& e) {
        throw Error(fmt::format("line {}: {}", number, e.what()));
      }
    }
  }
  return ratios;
}

std::optional<SpeedRatios> read_ratios(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) return std::nullopt;
  std::ostringstream text;
  text << stream.rdbuf();
  return parse_ratios(text.str());
}

SpeedChange change(const tool::Median& measured, const tool::Median& recorded) {
  if (measured.low > recorded.high) return SpeedChange::slower;
  if (measured.high < recorded.low) return SpeedChange::faster;
  return SpeedChange::none;
}

}  // namespace mote::bench
