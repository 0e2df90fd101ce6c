// SPDX-License-Identifier: Apache-2.0
// The loops that measure the machine's limits, for each width of vectors. Each level's file
// includes this text and compiles it for that level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/machine.h"

namespace mote::tool {
namespace {

template <typename T, int kBytes>
struct VectorOf {
  typedef T type __attribute__((vector_size(kBytes), aligned(kBytes)));
};

/// Runs `rounds` rounds of 12 independent multiply-adds of vectors: enough to hide their latency,
/// few enough for 16 registers. The values stay at 1, which the compiler does not know.
template <typename T, int kBytes>
double multiply_adds(std::int64_t rounds) {
  using Vector = typename VectorOf<T, kBytes>::type;
  const volatile T one = 1;
  const auto ones = [&one] { return Vector{} + one; };
  const Vector factor = ones() / 2;
  const Vector term = ones() / 2;
  Vector a = ones(), b = ones(), c = ones(), d = ones(), e = ones(), f = ones();
  Vector g = ones(), h = ones(), i = ones(), j = ones(), k = ones(), l = ones();
  for (std::int64_t n = 0; n < rounds; ++n) {
    a = a * factor + term;
    b = b * factor + term;
    c = c * factor + term;
    d = d * factor + term;
    e = e * factor + term;
    f = f * factor + term;
    g = g * factor + term;
    h = h * factor + term;
    i = i * factor + term;
    j = j * factor + term;
    k = k * factor + term;
    l = l * factor + term;
  }
  const Vector sum = a + b + c + d + e + f + g + h + i + j + k + l;
  return static_cast<double>(sum[0]);
}

/// Reads `bytes`, a multiple of 8 vectors, in four streams, which the processor fetches ahead
/// better than one, and returns something that depends on all of them.
template <int kBytes>
std::uint64_t read_all(const void* memory, std::size_t bytes) {
  using Vector = typename VectorOf<std::uint64_t, kBytes>::type;
  const std::size_t count = bytes / kBytes / 4;
  const auto* first = static_cast<const Vector*>(memory);
  const Vector *second = first + count, *third = second + count, *fourth = third + count;
  Vector a{}, b{}, c{}, d{};
  for (std::size_t k = 0; k < count; k += 2) {
    a += first[k];
    b += first[k + 1];
    c += second[k];
    d += second[k + 1];
    a ^= third[k];
    b ^= third[k + 1];
    c ^= fourth[k];
    d ^= fourth[k + 1];
  }
  const Vector sum = a + b + c + d;
  std::uint64_t folded = 0;
  for (std::size_t k = 0; k < kBytes / sizeof(std::uint64_t); ++k) folded ^= sum[k];
  return folded;
}

template <int kBytes>
constexpr PeakLoops peak_loops() {
  return {kBytes, multiply_adds<float, kBytes>, multiply_adds<double, kBytes>, read_all<kBytes>};
}

}  // namespace
}  // namespace mote::tool
