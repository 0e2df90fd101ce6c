// SPDX-License-Identifier: Apache-2.0
// A small generator of random numbers whose state is 64 bits, so that a case is a pure function of
// seed and position.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "mote/oracle/fill.h"

namespace mote {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() { return mix(state_++); }
  /// A value in [0, bound); bound is at least 1.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(bound));
  }
  /// A value in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  /// A value in [0, 1).
  double unit() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }
  /// A value in [low, high) with a uniform logarithm.
  double log_between(double low, double high) { return low * std::pow(high / low, unit()); }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<std::int64_t>(from.size()))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace mote
