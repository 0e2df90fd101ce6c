// SPDX-License-Identifier: Apache-2.0
// Tests that scans of whole tensors give what asking for element after element gives.
#include "run/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/interval.h"
#include "mote/oracle/fill.h"

namespace mote {
namespace {

constexpr std::int64_t kScanned = 700;  ///< elements, more than two of the scan's blocks
constexpr double kScanInf = std::numeric_limits<double>::infinity();
constexpr double kScanNaN = std::numeric_limits<double>::quiet_NaN();
constexpr DType kAllDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,   DType::i64,
                                DType::i32, DType::i8,  DType::u8,  DType::boolean};

/// Zeros of both signs, NaN, infinities and small numbers, as far as the dtype has them.
Dense mixed_values(DType dtype, std::uint64_t seed) {
  const double values[] = {0.0, -0.0, kScanNaN, kScanInf, -kScanInf, 1, -1, 2};
  Dense x(dtype, kScanned);
  for (std::int64_t k = 0; k < kScanned; ++k) {
    const double value = values[mix(seed + mix(static_cast<std::uint64_t>(k))) % 8];
    if (is_real(dtype))
      x.set(k, value);
    else
      x.set(k, std::isfinite(value) ? static_cast<std::int64_t>(value) : 3);
  }
  return x;
}

std::int64_t first_by_elements(const Dense& a, const Dense& b, Stretch of) {
  while (of.begin < of.end && a.same(of.begin, b)) ++of.begin;
  return of.begin;
}

TEST(Scan, FindsTheFirstDifferenceOfEachDType) {
  for (const DType dtype : kAllDTypes) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Dense a = mixed_values(dtype, seed);
      Dense b = mixed_values(dtype, seed);
      for (std::int64_t k = 0; k < kScanned; ++k) {
        // Another representation of the same value.
        if (is_real(dtype) && b.is_zero(k)) b.set(k, seed % 2 == 0 ? -0.0 : 0.0);
      }
      EXPECT_EQ(first_difference(a, b, {0, kScanned}), kScanned) << name(dtype);
      const auto at = static_cast<std::int64_t>(mix(seed) % kScanned);
      b.set(at,
            is_real(dtype) ? Number(5.0) : Number(std::int64_t{dtype != DType::boolean ? 5 : 0}));
      for (const Stretch of : {Stretch{0, kScanned}, Stretch{at, kScanned}, Stretch{at / 2, at + 1},
                               Stretch{0, at}, Stretch{at + 1, kScanned}, Stretch{at, at}})
        EXPECT_EQ(first_difference(a, b, of), first_by_elements(a, b, of)) << name(dtype);
    }
  }
}

TEST(Scan, FindsElementsThatNothingWrote) {
  for (const DType dtype : kAllDTypes) {
    Dense first(dtype, kScanned), second(dtype, kScanned);
    const auto poison = [&](Dense& x, Poison pattern, std::int64_t k) {
      const std::uint64_t bits = poison_bits(pattern, Role::output, dtype);
      std::copy_n(reinterpret_cast<const char*>(&bits), size_of(dtype),
                  static_cast<char*>(x.data()) + static_cast<std::size_t>(k) * size_of(dtype));
    };
    for (std::int64_t k = 0; k < kScanned; ++k) {
      first.set(k, is_real(dtype) ? Number(1.0) : Number(std::int64_t{1}));
      second.set(k, is_real(dtype) ? Number(1.0) : Number(std::int64_t{1}));
    }
    poison(first, Poison::first, 7);  // the second run wrote it
    for (const std::int64_t k : {300, 301, 699}) {
      poison(first, Poison::first, k);
      poison(second, Poison::second, k);
    }
    EXPECT_EQ(first_unwritten(first, second, {0, kScanned}), 300);
    EXPECT_EQ(first_unwritten(first, second, {301, kScanned}), 301);
    EXPECT_EQ(first_unwritten(first, second, {302, kScanned}), 699);
    EXPECT_EQ(first_unwritten(first, second, {302, 699}), 699);
    EXPECT_EQ(first_unwritten(first, second, {0, 7}), 7);
  }
}

/// Intervals some of which are empty, unbounded, NaN or without an end, around the expected values.
Interval mixed_interval(const Dense& expected, std::uint64_t seed) {
  Interval x;
  for (int end = 0; end < 2; ++end) x.ends.emplace_back(DType::f64, expected.count());
  for (std::int64_t k = 0; k < expected.count(); ++k) {
    const std::uint64_t draw = mix(seed ^ mix(static_cast<std::uint64_t>(k)));
    const double r = expected.at(k).real(), width = static_cast<double>(draw % 5) / 4;
    double lo = r - width, hi = r + width;
    if (draw % 97 == 0) lo = -kScanInf;
    if (draw % 89 == 0) hi = kScanInf;
    if (draw % 83 == 0) lo = hi = kScanNaN;
    x.ends[0].set(k, lo);
    x.ends[1].set(k, hi);
  }
  return x;
}

TEST(Scan, StopsWhereAnElementIsNotPlainlyAccepted) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    std::int64_t accepted = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Dense expected = mixed_values(dtype, seed);
      Dense got(dtype, kScanned);
      for (std::int64_t k = 0; k < kScanned; ++k)
        got.set(k, expected.at(k).real() + static_cast<double>(mix(seed + 99) % 3) / 8);
      const Interval x = mixed_interval(expected, seed);
      const auto is_plain = [&](std::int64_t k) {
        return std::isfinite(x.ends[0].at(k).real()) && std::isfinite(x.ends[1].at(k).real());
      };
      for (Stretch of{0, kScanned}; of.begin < of.end; ++of.begin) {
        double error = 0, by_elements = 0;
        const std::int64_t end = end_of_accepted(x, of, got, expected, error);
        for (std::int64_t k = of.begin; k < end; ++k) {
          if (got.same(k, expected)) continue;
          ASSERT_TRUE(is_plain(k) && accepts(x, k, got)) << k;
          by_elements = std::max(by_elements, error_share(x, k, got, expected));
          ++accepted;
        }
        EXPECT_EQ(error, by_elements);
        if (end == of.end) continue;
        ASSERT_FALSE(got.same(end, expected) || (is_plain(end) && accepts(x, end, got))) << end;
        of.begin = end;
        ++refused;
      }
    }
    EXPECT_GT(accepted, 100) << name(dtype);
    EXPECT_GT(refused, 100) << name(dtype);
  }
}

TEST(Scan, KnowsZerosAndSpecialValues) {
  for (const DType dtype : kAllDTypes) {
    Dense x(dtype, kScanned);
    for (std::int64_t k = 0; k < kScanned; ++k)
      x.set(k, is_real(dtype) ? Number(k % 2 == 0 ? 0.0 : -0.0) : Number(std::int64_t{0}));
    EXPECT_TRUE(all_zero(x));
    EXPECT_FALSE(has_special(x));
    x.set(kScanned - 1, is_real(dtype) ? Number(1.0) : Number(std::int64_t{1}));
    EXPECT_FALSE(all_zero(x)) << name(dtype);
    EXPECT_FALSE(has_special(x));
    if (!is_real(dtype)) continue;
    x.set(500, kScanNaN);
    EXPECT_TRUE(has_special(x)) << name(dtype);
    x.set(500, -kScanInf);
    EXPECT_TRUE(has_special(x)) << name(dtype);
  }
}

}  // namespace
}  // namespace mote
