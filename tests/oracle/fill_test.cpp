// SPDX-License-Identifier: Apache-2.0
// Tests fills: they are pure functions, within their limits, never trivial.
#include "mote/oracle/fill.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <set>
#include <vector>

#include "mote/base/error.h"
#include "mote/uops/element.h"

namespace mote {
namespace {

Filler filler(FillKind kind, std::uint64_t seed, std::int64_t radius = 3, std::int64_t count = 50,
              DType dtype = DType::f32, int position = 0, int inputs = 1) {
  return Filler({kind, seed}, {"x", dtype, position, inputs, count}, radius);
}

TEST(Fill, IsAPureFunctionOfTheIndex) {
  for (const FillKind kind :
       {FillKind::integer, FillKind::onehot, FillKind::index, FillKind::uniform, FillKind::mean,
        FillKind::tiny, FillKind::extreme, FillKind::special, FillKind::negative}) {
    const Filler a = filler(kind, 7);
    const Filler b = filler(kind, 7);
    std::vector<double> forward;
    for (std::int64_t k = 0; k < 50; ++k) forward.push_back(a.real(k));
    for (std::int64_t k = 50; k-- > 0;)
      EXPECT_TRUE(same(Number(b.real(k)), Number(forward[std::size_t(k)])));
  }
}

TEST(Fill, StoresTheElementsThatItGivesOneByOne) {
  constexpr std::int64_t kCount = 300;
  for (int kind = 0; kind <= static_cast<int>(FillKind::range); ++kind) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64,
                              DType::i32, DType::i8, DType::u8, DType::boolean}) {
      for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const Filler f = filler(FillKind(kind), seed, 1 + std::int64_t(seed), kCount, dtype, 0, 2);
        std::vector<unsigned char> stored(kCount * size_of(dtype)), expected(stored.size());
        f.store(stored.data(), kCount);
        for (std::int64_t k = 0; k < kCount; ++k)
          store_element(expected.data(), dtype, k,
                        is_real(dtype) ? Number(f.real(k)) : Number(f.integer(k)));
        EXPECT_EQ(stored, expected) << name(FillKind(kind)) << " of " << name(dtype);
      }
    }
  }
}

TEST(Fill, IndexGoesRoundTheRadius) {
  for (const std::int64_t radius : {1, 2, 3, 7, 1000, 16777215, 16777216}) {
    const std::uint64_t seed = 0xfedcba9876543210;
    const Filler f = filler(FillKind::index, seed, radius);
    const auto shift = static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(radius));
    for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, radius - 1, radius, radius + 1,
                                 5 * radius - 1, std::int64_t{1} << 40, INT64_MAX})
      EXPECT_EQ(f.integer(k), 1 + (k % radius + shift) % radius) << k << " mod " << radius;
  }
}

TEST(Fill, DependsOnSeedAndName) {
  const Filler a = filler(FillKind::integer, 1);
  const Filler b = filler(FillKind::integer, 2);
  const Filler c({FillKind::integer, 1}, {"w", DType::f32, 0, 1, 50}, 3);
  int differ_in_seed = 0;
  int differ_in_name = 0;
  for (std::int64_t k = 0; k < 50; ++k) {
    differ_in_seed += a.real(k) != b.real(k);
    differ_in_name += a.real(k) != c.real(k);
  }
  EXPECT_GT(differ_in_seed, 10);
  EXPECT_GT(differ_in_name, 10);
}

TEST(Fill, IntegersStayWithinTheRadiusAndAreNeverAllZero) {
  bool some_zero = false;
  bool some_tensor_without_zero = false;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const std::int64_t count : {1, 2, 7}) {
      const Filler f = filler(FillKind::integer, seed, 3, count);
      bool all_zero = true;
      bool any_zero = false;
      for (std::int64_t k = 0; k < count; ++k) {
        const double v = f.real(k);
        EXPECT_EQ(v, std::trunc(v));
        EXPECT_LE(std::abs(v), 3);
        all_zero = all_zero && v == 0;
        any_zero = any_zero || v == 0;
      }
      EXPECT_FALSE(all_zero);
      some_zero = some_zero || any_zero;
      some_tensor_without_zero = some_tensor_without_zero || (count == 7 && !any_zero);
    }
  }
  EXPECT_TRUE(some_zero);
  EXPECT_TRUE(some_tensor_without_zero);
}

TEST(Fill, OneHotHasOneElementInOneTensorAndIndexInTheOthers) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    int hot_tensors = 0;
    for (const int position : {0, 1, 2}) {
      const Filler f = filler(FillKind::onehot, seed, 9, 40, DType::f64, position, 3);
      int nonzero = 0;
      for (std::int64_t k = 0; k < 40; ++k) nonzero += f.real(k) != 0;
      hot_tensors += nonzero == 1;
      EXPECT_TRUE(nonzero == 1 || nonzero == 40);
    }
    EXPECT_EQ(hot_tensors, 1);
  }
}

TEST(Fill, OneHotOfBooleansIsTrueOnce) {
  const Filler f = filler(FillKind::onehot, 5, 9, 40, DType::boolean);
  std::int64_t sum = 0;
  for (std::int64_t k = 0; k < 40; ++k) sum += f.integer(k);
  EXPECT_EQ(sum, 1);
}

TEST(Fill, NeighboursDifferInIndex) {
  for (const std::uint64_t seed : {0ULL, 8ULL, 0xffffffffffffffffULL}) {
    const Filler f = filler(FillKind::index, seed, 9);
    for (std::int64_t k = 0; k + 1 < 50; ++k) {
      EXPECT_NE(f.real(k), f.real(k + 1));
      EXPECT_GE(f.real(k), 1);
      EXPECT_LE(f.real(k), 9);
    }
  }
}

TEST(Fill, UniformHasTheFullMantissaOfItsDtype) {
  const Filler f32 = filler(FillKind::uniform, 3, 1, 100, DType::f32);
  const Filler f64 = filler(FillKind::uniform, 3, 1, 100, DType::f64);
  int needs_double = 0;
  int needs_24_bits = 0;
  for (std::int64_t k = 0; k < 100; ++k) {
    EXPECT_GE(f32.real(k), -1);
    EXPECT_LT(f32.real(k), 1);
    EXPECT_EQ(static_cast<double>(static_cast<float>(f32.real(k))), f32.real(k));
    needs_24_bits += std::trunc(f32.real(k) * 0x1p20) != f32.real(k) * 0x1p20;
    needs_double += static_cast<double>(static_cast<float>(f64.real(k))) != f64.real(k);
  }
  EXPECT_GT(needs_24_bits, 50);
  EXPECT_GT(needs_double, 90);
}

TEST(Fill, SpecialHoldsEverySpecialValueAndSomeTensorsHoldNone) {
  int nan = 0, infinite = 0, minus_zero = 0, denormal = 0, without = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Filler f = filler(FillKind::special, seed, 1, 1000);
    int here = 0;
    for (std::int64_t k = 0; k < 1000; ++k) {
      const double v = f.real(k);
      nan += std::isnan(v);
      infinite += std::isinf(v);
      minus_zero += v == 0 && std::signbit(v);
      denormal += v != 0 && std::abs(v) < 0x1p-126;
      here += !std::isfinite(v);
    }
    without += here == 0;
  }
  for (const int count : {nan, infinite, minus_zero, denormal}) EXPECT_GT(count, 100);
  EXPECT_GT(without, 2);
  EXPECT_LT(without, 25);
}

TEST(Fill, NegativeIsNear100BelowZero) {
  const Filler f = filler(FillKind::negative, 3);
  for (std::int64_t k = 0; k < 50; ++k) {
    EXPECT_LT(f.real(k), -98);
    EXPECT_GT(f.real(k), -102);
  }
}

TEST(Fill, ExtremeIntegersLieNearTheEndsOfNarrowerOnes) {
  const Filler f = filler(FillKind::extreme, 3, 1, 4000, DType::i64);
  std::set<std::int64_t> near;
  for (std::int64_t k = 0; k < 4000; ++k)
    for (const unsigned bits : {0U, 7U, 8U, 15U, 16U, 31U, 32U}) {
      const std::int64_t end = bits == 0 ? 0 : std::int64_t{1} << bits;
      if (std::abs(std::abs(f.integer(k)) - end) <= 4) near.insert(end);
    }
  EXPECT_EQ(near.size(), 7U);
}

TEST(Fill, TextRoundTripsAndErrorsListTheKinds) {
  for (const char* text : {"integer:9f21", "onehot:0", "index:1", "uniform:ffffffffffffffff"}) {
    EXPECT_EQ(to_string(parse_fill(text)), text);
  }
  EXPECT_EQ(parse_fill("index").seed, 0U);
  try {
    parse_fill("ones:1");
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "unknown fill 'ones' (known: integer onehot index uniform mean tiny extreme special "
        "negative zeros ties runs range)");
  }
  EXPECT_THROW(parse_fill("index:xyz"), Error);
  EXPECT_THROW(parse_fill("index:"), Error);
  EXPECT_THROW(parse_fill("index:11112222333344445"), Error);
}

}  // namespace
}  // namespace mote
