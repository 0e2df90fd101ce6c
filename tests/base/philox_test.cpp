// SPDX-License-Identifier: Apache-2.0
// Tests Philox against the known answers that its authors publish with Random123.
#include "mote/base/philox.h"

#include <gtest/gtest.h>

namespace mote {
namespace {

using Words = std::array<std::uint32_t, 4>;

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, AStreamIsTheWordsOfItsBlocks) {
  const std::int64_t seed = 0x299f31d0a4093822;
  const std::int64_t block = 0x0123456789;
  const Words words = philox4x32({0x23456789, 0x01, 0, 0}, {0xa4093822, 0x299f31d0});
  for (int k = 0; k < 4; ++k)
    EXPECT_EQ(philox_word(seed, 4 * block + k), std::int64_t{words[static_cast<std::size_t>(k)]});
}

}  // namespace
}  // namespace mote
