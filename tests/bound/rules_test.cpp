// SPDX-License-Identifier: Apache-2.0
// Tests the rules of the bound, one at a time, on values worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bound_ends.h"

namespace mote {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const double kNan = std::numeric_limits<double>::quiet_NaN();

using test::Ends;

/// Returns the bound of y of a program over x f32[N] (and w f32[N]).
Ends ends(const std::string& body, const std::vector<double>& x, const std::vector<double>& w = {},
          const Contract& contract = {}) {
  const std::string inputs = w.empty() ? "input x f32[N]\n" : "input x f32[N]\ninput w f32[N]\n";
  std::vector<Array> arrays;
  for (const auto* v : {&x, &w})
    if (!v->empty())
      arrays.push_back(test::array_of(DType::f32, {static_cast<std::int64_t>(v->size())}, *v));
  return test::ends_of(inputs + "output y = " + body, arrays, contract);
}

void expect_point(const Ends& e, std::size_t k, double value) {
  EXPECT_EQ(e.lo[k].real(), value);
  EXPECT_EQ(e.hi[k].real(), value);
}
void expect_unknown(const Ends& e, std::size_t k) {
  EXPECT_EQ(e.lo[k].real(), -kInf);
  EXPECT_EQ(e.hi[k].real(), kInf);
}

/// Counts the nodes that read a literal truth value.
int count_literal_truths(const Program& p) {
  const std::vector<Uop> roots = mote::roots(p);
  const auto is_literal = [](const Uop& u) {
    return u.dtype() == DType::boolean && std::holds_alternative<uop::Scalar>(u.node().kind);
  };
  int count = 0;
  for (const Uop& u : topological(roots)) count += std::ranges::any_of(operands(u), is_literal);
  return count;
}

TEST(BoundRules, WhatLiteralsDecideIsLeftOut) {
  const char* bodies[] = {"x/6 + 0.5",           "where(x < 1, x*0.5, 0)*w",
                          "max(min(x, 3), -w)",  "2*exp(x)/w",
                          "where(true, x*w, x)", "where((x > 0) || false, x, w)*3"};
  for (const char* body : bodies) {
    const Program p =
        parse_program(std::string("op p\ninput x f32[N]\ninput w f32[N]\noutput y = ") + body);
    EXPECT_EQ(count_literal_truths(bound(p)), 0) << to_string(bound(p));
  }
}

TEST(BoundRules, SumsOfIntegersArePoints) {
  expect_point(ends("sum[0](x)", {1, 2, 3, -7}), 0, -1);
  expect_point(ends("sum[0](x*w)", {1, 2, 3}, {4, 5, -6}), 0, -4);
}

TEST(BoundRules, ASumBeyondTheGridIsNoPoint) {
  const Ends e = ends("sum[0](x)", {0x1p24, 1, 1});
  EXPECT_LT(e.lo[0].real(), 0x1p24 + 2);
  EXPECT_GE(e.hi[0].real(), 0x1p24 + 2);
  EXPECT_LE(e.hi[0].real() - e.lo[0].real(), 2 * 3 * 0x1p-24 * (0x1p24 + 2) * (1 + 1e-6));
}

TEST(BoundRules, OneTermIsNotRoundedAndZerosAreNoTerms) {
  expect_point(ends("sum[0](x)", {0, 0.1F, 0}), 0, 0.1F);
  expect_point(ends("sum[0](x)", {0, 0}), 0, 0);
}

TEST(BoundRules, AnIntegerThatNoDoubleHoldsMayBeRoundedOnce) {
  // In float, 2^60 + 2^36 + 1 is nearest to 2^60 + 2^37; in double it rounds to the midpoint of
  // that and 2^60.
  constexpr std::int64_t kWhole = std::int64_t{1} << 60;
  constexpr std::int64_t kHalf = std::int64_t{1} << 36;
  const auto as_f32 = [](const std::string& dtype, std::int64_t x) {
    const DType t = *parse_dtype(dtype);
    return test::ends_of("input x " + dtype + "[N]\noutput y = f32(x)",
                         {Array{t, {1}, {Number(x)}}});
  };
  const Ends e = as_f32("i64", kWhole + kHalf + 1);
  EXPECT_EQ(store_as(e.lo[0], DType::f32).real(), 0x1p60);
  EXPECT_EQ(store_as(e.hi[0], DType::f32).real(), 0x1p60 + 0x1p37);
  const Ends held = as_f32("i64", (std::int64_t{1} << 53) - 1);
  EXPECT_EQ(held.lo[0].real(), 0x1p53 - 1);
  EXPECT_EQ(held.hi[0].real(), 0x1p53);
  expect_point(as_f32("i64", 3), 0, 3);
  // A position is less than 2^48, but its product with a parameter may not be.
  const Ends far = test::ends_of("param k int = " + std::to_string(kWhole + kHalf + 1) +
                                     "\ninput x f32[N]\noutput y = f32(iota(i0*$k over N))",
                                 {test::array_of(DType::f32, {2}, {0, 0})});
  EXPECT_LE(store_as(far.lo[1], DType::f32).real(), 0x1p60);
  EXPECT_GE(store_as(far.hi[1], DType::f32).real(), 0x1p60 + 0x1p37);
}

TEST(BoundRules, AnAdditionHasTheExactAndTheRoundedResult) {
  const Ends e = ends("x + w", {1, 1}, {0x1p-30, 2});
  EXPECT_EQ(e.lo[0].real(), 1);
  EXPECT_EQ(store_as(e.hi[0], DType::f32).real(), 1);
  expect_point(e, 1, 3);
}

TEST(BoundRules, ABiasJoinsTheSumItIsAddedTo) {
  // A sum that starts with the bias, 2^24 + 1 + 1, rounds twice; the sum alone is a point.
  const Ends e = ends("sum[0 keep](x) + w", {0.75, 0.5}, {0x1p24, 0x1p24});
  EXPECT_LE(e.lo[0].real(), 0x1p24);
  EXPECT_GE(e.hi[0].real(), 0x1p24 + 2);
}

TEST(BoundRules, SquaresAreNotNegative) {
  const Ends e = ends("exp(x*x - x*x)*sum[0 keep](x*x)", {0.1, -0.2});
  EXPECT_GT(e.lo[0].real(), 0);
}

TEST(BoundRules, WhatMayBeNanStaysSoThroughWhatIsNotBelowZero) {
  // 2 * 3e38 may be infinite; then inf - inf is NaN, and so is every result computed from it.
  const std::string unknown = "(w*2.0 - x)";
  for (const std::string body :
       {"v*v + 1.0", "sqrt(v*v)", "abs(v*v)", "sum[0 keep](v*v)", "(v*v)/w", "exp(v*v)",
        "rsqrt(v*v + 1.0)", "prod[0 keep](abs(v))", "max(v*v, 0.0)", "pow(v*v, 2.0)"}) {
    std::string text = body;
    for (std::size_t at; (at = text.find('v')) != std::string::npos;) text.replace(at, 1, unknown);
    expect_unknown(ends(text, {kInf}, {3e38}), 0);
  }
}

TEST(BoundRules, DivisionByZero) {
  const Ends e = ends("x/(w - w)", {1, 0}, {3, 3});
  expect_unknown(e, 0);
  EXPECT_TRUE(std::isnan(e.lo[1].real()) || e.lo[1].real() == -kInf);
  const Ends signed_zero = ends("x/w", {1, 1}, {0.0, -0.0});
  expect_point(signed_zero, 0, kInf);
  expect_point(signed_zero, 1, -kInf);
}

TEST(BoundRules, InfinitiesAtAZeroHaveTheSignOfTheZero) {
  // rsqrt(-0) and (-0)^-1 are -inf; the sign of a zero is certain only if the zero is an input.
  const Ends given = ends("rsqrt(x)", {0.0, -0.0});
  EXPECT_GT(given.lo[0].real(), 0);
  EXPECT_LT(given.hi[1].real(), 0);
  expect_unknown(ends("rsqrt(x*0.0)", {1}), 0);
  expect_unknown(ends("pow(x*0.0, -1.0)", {1}), 0);
  EXPECT_GT(ends("pow(x*0.0, -2.0)", {1}).lo[0].real(), 0);
}

TEST(BoundRules, PowersOfTwoDivideExactly) { expect_point(ends("x/8.0", {3}), 0, 0.375); }

TEST(BoundRules, ARemainderOfNanIsNan) {
  // exp is not certain, but its NaN is; the divisors are certain.
  for (const std::string divisor : {"5.0", "-5.0", "0.0", "w"}) {
    const Ends e = ends("mod(exp(x), " + divisor + ")", {kNan, 1}, {3, 3});
    EXPECT_TRUE(std::isnan(e.lo[0].real())) << divisor;
    EXPECT_TRUE(std::isnan(e.hi[0].real())) << divisor;
  }
}

TEST(BoundRules, APowerOfNanMayBeOne) {
  // pow(NaN, 0) and pow(1, NaN) are 1, and the exponent, or the base, may be that.
  expect_unknown(ends("pow(x, exp(w) - exp(w))", {kNan}, {1}), 0);
  expect_unknown(ends("pow(exp(w)/exp(w), x)", {kNan}, {1}), 0);
  const Ends one = ends("pow(x, w)", {kNan}, {0});
  EXPECT_LE(one.lo[0].real(), 1);
  EXPECT_GE(one.hi[0].real(), 1);
  for (const char* nan : {"pow(x, exp(w))", "pow(exp(w), x)"})
    EXPECT_TRUE(std::isnan(ends(nan, {kNan}, {1}).lo[0].real())) << nan;
}

TEST(BoundRules, NanIsRequiredWhereItIsCertain) {
  const Ends e = ends("x + w", {kNan, kInf, kInf}, {1, -kInf, kInf});
  for (const std::size_t k : {0U, 1U}) {
    EXPECT_TRUE(std::isnan(e.lo[k].real()));
    EXPECT_TRUE(std::isnan(e.hi[k].real()));
  }
  expect_point(e, 2, kInf);
}

TEST(BoundRules, OverflowOfASumLeavesNothingKnown) {
  expect_unknown(ends("sum[0](x)", {3e38, 3e38, -3e38}), 0);
}

/// 0 times an infinite sum is NaN, but 0 if an accumulator with more range holds the sum.
TEST(BoundRules, OverflowOfASumStaysWhateverItsFactor) {
  expect_unknown(ends("0*sum[0](x*w) + 1", {3e38, -3e38}, {3e38, 3e38}), 0);
  expect_unknown(ends("sum[0](0*sum[0](x*w) + x)", {3e38, -3e38}, {3e38, 3e38}), 0);
}

/// Returns the bound of y of a program over x f64[N]; no wider format holds an overflow there.
Ends ends_in_f64(const std::string& body, const std::vector<double>& x) {
  const auto count = static_cast<std::int64_t>(x.size());
  return test::ends_of("input x f64[N]\noutput y = " + body,
                       {test::array_of(DType::f64, {count}, x)});
}

/// fma(x, x, -inf) is -inf where x*x - inf is NaN; 0.001*x*x is a number where x*x is not.
TEST(BoundRules, WhatIsComputedFromAnOverflowInF64MayBeANumber) {
  const std::vector<double> x = {1e200, -1e200};
  for (const char* body : {"sum[0](x*1e200)", "x*x - x*x*1", "where(x > 0, x*x, x) - 1/(x - x)"})
    expect_unknown(ends_in_f64(body, x), 0);
  for (const char* body : {"0.001*(x*x)", "sqrt(abs(x*x))", "0.5*(1e108*abs(x) + 1e108*abs(x))"}) {
    const Ends e = ends_in_f64(body, {1.6e200});
    EXPECT_TRUE(std::isfinite(e.lo[0].real())) << body;
    EXPECT_EQ(e.hi[0].real(), kInf) << body;
  }
  expect_point(ends_in_f64("1 + x/0", x), 0, kInf);
  // 0 times an infinity is NaN, regardless of the formula that gives the 0.
  expect_unknown(ends_in_f64("x*(0.5*x)*(exp(-(x*x))*1.2)", x), 0);
  // A stored product overflows; infinite operands stay infinite.
  expect_point(ends_in_f64("x*x", x), 0, kInf);
  expect_point(ends_in_f64("x*2 + 1", {kInf}), 0, kInf);
}

TEST(BoundRules, OverflowOfAnOperationMayOrMayNotHappen) {
  const Ends e = ends("(x + w)*0.5", {3e38}, {3e38});
  EXPECT_LE(e.lo[0].real(), 3.0001e38);
  EXPECT_EQ(e.hi[0].real(), kInf);
}

TEST(BoundRules, AComparisonOfPointsIsDecided) {
  const Ends e = ends("where(x < w, f32(1), f32(2))", {1, 2}, {2, 1});
  expect_point(e, 0, 1);
  expect_point(e, 1, 2);
}

TEST(BoundRules, AnUndecidedComparisonGivesBothBranches) {
  const Ends e = ends("where(exp(x) < exp(w), f32(1), f32(5))", {1}, {1});
  EXPECT_LE(e.lo[0].real(), 1);
  EXPECT_GE(e.hi[0].real(), 5);
}

TEST(BoundRules, ArgmaxOfNearlyEqualValuesIsAnyOfThem) {
  const Ends e = ends("argmax[0](exp(x))", {0, 1, 1, 0.5});
  EXPECT_EQ(e.lo[0].integer(), 1);
  EXPECT_EQ(e.hi[0].integer(), 2);
  const Ends certain = ends("argmax[0](x)", {0, 1, 1, 0.5});
  EXPECT_EQ(certain.lo[0].integer(), 1);
  EXPECT_EQ(certain.hi[0].integer(), 1);
}

TEST(BoundRules, ProductsOfSmallIntegersArePoints) {
  expect_point(ends("prod[0](x)", {2, -3, 4}), 0, -24);
  expect_point(ends("prod[0](x)", {2, 0, 4}), 0, 0);
  expect_unknown(ends("prod[0](x)", {1e30, 1e30, 1e-30, 1e-30}), 0);
}

TEST(BoundRules, ProductsRoundInAnyOrder) {
  const Ends e = ends("prod[0](x)", {1.1, 1.3, -1.7});
  EXPECT_LT(e.lo[0].real(), -1.1 * 1.3 * 1.7);
  EXPECT_GT(e.hi[0].real(), e.lo[0].real());
  EXPECT_LT(e.hi[0].real(), -1.1 * 1.3 * 1.7 * (1 - 1e-6));
}

TEST(BoundRules, DeclaredAccuracyWidens) {
  Contract rough;
  rough.functions["exp"] = {.ulp = 100};
  const Ends fine = ends("exp(x)", {1}), wide = ends("exp(x)", {1}, {}, rough);
  EXPECT_GT(wide.hi[0].real() - wide.lo[0].real(), 20 * (fine.hi[0].real() - fine.lo[0].real()));
}

TEST(BoundRules, DeclaredMultiplyRoundingWidensWhatItRounds) {
  Contract tf32;
  tf32.multiply_bits = 11;
  expect_point(ends("sum[0](x*w)", {3, 5}, {7, 9}, tf32), 0, 66);
  const Ends e = ends("sum[0](x*w)", {1.0001, 0}, {1, 0}, tf32);
  EXPECT_LT(e.lo[0].real(), 1);
}

/// A kernel may sum each product by itself: rounded to 11 bits, 1.0001 is 1.
TEST(BoundRules, DeclaredMultiplyRoundingHoldsForSumsOfSeveralProducts) {
  Contract tf32;
  tf32.multiply_bits = 11;
  for (const auto& [sum, rounded] :
       {std::pair("sum[0](x*w + w*w)", 2.0), std::pair("sum[0](w*w - x*w)", 0.0),
        std::pair("sum[0](-(x*w))", -1.0)}) {
    const auto holds = [&, value = rounded](const Ends& e) {
      return e.lo[0].real() <= value && value <= e.hi[0].real();
    };
    EXPECT_TRUE(holds(ends(sum, {1.0001, 0}, {1, 0}, tf32))) << sum;
    EXPECT_FALSE(holds(ends(sum, {1.0001, 0}, {1, 0}))) << sum;
  }
}

/// f16 has no number between 0 and 2^-24, but tf32 has.
TEST(BoundRules, DeclaredLeastOperandWidensWhatLiesBelow) {
  Contract tf32, f16;
  tf32.multiply_bits = f16.multiply_bits = 11;
  f16.functions[kOperand] = {.abs = 0x1p-25};
  expect_point(ends("sum[0](x*w)", {0, 0x1p-24}, {7, 9}, f16), 0, 9 * 0x1p-24);
  expect_point(ends("sum[0](x*w)", {0, 0x1p-26}, {7, 1}, tf32), 0, 0x1p-26);
  const Ends e = ends("sum[0](x*w)", {0, 0x1p-26}, {7, 1}, f16);
  EXPECT_LE(e.lo[0].real(), 0);
  EXPECT_LT(e.hi[0].real(), 0x1p-24);
}

/// The least number of tf32 is 2^-136: a smaller one may be rounded to it or to 0, and 0 times
/// infinity is NaN.
TEST(BoundRules, DeclaredMultiplyRoundingEndsAtTheLeastNumber) {
  Contract tf32;
  tf32.multiply_bits = 11;
  const Ends up = ends("sum[0](x*w)", {0x1.8p-137, 0}, {0x1p100, 0}, tf32);
  EXPECT_GE(up.hi[0].real(), 0x1p-36);
  EXPECT_LE(up.lo[0].real(), 0x1p-37);
  EXPECT_LE(ends("sum[0](x*w)", {0x1p-138, 0}, {0x1p100, 0}, tf32).lo[0].real(), 0);
  expect_point(ends("sum[0](x*w)", {0x1p-136, 0}, {0x1p100, 0}, tf32), 0, 0x1p-36);
  expect_unknown(ends("sum[0](x*w)", {0x1p-138, 0}, {kInf, 1}, tf32), 0);
}

/// The sum is 1 + 2^-11 + 16 · 2^-23 (1 - 2^-7): tensor cores may drop all small terms, which the
/// usual n u M does not allow.
TEST(BoundRules, DeclaredDotWidensSumsOfProducts) {
  Contract tensor_cores;
  tensor_cores.functions[kDot] = {.ulp = 2};
  std::vector<double> x(18, 0x1p-23), w(18, 1 - 0x1p-7);
  x[0] = w[0] = w[1] = 1;
  x[1] = 0x1p-11;
  const double cut = 1 + 0x1p-11;
  EXPECT_GT(ends("sum[0](x*w)", x, w).lo[0].real(), cut);
  EXPECT_LT(ends("sum[0](x*w)", x, w, tensor_cores).lo[0].real(), cut);
  // Other sums are not widened, nor are sums that are exact in any order.
  std::vector<double> terms;
  for (std::size_t k = 0; k < x.size(); ++k) terms.push_back(x[k] * w[k]);
  EXPECT_GT(ends("sum[0](x)", terms, {}, tensor_cores).lo[0].real(), cut);
  expect_point(ends("sum[0](x*w)", {3, 5}, {7, 9}, tensor_cores), 0, 66);
}

/// A sum of two products is not one exact term, no matter how accurate it is declared.
TEST(BoundRules, DeclaredDotCountsATermAsOneRounding) {
  Contract careful;
  careful.functions[kDot] = {.ulp = 0.1};
  for (const std::size_t terms : {2U, 3U, 5U}) {
    std::vector<double> x(terms, 0x1p-30), w(terms, 1);
    x[0] = 1;
    const Ends usual = ends("sum[0](x*w)", x, w), e = ends("sum[0](x*w)", x, w, careful);
    EXPECT_LE(e.lo[0].real(), usual.lo[0].real()) << terms;
    EXPECT_GE(e.hi[0].real(), usual.hi[0].real()) << terms;
  }
}

/// A float rounds these products to its least number, and tensor cores drop them: two terms, and
/// four products of one term.
TEST(BoundRules, DeclaredDotCutsBelowTheLeastNumber) {
  Contract tensor_cores;
  tensor_cores.functions[kDot] = {.ulp = 2};
  for (const auto& [sum, terms] :
       {std::pair("sum[0](x*w)", 2U), std::pair("sum[0]((x*w + x*w) + (x*w + x*w))", 1U)}) {
    const std::vector<double> x(terms, 0x1.8p-75), w(terms, 0x1p-75);
    EXPECT_GT(ends(sum, x, w).lo[0].real(), 0) << sum;
    EXPECT_LE(ends(sum, x, w, tensor_cores).lo[0].real(), 0) << sum;
  }
}

/// fl(2^30 + 1) - 2^30 is 0 if a kernel sums each of the squares separately.
TEST(BoundRules, ProductsOfOneTermMayBeSummedApart) {
  const std::vector<double> x = {0x1p15, 1}, w = {0x1p15, 0};
  EXPECT_LE(ends("sum[0](x*x - w*w)", x, w).lo[0].real(), 0);
  EXPECT_LE(ends("sum[0](x*x - where(w > 0, w*w, 0))", x, w).lo[0].real(), 0);
  EXPECT_GE(ends("sum[0](w*w - x*x)", x, w).hi[0].real(), 0);
  // Sums that are exact in any order stay certain; a difference alone is one term.
  expect_point(ends("sum[0](x*w + w*w)", {3, 5}, {7, 9}), 0, 3 * 7 + 7 * 7 + 5 * 9 + 9 * 9);
  EXPECT_EQ(ends("sum[0](x - w)", x, w).lo[0].real(), 1);
}

/// exp(0) > 1/2 is known only when it is computed: the NaN of the other branch is no term.
TEST(BoundRules, ATermThatIsNotChosenHasNoSay) {
  const Ends e = ends("sum[0](w*w - where(exp(w) > 0.5, w*w, x*w))", {kInf, 1}, {0, 3});
  EXPECT_LE(e.lo[0].real(), 0);
  EXPECT_GE(e.hi[0].real(), 0);
}

/// A truncating tensor core drops the second product.
TEST(BoundRules, DeclaredDotOfTwoProductsOfOneTermIsNotExact) {
  Contract tensor_cores;
  tensor_cores.functions[kDot] = {.ulp = 2};
  EXPECT_LE(ends("sum[0](x*x + w*x)", {1}, {0x1.8p-24}, tensor_cores).lo[0].real(), 1);
}

TEST(BoundRules, DeclaredFlushingReachesZero) {
  Contract flushing;
  flushing.flushes_denormals = true;
  const Ends e = ends("x*w", {1e-20}, {1e-19}, flushing);
  EXPECT_EQ(e.lo[0].real(), 0);
  EXPECT_GT(e.hi[0].real(), 0);
}

TEST(BoundRules, RigidBodies) {
  const auto rigid = [](const std::string& body) {
    return is_rigid(
        parse_program("op t\ninput x f32[N]\ninput w f32[N]\noutput y = " + body + "\n"), 0);
  };
  EXPECT_TRUE(rigid("sum[0](x*w)"));
  EXPECT_TRUE(rigid("exp(x)"));
  EXPECT_TRUE(rigid("mean[0](x)"));
  EXPECT_TRUE(rigid("max(x, w)"));
  EXPECT_FALSE(rigid("exp(x)*w"));
  EXPECT_FALSE(rigid("x/(w + 1.0)"));
  EXPECT_FALSE(rigid("sum[0](x*sum[0 keep](w))"));
}

TEST(BoundRules, MovesAndChoicesAreCertain) {
  const auto certain = [](const std::string& body) {
    return is_certain(
        parse_program("op t\ninput x f32[N]\ninput w f32[N]\noutput y = " + body + "\n"), 0);
  };
  EXPECT_TRUE(certain("max(x, w)"));
  EXPECT_TRUE(certain("where(x < w, x, -w)"));
  EXPECT_FALSE(certain("x + w"));
  EXPECT_FALSE(certain("where(x < 0.1, x, w)"));
}

TEST(BoundRules, TruthValuesAreEqualWhereTheyAreCertain) {
  // x + w < 0.3 is false, open (0.1 + 0.2 rounds), and true.
  const std::vector<double> x = {0.1F, 0.1F, 0.1F};
  const std::vector<double> w = {1, 0.2F, -1};
  const Ends same = ends("where((x + w < 0.3) == (x < 0), f32(5), f32(7))", x, w);
  expect_point(same, 0, 5);
  EXPECT_EQ(same.lo[1].real(), 5);
  EXPECT_EQ(same.hi[1].real(), 7);
  expect_point(same, 2, 7);
  const Ends other = ends("where((x + w < 0.3) != (x < 0), f32(5), f32(7))", x, w);
  expect_point(other, 0, 7);
  EXPECT_EQ(other.lo[1].real(), 5);
  EXPECT_EQ(other.hi[1].real(), 7);
  expect_point(other, 2, 5);
}

TEST(BoundRules, TheBoundPrintsAndParses) {
  const Program p = parse_program("op t\ninput x f32[N]\noutput y = exp(x)*sum[0 keep](x)\n");
  const Program b = bound(p);
  EXPECT_TRUE(equal(b, parse_program(to_string(b))));
}

}  // namespace
}  // namespace mote
