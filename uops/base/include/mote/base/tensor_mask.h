// SPDX-License-Identifier: Apache-2.0
// Which of an op's inputs, or of its outputs, are meant.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mote {

/// Bit k: input, or output, k.
using TensorMask = std::uint64_t;
/// An op of the catalogue has no more inputs; of others, those beyond are in no mask.
inline constexpr int kMaxMasked = 64;

/// The mask of number k alone; of none beyond kMaxMasked.
constexpr TensorMask mask_bit(std::size_t k) {
  return k < static_cast<std::size_t>(kMaxMasked) ? TensorMask{1} << k : 0;
}
/// Of the first `count`.
constexpr TensorMask first_masked(std::size_t count) {
  return count < static_cast<std::size_t>(kMaxMasked) ? mask_bit(count) - 1 : ~TensorMask{0};
}
constexpr bool is_in(TensorMask mask, std::size_t k) { return (mask & mask_bit(k)) != 0; }

}  // namespace mote
