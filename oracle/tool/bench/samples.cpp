// SPDX-License-Identifier: Apache-2.0
#include "bench/samples.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace mote::tool {
namespace {

/// The greatest rank k, from 0, such that P(fewer than k + 1 of n samples lie below the median) is
/// at most kMissed / 2; 0 if there is none.
std::size_t rank_of_low(std::size_t n) {
  double probability = std::exp2(-static_cast<double>(n));  // of exactly k samples
  double sum = probability;
  std::size_t rank = 0;
  for (std::size_t k = 1; k < n / 2; ++k) {
    probability *= static_cast<double>(n - k + 1) / static_cast<double>(k);
    sum += probability;
    if (sum > kMissed / 2) break;
    rank = k;
  }
  return rank;
}

}  // namespace

Median median_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  const std::size_t n = samples.size();
  const std::size_t low = rank_of_low(n);
  return {(samples[(n - 1) / 2] + samples[n / 2]) / 2, samples[low], samples[n - 1 - low]};
}

TimeRatio ratio_of_times(const std::vector<double>& times, const std::vector<double>& base) {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < std::min(times.size(), base.size()); ++k)
    ratios.push_back(times[k] / base[k]);
  const Median ratio = median_of(ratios);
  return {ratio, ratio.low > 1 || ratio.high < 1};
}

}  // namespace mote::tool
