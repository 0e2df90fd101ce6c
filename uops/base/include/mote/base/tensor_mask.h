// SPDX-License-Identifier: Apache-2.0
// Defines masks that select some of an op's inputs, or of its outputs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mote {

/// A mask whose bit k stands for input, or output, k.
using TensorMask = std::uint64_t;
/// The number of tensors that a mask can hold. No op of the catalogue has more inputs; in other ops
/// the inputs beyond it are in no mask.
inline constexpr int kMaxMasked = 64;

/// Returns the mask of number k alone; empty for k beyond kMaxMasked.
constexpr TensorMask mask_bit(std::size_t k) {
  return k < static_cast<std::size_t>(kMaxMasked) ? TensorMask{1} << k : 0;
}
/// Returns the mask of the first `count`.
constexpr TensorMask first_masked(std::size_t count) {
  return count < static_cast<std::size_t>(kMaxMasked) ? mask_bit(count) - 1 : ~TensorMask{0};
}
constexpr bool is_in(TensorMask mask, std::size_t k) { return (mask & mask_bit(k)) != 0; }

}  // namespace mote
