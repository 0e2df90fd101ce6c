// SPDX-License-Identifier: Apache-2.0
// Tests the 16-bit real formats: decodes every bit pattern, and checks rounding against the two
// neighbours.
#include "mote/base/float16.h"

#include <gtest/gtest.h>

#include <limits>

namespace mote {
namespace {

struct Codec {
  const char* name;
  std::uint16_t (*encode)(double);
  double (*decode)(std::uint16_t);
  std::uint16_t infinity;
  double greatest;
  double least;  ///< the least positive value
};
const Codec kCodecs[] = {{"f16", to_f16, from_f16, 0x7C00, 65504, 0x1p-24},
                         {"bf16", to_bf16, from_bf16, 0x7F80, 0x1.fep127, 0x1p-133}};

class Float16 : public testing::TestWithParam<Codec> {};
INSTANTIATE_TEST_SUITE_P(Formats, Float16, testing::ValuesIn(kCodecs),
                         [](const auto& info) { return info.param.name; });

TEST_P(Float16, EveryPatternSurvivesItsValue) {
  const Codec& c = GetParam();
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const double value = c.decode(pattern);
    if ((bits & 0x7FFFU) > c.infinity) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(std::isnan(c.decode(c.encode(value))));
    } else {
      EXPECT_EQ(c.encode(value), pattern);
    }
  }
}

TEST_P(Float16, RoundsToTheNearestAndTiesToEven) {
  const Codec& c = GetParam();
  for (unsigned bits = 0; bits < c.infinity; ++bits) {
    const auto below = static_cast<std::uint16_t>(bits);
    const auto above = static_cast<std::uint16_t>(bits + 1);
    const double low = c.decode(below);
    // Beyond the greatest value the next step stands for infinity.
    const double high = above == c.infinity
                            ? 2 * low - c.decode(static_cast<std::uint16_t>(bits - 1))
                            : c.decode(above);
    const double middle = low + (high - low) / 2;
    EXPECT_EQ(c.encode(std::nextafter(middle, low)), below);
    EXPECT_EQ(c.encode(std::nextafter(middle, high)), above);
    EXPECT_EQ(c.encode(middle), bits % 2 == 0 ? below : above);
    EXPECT_EQ(c.encode(-middle), (bits % 2 == 0 ? below : above) | 0x8000);
  }
}

TEST_P(Float16, Extremes) {
  const Codec& c = GetParam();
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(c.decode(c.infinity), inf);
  EXPECT_EQ(c.encode(inf), c.infinity);
  EXPECT_EQ(c.encode(-inf), c.infinity | 0x8000);
  EXPECT_EQ(c.encode(1e300), c.infinity);
  EXPECT_EQ(c.decode(static_cast<std::uint16_t>(c.infinity - 1)), c.greatest);
  EXPECT_EQ(c.decode(1), c.least);
  EXPECT_EQ(c.encode(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(c.encode(-0.0), 0x8000);
}

TEST(Float16Once, IsNotRoundedThroughFloat) {
  // This value is just above the middle of 1 and its successor; as a float it is the middle itself.
  EXPECT_EQ(to_f16(1 + 0x1p-11 + 0x1p-40), 0x3C01);
  EXPECT_EQ(to_f16(static_cast<double>(static_cast<float>(1 + 0x1p-11 + 0x1p-40))), 0x3C00);
}

}  // namespace
}  // namespace mote
