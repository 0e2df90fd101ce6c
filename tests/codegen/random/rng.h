// SPDX-License-Identifier: Apache-2.0
// The only source of random numbers: splitmix64, the same on every machine and library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace mote::test {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  /// Returns 0 … n - 1.
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  /// Returns 0 <= x < 1.
  double unit() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<int>(from.size()))];
  }
  template <typename T>
  void shuffle(std::vector<T>& v) {
    for (std::size_t k = v.size(); k > 1; --k)
      std::swap(v[k - 1], v[static_cast<std::size_t>(below(static_cast<int>(k)))]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace mote::test
