// SPDX-License-Identifier: Apache-2.0
// Computes random bits as a function of a key and a counter: Philox 4x32 with ten rounds, as
// Salmon, Moraes, Dror and Shaw define it ("Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#pragma once

#include <array>
#include <cstdint>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// Returns four words for a counter of 128 bits (low word first) and a key of 64 bits.
inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                               std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

/// Returns the word at `position` of the stream of a seed: word position % 4 of the block with
/// counter position / 4 (both as unsigned 64-bit numbers) under the key `seed`. It is in 0..2^32-1.
inline std::int64_t philox_word(std::int64_t seed, std::int64_t position) {
  const auto key = static_cast<std::uint64_t>(seed);
  const auto at = static_cast<std::uint64_t>(position);
  const std::uint64_t block = at / 4;
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  return philox4x32({low(block), low(block >> 32), 0, 0}, {low(key), low(key >> 32)})[at % 4];
}

}  // namespace mote
