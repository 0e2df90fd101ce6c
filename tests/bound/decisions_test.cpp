// SPDX-License-Identifier: Apache-2.0
// Tests the rules of the bound that admit more than one answer: products, indices that are not
// certain, scatters, quantised arithmetic, the gradient of silu.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "bound_ends.h"
#include "judge.h"
#include "mote/macroops/catalogue.h"

namespace mote::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

void expect_point(const Ends& e, std::size_t k, double value) {
  EXPECT_EQ(e.lo[k].real(), value) << k;
  EXPECT_EQ(e.hi[k].real(), value) << k;
}
void expect_unknown(const Ends& e, std::size_t k) {
  EXPECT_EQ(e.lo[k].real(), -kInf) << k;
  EXPECT_EQ(e.hi[k].real(), kInf) << k;
}
/// Expects that the interval contains value·(1 ± units·2^-24), and nothing beyond value·(1 ±
/// 4·units·2^-24).
void expect_around(const Ends& e, std::size_t k, double value, double units) {
  const double width = std::fabs(value) * units * 0x1p-24;
  EXPECT_LE(e.lo[k].real(), value - width);
  EXPECT_GE(e.hi[k].real(), value + width);
  EXPECT_GE(e.lo[k].real(), value - 4 * width);
  EXPECT_LE(e.hi[k].real(), value + 4 * width);
}

// ---- prod

TEST(BoundDecisions, AProductRoundsOnceForEachFactorInAnyOrder) {
  const auto prod = [](const std::vector<double>& x) {
    return ends_of("input x f32[N]\noutput y = prod[0](x)",
                   {array_of(DType::f32, {static_cast<std::int64_t>(x.size())}, x)});
  };
  const double a = 1.1F, b = 1.3F, c = -1.7F;
  expect_around(prod({a, b, c}), 0, a * b * c, 2);
  expect_point(prod({3, 5, -7}), 0, -105);
  expect_point(prod({0.1F, 1, 1}), 0, 0.1F);
  // Some order overflows, or loses digits to underflow, and another does not.
  expect_unknown(prod({1e30, 1e30, 1e-30}), 0);
  const Ends tiny = prod({1e-30, 1e-30, 1e30});
  EXPECT_LE(tiny.lo[0].real(), 0);
  EXPECT_GE(tiny.hi[0].real(), 1e-30);
}

/// x0 * (x1 * x2) is 1e-100, although x0 * x1, which the reference computes first, is 0 in double.
TEST(BoundDecisions, AProductThatUnderflowsInDoubleNeedNotBeZero) {
  const auto prod = [](const std::vector<double>& x) {
    return ends_of("input x f64[N]\noutput y = prod[0](x)",
                   {array_of(DType::f64, {static_cast<std::int64_t>(x.size())}, x)});
  };
  EXPECT_GE(prod({1e-200, 1e-200, 1e300}).hi[0].real(), 1e-100);
  expect_point(prod({1e-200, 0, 1e300}), 0, 0);
}

// ---- exactness in double

TEST(BoundDecisions, ASumThatDoubleRoundsIsNoPoint) {
  const auto sum = [](double a, double b) {
    return ends_of("input x f32[N]\ninput v f32[N]\noutput y = x + v",
                   {array_of(DType::f32, {1}, {a}), array_of(DType::f32, {1}, {b})});
  };
  expect_point(sum(1, 2), 0, 3);
  expect_point(sum(1, -0x1p-20), 0, 1 - 0x1p-20);
  // Double holds this sum, f32 does not: the interval contains it and its rounding.
  EXPECT_EQ(sum(1, 0x1p-40).lo[0].real(), 1);
  EXPECT_EQ(sum(1, 0x1p-40).hi[0].real(), 1 + 0x1p-40);
  for (const auto& [a, b] : {std::pair(1.0, 0x1p-60), std::pair(0x1p-60, 1.0)}) {
    EXPECT_LE(sum(a, b).lo[0].real(), 1);
    EXPECT_GT(sum(a, b).hi[0].real(), 1);
    EXPECT_LT(sum(-a, -b).lo[0].real(), -1);
  }
  expect_point(sum(kInf, 1), 0, kInf);
  EXPECT_TRUE(std::isnan(sum(kInf, -kInf).lo[0].real()));
}

TEST(BoundDecisions, AProductOfPointsIsThatAndItsRounding) {
  const auto product = [](const std::string& factor, double x) {
    return ends_of("param a real = " + factor + "\ninput x f32[N]\noutput y = $a*x",
                   {array_of(DType::f32, {1}, {x})});
  };
  expect_point(product("0.5", 3), 0, 1.5);
  expect_point(product("0.5", kInf), 0, kInf);
  const Ends tenth = product("0.1", 1);  // used as it is, or rounded first
  EXPECT_LE(tenth.lo[0].real(), 0.1);
  EXPECT_GE(tenth.hi[0].real(), double{0.1F});
  const double x = 1 + 0x1p-23;
  const Ends square = ends_of("input x f32[N]\noutput y = x*x", {array_of(DType::f32, {1}, {x})});
  EXPECT_EQ(square.lo[0].real(), double{static_cast<float>(x * x)});
  EXPECT_EQ(square.hi[0].real(), x * x);  // 47 bits, which double holds
}

TEST(BoundDecisions, ANanOfAProductIsCertainWhereTheValuesAre) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* formula : {"exp(x)*v", "v*exp(x)"}) {
    const Ends e = ends_of(std::string("input x f32[N]\ninput v f32[N]\noutput y = ") + formula,
                           {array_of(DType::f32, {7}, {nan, 1, kInf, -kInf, 200, -200, 1}),
                            array_of(DType::f32, {7}, {2, nan, 0, kInf, 0, kInf, 3})});
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_TRUE(std::isnan(e.lo[k].real())) << formula << k;
      EXPECT_TRUE(std::isnan(e.hi[k].real())) << formula << k;
    }
    expect_unknown(e, 4);  // exp(200) may be infinite in f32, and exp(-200) may be 0
    expect_unknown(e, 5);
    expect_around(e, 6, std::exp(1.0) * 3, 4);
  }
}

/// Formulas of a derivative differ at infinities: x*(y + z) may be 0*inf where x*y + x*z is not.
TEST(BoundDecisions, InfinitiesOfDerivativesAreOpen) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto ends = [&](bool open) {
    return ends_of("input a f32[N]\ninput b f32[N]\noutput y = a*b - a",
                   {array_of(DType::f32, {4}, {0, kInf, nan, 2}),
                    array_of(DType::f32, {4}, {kInf, 1, kInf, 3})},
                   {.functions = {}, .open_infinities = open});
  };
  const Ends closed = ends(false), open = ends(true);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(closed.lo[k].real())) << k;
  expect_unknown(open, 0);
  expect_unknown(open, 1);
  EXPECT_TRUE(std::isnan(open.lo[2].real()));  // an input is NaN
  EXPECT_TRUE(std::isnan(open.hi[2].real()));
  expect_point(open, 3, 4);
  const auto quotient = [&](bool open) {
    return ends_of("input a f32[N]\ninput b f32[N]\noutput y = a/b*b",
                   {array_of(DType::f32, {3}, {0, 1, nan}), array_of(DType::f32, {3}, {0, 0, 0})},
                   {.functions = {}, .open_infinities = open});
  };
  EXPECT_TRUE(std::isnan(quotient(false).lo[0].real()));
  expect_unknown(quotient(true), 0);
  expect_unknown(quotient(true), 1);
  EXPECT_TRUE(std::isnan(quotient(true).lo[2].real()));
}

// ---- reads and writes at an index

TEST(BoundDecisions, AReadByAnIndexThatIsNotCertainIsUnknown) {
  const std::string text =
      "input x f32[N]\ninput v f32[M]\n"
      "output y = select[0](x, i64(exp(v))[i0 over m: N else 0])";
  const Array x = array_of(DType::f32, {3}, {5, 6, 7});
  // exp(1) = 2.7… reads position 2 regardless of its last digits; exp(0) may be just below 1.
  const Ends e = ends_of(text, {x, array_of(DType::f32, {3}, {0.9, 0, -1})});
  expect_point(e, 0, 7);
  expect_unknown(e, 1);
  expect_point(e, 2, 5);
}

TEST(BoundDecisions, AScatterByAddIsASumOfWhatArrives) {
  const std::string text =
      "input b f32[N]\ninput x f32[M]\ninput i i64[M]\n"
      "output y = select_scatter[0, add](b, x, i)";
  const auto scattered = [&](const std::vector<double>& b, const std::vector<double>& x,
                             const std::vector<double>& i) {
    return ends_of(text, {array_of(DType::f32, {2}, b), array_of(DType::f32, {3}, x),
                          array_of(DType::i64, {3}, i)});
  };
  const Ends exact = scattered({1, 2}, {3, 4, 5}, {0, 0, 1});
  expect_point(exact, 0, 8);
  expect_point(exact, 1, 7);
  const double a = 0.1F, b = 0.2F, c = 0.3F;
  const Ends e = scattered({a, 9}, {b, c, 4}, {0, 0, 7});
  expect_around(e, 0, a + b + c, 2);
  expect_point(e, 1, 9);  // nothing is written here
}

TEST(BoundDecisions, AScatterByMulIsAProduct) {
  const Ends e =
      ends_of("input b f32[N]\ninput x f32[M]\noutput y = scatter[mul](b, x to i0/2)",
              {array_of(DType::f32, {2}, {1.1F, 5}), array_of(DType::f32, {3}, {1.3F, -1.7F, 1})});
  EXPECT_LE(e.lo[0].real(), 1.1F * 1.3F * -1.7);
  EXPECT_GE(e.hi[0].real(), double{1.1F} * 1.3F * -1.7F);
  EXPECT_LE(e.lo[1].real(), 5);
  EXPECT_GE(e.hi[1].real(), 5);
}

TEST(BoundDecisions, AScatterByAnIndexThatIsNotCertainIsUnknownEverywhere) {
  const Ends e = ends_of(
      "input b f32[N]\ninput x f32[M]\n"
      "output y = select_scatter[0, set](b, x, i64(exp(x)))",
      {array_of(DType::f32, {2}, {1, 2}), array_of(DType::f32, {1}, {0})});
  expect_unknown(e, 0);
  expect_unknown(e, 1);
}

/// Returns a scale that brings the sum within its last digit below half of an odd number, so that a
/// further rounding gives the even number above.
double scale_to_a_tie(double sum) {
  for (int half = 3; half < 64; half += 4) {
    const auto scale = static_cast<float>(half / 2.0 / sum);
    const double exact = double{scale} * sum;
    if (exact < half / 2.0 && static_cast<float>(exact) == static_cast<float>(half / 2.0))
      return scale;
  }
  return 0;
}

// ---- quantised: u8 times i8, summed as integers, scaled, rounded

TEST(BoundDecisions, QuantisedArithmeticIsExactUntilItIsScaledAndOpenAtATie) {
  const std::string text =
      "input x u8[N]\ninput w i8[N]\ninput s f32[M]\n"
      "v1 = sum[0]((i32(x) - 128)*i32(w))\n"
      "output y = u8(max(min(round(f32(v1)[over M]*s) + 128.0, 255.0), 0.0))";
  const auto quantised = [&](const std::vector<double>& scales) {
    return ends_of(
        text, {array_of(DType::u8, {3}, {255, 0, 130}), array_of(DType::i8, {3}, {127, -128, 3}),
               array_of(DType::f32, {static_cast<std::int64_t>(scales.size())}, scales)});
  };
  // The sum is 127·127 + 128·128 + 2·3 = 32519.
  const double tie = scale_to_a_tie(32519);
  ASSERT_GT(tie, 0);
  const auto below = static_cast<std::int64_t>(std::floor(tie * 32519)) + 128;
  const Ends e = quantised({1.0 / 512, tie, 1e-9, 1, 0.001});
  const auto both = [&](std::size_t k, std::int64_t lo, std::int64_t hi) {
    EXPECT_EQ(e.lo[k].integer(), lo) << k;
    EXPECT_EQ(e.hi[k].integer(), hi) << k;
  };
  both(0, 192, 192);          // 63.513… rounds to 64 in any implementation
  both(1, below, below + 1);  // either neighbour, since the scaled sum is rounded
  both(2, 128, 128);
  both(3, 255, 255);  // saturated
  both(4, 161, 161);  // 32.519
}

TEST(BoundDecisions, QuantisingIsExactWhereTheScaleIsAPowerOfTwo) {
  const std::string text =
      "input x f32[N]\ninput s f32[N]\n"
      "output y = u8(round(x/s) + 3.0)";
  const Ends e = ends_of(text, {array_of(DType::f32, {6}, {2.5, 3.5, 0, -9, 1e9, 0.75}),
                                array_of(DType::f32, {6}, {1, 1, 0.1, 1, 1, 0.3})});
  const auto both = [&](std::size_t k, std::int64_t lo, std::int64_t hi) {
    EXPECT_EQ(e.lo[k].integer(), lo) << k;
    EXPECT_EQ(e.hi[k].integer(), hi) << k;
  };
  both(0, 5, 5);  // the exact tie 2.5 rounds to the even 2, before the zero point is added
  both(1, 7, 7);
  both(2, 3, 3);
  both(3, 0, 0);
  both(4, 255, 255);
  both(5, 5, 6);  // in floats, 0.75/0.3 is within a unit of 2.5, on either side
}

// ---- silu's gradient

TEST(BoundDecisions, TheGradientOfSiluHoldsTheFormulasOfOthers) {
  const OpRecord& record = *gradient_of(find_op("silu"));
  const Program& p = *instantiate(record, {DType::f32, full_mask(record)});
  const Program b = bound(p);
  const auto sigmoid = [](float x) { return 1 / (1 + std::exp(-x)); };
  using Formula = std::function<float(float g, float x)>;
  const std::vector<Formula> correct = {
      [&](float g, float x) { return g * (sigmoid(x) * (1 + x * (1 - sigmoid(x)))); },
      [&](float g, float x) { return g * sigmoid(x) * (1 + x * (1 - sigmoid(x))); },
      [&](float g, float x) {
        const float s = sigmoid(x);
        return g * std::fma(s, x * (1 - s), s);
      },
      [&](float g, float x) {
        const float s = sigmoid(x), y = x * s;
        return g * (y + s * (1 - y));
      }};
  const std::vector<Formula> defective = {
      [&](float g, float x) { return g * sigmoid(x) * (1 + x * sigmoid(x)); },
      [&](float g, float x) { return g * (sigmoid(x) * (1 + x * (1 - sigmoid(x * 0.999F)))); }};
  const auto refused = [&](const Formula& f, Data kind) {
    const Array gy{DType::f32, {1, 1, 1, 64}, draw(Data::uniform, DType::f32, 64, 3)};
    const Array x{DType::f32, {1, 1, 1, 64}, draw(kind, DType::f32, 64, 4)};
    Array y{DType::f32, gy.shape, {}};
    for (std::size_t k = 0; k < 64; ++k)
      y.values.emplace_back(double{
          f(static_cast<float>(gy.values[k].real()), static_cast<float>(x.values[k].real()))});
    const std::vector<Array> reference = evaluate(p, {gy, x}, {});
    return judge(bounds_of(b, {gy, x}, {}), {y}, reference);
  };
  for (int kind = 0; kind + 1 < kDataKinds; ++kind)  // the last kind has infinities
    for (std::size_t k = 0; k < correct.size(); ++k) {
      const Verdicts v = refused(correct[k], static_cast<Data>(kind));
      EXPECT_EQ(v.refused, 0) << "formula " << k << " data " << kind << ": " << v.first;
    }
  for (const Formula& f : defective) EXPECT_GT(refused(f, Data::uniform).refused, 10);
}

}  // namespace
}  // namespace mote::test
