// SPDX-License-Identifier: Apache-2.0
// Medians of measured times with the interval that contains the true median, by the order of the
// samples alone: nothing is assumed about how times are distributed.
#pragma once

#include <vector>

namespace mote::tool {

/// The probability with which an interval may miss the true median.
constexpr double kMissed = 0.01;
/// The least number of samples that have such an interval: 2 * 2^-8 < kMissed.
constexpr int kLeastRounds = 8;

struct Median {
  double value = 0;
  double low = 0;  ///< the true median lies in [low, high], except with probability kMissed
  double high = 0;
};

/// The median of independent samples. The number of samples below the true median is binomial with
/// p = 1/2, which gives the ranks of the interval's ends (the sign test). Needs kLeastRounds
/// samples or more; with fewer, the interval is from the least to the greatest.
Median median_of(std::vector<double> samples);

/// The comparison of one subject's times with another's, round by round.
struct TimeRatio {
  Median ratio;  ///< of times of the same round
  /// False if the interval of the ratio contains 1: the rounds scatter more than the two differ.
  bool told_apart = false;
};
TimeRatio ratio_of_times(const std::vector<double>& times, const std::vector<double>& base);

}  // namespace mote::tool
