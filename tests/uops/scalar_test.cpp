// SPDX-License-Identifier: Apache-2.0
// Tests the scalar semantics: wrapping integers, NaN rules, rounding, casts, dtypes of results.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "caught.h"

namespace mote {
namespace {

using test::error_of;
using test::kInf;
using test::kNan;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kGreatest = std::numeric_limits<std::int64_t>::max();

double real(MapOp op, double a, double b = 0) {
  const std::vector<Number> args =
      arity(op) == 1 ? std::vector<Number>{a} : std::vector<Number>{a, b};
  return apply(op, args, DType::f64, DType::f64).real();
}
std::int64_t integer(MapOp op, std::int64_t a, std::int64_t b = 0) {
  const std::vector<Number> args =
      arity(op) == 1 ? std::vector<Number>{Number(a)} : std::vector<Number>{Number(a), Number(b)};
  return apply(op, args, DType::i64, DType::i64).integer();
}
bool compares(MapOp op, double a, double b) {
  return apply(op, std::vector<Number>{a, b}, DType::f64, DType::boolean).integer() != 0;
}
Number cast_to(const Number& n, DType from, DType to) {
  return apply(MapOp::cast, std::vector<Number>{n}, from, to);
}

TEST(Scalar, NamesAreDistinctAndComplete) {
  std::set<std::string_view> names;
  for (int k = 0; k <= static_cast<int>(MapOp::where); ++k) names.insert(name(MapOp(k)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(MapOp::where) + 1);
  EXPECT_EQ(name(MapOp::logical_and), "logical_and");
  EXPECT_EQ(name(ReduceOp::argmin), "argmin");
  EXPECT_EQ(arity(MapOp::isinf), 1);
  EXPECT_EQ(arity(MapOp::pow), 2);
  EXPECT_EQ(arity(MapOp::where), 3);
}

TEST(Scalar, IntegersWrap) {
  EXPECT_EQ(integer(MapOp::add, kGreatest, 1), kLeast);
  EXPECT_EQ(integer(MapOp::sub, kLeast, 1), kGreatest);
  EXPECT_EQ(integer(MapOp::mul, std::int64_t{1} << 62, 4), 0);
  EXPECT_EQ(integer(MapOp::neg, kLeast), kLeast);
  EXPECT_EQ(integer(MapOp::abs, kLeast), kLeast);
  EXPECT_EQ(integer(MapOp::abs, -5), 5);
}

TEST(Scalar, IntegerDivisionTruncatesAndModFloors) {
  EXPECT_EQ(integer(MapOp::div, -7, 2), -3);
  EXPECT_EQ(integer(MapOp::div, 7, -2), -3);
  EXPECT_EQ(integer(MapOp::div, 7, 0), 0);
  EXPECT_EQ(integer(MapOp::div, kLeast, -1), kLeast);
  EXPECT_EQ(integer(MapOp::mod, -7, 3), 2);
  EXPECT_EQ(integer(MapOp::mod, 7, -3), -2);
  EXPECT_EQ(integer(MapOp::mod, -6, 3), 0);
  EXPECT_EQ(integer(MapOp::mod, 7, 0), 0);
  EXPECT_EQ(integer(MapOp::mod, kLeast, -1), 0);
}

TEST(Scalar, IntegerPower) {
  EXPECT_EQ(integer(MapOp::pow, 3, 4), 81);
  EXPECT_EQ(integer(MapOp::pow, -2, 3), -8);
  EXPECT_EQ(integer(MapOp::pow, 0, 0), 1);
  EXPECT_EQ(integer(MapOp::pow, 2, 64), 0);
  EXPECT_EQ(integer(MapOp::pow, 3, 64), static_cast<std::int64_t>(8733086111712066817ULL));
  EXPECT_EQ(integer(MapOp::pow, 2, -1), 0);
  EXPECT_EQ(integer(MapOp::pow, 0, -1), 0);
  EXPECT_EQ(integer(MapOp::pow, 1, -5), 1);
  EXPECT_EQ(integer(MapOp::pow, -1, -5), -1);
  EXPECT_EQ(integer(MapOp::pow, -1, -4), 1);
}

TEST(Scalar, IntegerRoundingAndSign) {
  for (const MapOp op : {MapOp::floor, MapOp::ceil, MapOp::round, MapOp::trunc})
    EXPECT_EQ(integer(op, -3), -3) << name(op);
  EXPECT_EQ(integer(MapOp::sign, -3), -1);
  EXPECT_EQ(integer(MapOp::sign, 0), 0);
  EXPECT_EQ(integer(MapOp::sign, 9), 1);
}

TEST(Scalar, RealModHasTheSignOfTheDivisor) {
  EXPECT_EQ(real(MapOp::mod, 5.5, 2), 1.5);
  EXPECT_EQ(real(MapOp::mod, -5.5, 2), 0.5);
  EXPECT_EQ(real(MapOp::mod, 5.5, -2), -0.5);
  EXPECT_EQ(real(MapOp::mod, -4, 2), 0);
  EXPECT_EQ(real(MapOp::mod, 3, kInf), 3);
  EXPECT_EQ(real(MapOp::mod, -3, kInf), kInf);
  EXPECT_TRUE(std::isnan(real(MapOp::mod, 3, 0)));
}

TEST(Scalar, MaxAndMinPropagateNan) {
  for (const MapOp op : {MapOp::max, MapOp::min}) {
    EXPECT_TRUE(std::isnan(real(op, kNan, 1)));
    EXPECT_TRUE(std::isnan(real(op, 1, kNan)));
  }
  EXPECT_EQ(real(MapOp::max, -kInf, 2), 2);
  EXPECT_EQ(real(MapOp::min, -kInf, 2), -kInf);
}

TEST(Scalar, RoundsHalfToEven) {
  EXPECT_EQ(real(MapOp::round, 0.5), 0);
  EXPECT_EQ(real(MapOp::round, 1.5), 2);
  EXPECT_EQ(real(MapOp::round, 2.5), 2);
  EXPECT_EQ(real(MapOp::round, -2.5), -2);
  EXPECT_EQ(real(MapOp::trunc, -2.7), -2);
  EXPECT_EQ(real(MapOp::floor, -2.1), -3);
  EXPECT_EQ(real(MapOp::ceil, -2.7), -2);
}

TEST(Scalar, SignOfSpecialValues) {
  EXPECT_TRUE(std::isnan(real(MapOp::sign, kNan)));
  EXPECT_EQ(real(MapOp::sign, -0.0), 0);
  EXPECT_EQ(real(MapOp::sign, -kInf), -1);
}

TEST(Scalar, FunctionsAreThoseOfLibm) {
  EXPECT_EQ(real(MapOp::erf, 0.3), std::erf(0.3));
  EXPECT_EQ(real(MapOp::expm1, 0.3), std::expm1(0.3));
  EXPECT_EQ(real(MapOp::log1p, 0.3), std::log1p(0.3));
  EXPECT_EQ(real(MapOp::atan, 0.3), std::atan(0.3));
  EXPECT_EQ(real(MapOp::tanh, 0.3), std::tanh(0.3));
  EXPECT_EQ(real(MapOp::pow, 0.3, 1.7), std::pow(0.3, 1.7));
  EXPECT_EQ(real(MapOp::recip, 3), 1.0 / 3);
  EXPECT_EQ(real(MapOp::rsqrt, 3), 1.0 / std::sqrt(3.0));
  EXPECT_EQ(real(MapOp::div, 1, 0), kInf);
}

TEST(Scalar, NeighboursAmongDoubles) {
  EXPECT_EQ(real(MapOp::next_up, 1), 1 + 0x1p-52);
  EXPECT_EQ(real(MapOp::next_down, 1), 1 - 0x1p-53);
  EXPECT_EQ(real(MapOp::next_up, 0), 0x1p-1074);
  EXPECT_EQ(real(MapOp::next_down, 0), -0x1p-1074);
  EXPECT_EQ(real(MapOp::next_up, -kInf), -std::numeric_limits<double>::max());
  EXPECT_EQ(real(MapOp::next_up, kInf), kInf);
  EXPECT_EQ(real(MapOp::next_up, std::numeric_limits<double>::max()), kInf);
  EXPECT_TRUE(std::isnan(real(MapOp::next_down, kNan)));
}

TEST(Scalar, LowestBitIsTheUnitOfTheGrid) {
  EXPECT_EQ(real(MapOp::lowest_bit, 12), 4);
  EXPECT_EQ(real(MapOp::lowest_bit, -0.75), 0.25);
  EXPECT_EQ(real(MapOp::lowest_bit, 0x1p-1074), 0x1p-1074);
  EXPECT_EQ(real(MapOp::lowest_bit, 0x3p-1074), 0x1p-1074);
  EXPECT_EQ(real(MapOp::lowest_bit, 0x1.fffffep127), 0x1p104);
  EXPECT_EQ(real(MapOp::lowest_bit, -0.0), kInf);
  EXPECT_EQ(real(MapOp::lowest_bit, -kInf), 0);
  EXPECT_EQ(real(MapOp::lowest_bit, kNan), 0);
}

TEST(Scalar, ComparisonsWithNanAreFalseButNe) {
  for (const MapOp op : {MapOp::lt, MapOp::le, MapOp::gt, MapOp::ge, MapOp::eq})
    EXPECT_FALSE(compares(op, kNan, kNan)) << name(op);
  EXPECT_TRUE(compares(MapOp::ne, kNan, kNan));
  EXPECT_TRUE(compares(MapOp::eq, -0.0, 0.0));
  EXPECT_TRUE(compares(MapOp::le, 1, 1));
  EXPECT_FALSE(compares(MapOp::lt, 1, 1));
}

TEST(Scalar, CastsTruncateSaturateAndWrap) {
  EXPECT_EQ(cast_to(-2.9, DType::f64, DType::i64).integer(), -2);
  EXPECT_EQ(cast_to(1e30, DType::f64, DType::i64).integer(), kGreatest);
  EXPECT_EQ(cast_to(-kInf, DType::f64, DType::i64).integer(), kLeast);
  EXPECT_EQ(cast_to(kNan, DType::f64, DType::i32).integer(), 0);
  EXPECT_EQ(cast_to(3e9, DType::f64, DType::i32).integer(), 2147483647);
  EXPECT_EQ(cast_to(Number(std::int64_t{1} << 31), DType::i64, DType::i32).integer(), -2147483648);
  EXPECT_EQ(cast_to(kNan, DType::f64, DType::boolean).integer(), 1);
  EXPECT_EQ(cast_to(-0.0, DType::f64, DType::boolean).integer(), 0);
  EXPECT_EQ(cast_to(Number(7), DType::i32, DType::boolean).integer(), 1);
  EXPECT_EQ(cast_to(Number(1), DType::boolean, DType::f32).real(), 1.0);
  EXPECT_EQ(cast_to(0.1, DType::f64, DType::f32).real(), static_cast<double>(0.1F));
}

TEST(Scalar, StoresRoundToTheDtype) {
  EXPECT_EQ(store_as(0.1, DType::f32).real(), static_cast<double>(0.1F));
  EXPECT_EQ(store_as(0.1, DType::f64).real(), 0.1);
  EXPECT_EQ(store_as(1e300, DType::f32).real(), kInf);
  EXPECT_EQ(store_as(Number((std::int64_t{1} << 32) + 5), DType::i32).integer(), 5);
  EXPECT_EQ(store_as(Number(kGreatest), DType::i64).integer(), kGreatest);
}

TEST(Scalar, SameAndIdentical) {
  EXPECT_TRUE(same(Number(kNan), Number(-kNan)));
  EXPECT_TRUE(identical(Number(kNan), Number(-kNan)));
  EXPECT_TRUE(same(Number(0.0), Number(-0.0)));
  EXPECT_FALSE(identical(Number(0.0), Number(-0.0)));
  EXPECT_FALSE(same(Number(1.0), Number(1)));
  EXPECT_FALSE(same(Number(1.0), Number(kNan)));
}

TEST(Scalar, NeutralValues) {
  EXPECT_EQ(neutral(ReduceOp::max, DType::f32).real(), -kInf);
  EXPECT_EQ(neutral(ReduceOp::min, DType::f64).real(), kInf);
  EXPECT_EQ(neutral(ReduceOp::max, DType::i32).integer(), -2147483648);
  EXPECT_EQ(neutral(ReduceOp::min, DType::i64).integer(), kGreatest);
  EXPECT_EQ(neutral(ReduceOp::sum, DType::i64).integer(), 0);
  EXPECT_EQ(neutral(ReduceOp::prod, DType::f32).real(), 1.0);
  EXPECT_EQ(neutral(ReduceOp::any, DType::boolean).integer(), 0);
  EXPECT_EQ(neutral(ReduceOp::all, DType::boolean).integer(), 1);
  EXPECT_EQ(neutral(ReduceOp::max, DType::boolean).integer(), 0);
}

TEST(Scalar, ResultDtypes) {
  const auto result = [](MapOp op, std::vector<DType> args) {
    return result_dtype(op, args, DType::i32);
  };
  EXPECT_EQ(result(MapOp::add, {DType::i32, DType::i32}), DType::i32);
  EXPECT_EQ(result(MapOp::lt, {DType::f32, DType::f32}), DType::boolean);
  EXPECT_EQ(result(MapOp::isnan, {DType::f64}), DType::boolean);
  EXPECT_EQ(result(MapOp::where, {DType::boolean, DType::f32, DType::f32}), DType::f32);
  EXPECT_EQ(result(MapOp::cast, {DType::f64}), DType::i32);
  EXPECT_EQ(error_of([&] { result(MapOp::exp, {DType::i32}); }),
            "Map exp: dtype must be one of f32, f64, f16, bf16, got i32");
  EXPECT_EQ(error_of([&] {
              result(MapOp::add, {DType::f32, DType::f64});
            }),
            "Map add: dtypes of the arguments differ: f32 and f64");
  EXPECT_EQ(error_of([&] {
              result(MapOp::add, {DType::boolean, DType::boolean});
            }),
            "Map add: dtype must be one of f32, f64, f16, bf16, i32, i64, i8, u8, got bool");
  EXPECT_EQ(error_of([&] { result(MapOp::logical_not, {DType::f32}); }),
            "Map logical_not: dtype must be one of bool, got f32");
  EXPECT_EQ(error_of([&] {
              result(MapOp::where, {DType::f32, DType::f32, DType::f32});
            }),
            "Map where: the condition must be bool, got f32");
  EXPECT_EQ(error_of([&] {
              result(MapOp::neg, {DType::f32, DType::f32});
            }),
            "Map neg: takes 1 arguments, got 2");
}

}  // namespace
}  // namespace mote
