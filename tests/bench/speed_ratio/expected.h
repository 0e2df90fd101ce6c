// SPDX-License-Identifier: Apache-2.0
// The recorded ratios of gen's times to those of other libraries, one file for each level of
// x86-64, and how a measured one compares.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/samples.h"

namespace mote::bench {

/// gen's time over that of a peer on a case, round by round.
struct SpeedRatio {
  std::string peer;
  std::string case_text;
  tool::Median ratio;
};

struct SpeedRatios {
  std::string processor;  ///< where they were measured; other processors have others
  std::string date;
  std::vector<SpeedRatio> rows;

  const SpeedRatio* find(std::string_view peer, std::string_view case_text) const;
};

/// The text of a file; parse_ratios(to_string(r)) has the same numbers, to four digits.
std::string to_string(const SpeedRatios& ratios);
/// Throws Error with the number of a line that cannot be read.
SpeedRatios parse_ratios(std::string_view text);
/// The ratios of the file; nullopt if there is none.
std::optional<SpeedRatios> read_ratios(const std::string& path);

/// The change of the ratio of one sitting from the recorded one. Intervals that have a number in
/// common do not tell the two apart.
enum class SpeedChange { none, slower, faster };
SpeedChange change(const tool::Median& measured, const tool::Median& recorded);

}  // namespace mote::bench
