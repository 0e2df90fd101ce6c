// SPDX-License-Identifier: Apache-2.0
// Tests every elementwise op against the C++ expression that it stands for, on a table of values.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "activations.h"
#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

const std::vector<double> kReals = {0.0, -0.0, 0.5,  -0.5,  1.0,    -1.0, 1.5,   2.5,
                                    3.0, -3.5, 1e-9, 1e300, 5e-324, kInf, -kInf, kNan};
const std::vector<std::int64_t> kIntegers = {0,
                                             1,
                                             -1,
                                             2,
                                             -3,
                                             7,
                                             std::numeric_limits<std::int64_t>::max(),
                                             std::numeric_limits<std::int64_t>::min()};

using RealUnary = double (*)(double);
using RealBinary = double (*)(double, double);

double half_to_even(double x) {
  const double down = std::floor(x), rest = x - down;
  if (rest != 0.5) return rest < 0.5 ? down : down + 1;
  return std::fmod(down, 2.0) == 0 ? down : down + 1;
}

const std::map<std::string, RealUnary> kRealUnary = {
    {"neg", [](double x) { return -x; }},
    {"abs", [](double x) { return std::fabs(x); }},
    {"sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : x; }},
    {"recip", [](double x) { return 1 / x; }},
    {"sqrt", [](double x) { return std::sqrt(x); }},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"exp", [](double x) { return std::exp(x); }},
    {"expm1", [](double x) { return std::expm1(x); }},
    {"log", [](double x) { return std::log(x); }},
    {"log1p", [](double x) { return std::log1p(x); }},
    {"sin", [](double x) { return std::sin(x); }},
    {"cos", [](double x) { return std::cos(x); }},
    {"tan", [](double x) { return std::tan(x); }},
    {"asin", [](double x) { return std::asin(x); }},
    {"acos", [](double x) { return std::acos(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"erf", [](double x) { return std::erf(x); }},
    {"floor", [](double x) { return std::floor(x); }},
    {"ceil", [](double x) { return std::ceil(x); }},
    {"round", half_to_even},
    {"trunc", [](double x) { return x < 0 ? std::ceil(x) : std::floor(x); }},
    {"isnan", [](double x) { return x != x ? 1.0 : 0.0; }},
    {"isinf", [](double x) { return x == kInf || x == -kInf ? 1.0 : 0.0; }},
};

const std::map<std::string, RealBinary> kRealBinary = {
    {"add", [](double a, double b) { return a + b; }},
    {"sub", [](double a, double b) { return a - b; }},
    {"mul", [](double a, double b) { return a * b; }},
    {"div", [](double a, double b) { return a / b; }},
    {"pow", [](double a, double b) { return std::pow(a, b); }},
    {"fmod", [](double a, double b) { return std::fmod(a, b); }},
    {"min", [](double a, double b) { return a != a || b != b ? kNan
                                            : a < b          ? a
                                                             : b; }},
    {"max", [](double a, double b) { return a != a || b != b ? kNan
                                            : a > b          ? a
                                                             : b; }},
    {"less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"less_or_equal", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"greater_or_equal", [](double a, double b) { return a >= b ? 1.0 : 0.0; }},
    {"equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"not_equal", [](double a, double b) { return a != b ? 1.0 : 0.0; }},
};

/// Returns the dtype of the op's result over f64.
DType result_of(const std::string& op) {
  const OpRecord& record = find_op(op);
  return instantiate(record, {DType::f64, full_mask(record)})->outputs[0].value.dtype();
}

TEST(Unary, EveryOpOverReals) {
  const std::int64_t n = std::ssize(kReals);
  for (const auto& [op, f] : kRealUnary) {
    std::vector<double> want;
    for (const double x : kReals) want.push_back(f(x));
    EXPECT_EQ(run(op, {f64({1, 1, 1, n}, kReals)}), tensor(result_of(op), {1, 1, 1, n}, want))
        << op;
  }
}

/// Puts a along the third axis and b along the last: every pair appears by broadcasting both.
TEST(Binary, EveryOpOverRealsWithTwoSidedBroadcast) {
  const std::int64_t n = std::ssize(kReals);
  for (const auto& [op, f] : kRealBinary) {
    std::vector<double> want;
    for (const double a : kReals)
      for (const double b : kReals) want.push_back(f(a, b));
    EXPECT_EQ(run(op, {f64({1, 1, n, 1}, kReals), f64({1, 1, 1, n}, kReals)}),
              tensor(result_of(op), {1, 1, n, n}, want))
        << op;
  }
}

TEST(Elementwise, TheTablesOfThisTestHoldEveryOpOverReals) {
  std::set<std::string> tested = {"mod", "prelu", "where",  "clamp", "lerp",
                                  "glu", "reglu", "swiglu", "geglu"};
  for (const auto& [op, f] : kRealUnary) tested.insert(op);
  for (const auto& [op, f] : kRealBinary) tested.insert(op);
  for (const OpRecord& record : catalogue()) {
    if (record.family != "elementwise" || !is_real(record.dtypes.front())) continue;
    if (activation_formulas().contains(record.name) || record.name.starts_with("cast_")) continue;
    EXPECT_TRUE(tested.contains(record.name)) << record.name;
  }
}

TEST(Mod, HasTheSignOfTheDivisor) {
  const Array a = f64({1, 1, 1, 6}, {5, -5, 5, -5, 1, kInf});
  const Array b = f64({1, 1, 1, 6}, {3, 3, -3, -3, 0, 1});
  EXPECT_EQ(run("mod", {a, b}), f64({1, 1, 1, 6}, {2, 1, -1, -2, kNan, kNan}));
  const Array i = i32({1, 1, 1, 5}, {5, -5, 5, -5, 1}), j = i32({1, 1, 1, 5}, {3, 3, -3, -3, 0});
  EXPECT_EQ(run("mod", {i, j}), i32({1, 1, 1, 5}, {2, 1, -1, -2, 0}));
}

TEST(Fmod, HasTheSignOfTheDividend) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  const Array a = i64({1, 1, 1, 7}, {5, -5, 5, -5, 1, least, least});
  const Array b = i64({1, 1, 1, 7}, {3, 3, -3, -3, 0, 3, -1});
  EXPECT_EQ(run("fmod", {a, b}), i64({1, 1, 1, 7}, {2, -2, 2, -2, 0, least % 3, 0}));
}

TEST(Isinf, EitherSignOrOne) {
  const Array x = f64({1, 1, 1, 4}, {kInf, -kInf, 1, kNan});
  const auto of = [&](int positive, int negative) {
    return run("isinf", {x}, {{"detect_positive", positive}, {"detect_negative", negative}});
  };
  EXPECT_EQ(of(1, 1), boolean({1, 1, 1, 4}, {1, 1, 0, 0}));
  EXPECT_EQ(of(1, 0), boolean({1, 1, 1, 4}, {1, 0, 0, 0}));
  EXPECT_EQ(of(0, 1), boolean({1, 1, 1, 4}, {0, 1, 0, 0}));
  EXPECT_EQ(of(0, 0), boolean({1, 1, 1, 4}, {0, 0, 0, 0}));
}

TEST(Div, IntegersTruncateAndDivisionByZeroIsZero) {
  const Array a = i32({1, 1, 1, 5}, {7, -7, 7, 5, std::numeric_limits<std::int32_t>::min()});
  const Array b = i32({1, 1, 1, 5}, {2, 2, -2, 0, -1});
  EXPECT_EQ(run("div", {a, b}),
            i32({1, 1, 1, 5}, {3, -3, -3, 0, std::numeric_limits<std::int32_t>::min()}));
}

TEST(Pow, IntegersWrapAndNegativeExponentsTruncate) {
  const Array a = i64({1, 1, 1, 6}, {3, -2, 2, -1, 1, 0}),
              b = i64({1, 1, 1, 6}, {4, 63, -1, -3, -2, 0});
  EXPECT_EQ(run("pow", {a, b}),
            i64({1, 1, 1, 6}, {81, std::numeric_limits<std::int64_t>::min(), 0, -1, 1, 1}));
}

/// Converts to two's complement in 64 bits.
std::int64_t wrapped(std::uint64_t x) { return static_cast<std::int64_t>(x); }

TEST(Elementwise, IntegersWrap) {
  std::vector<std::int64_t> a, b, sums, differences, products, negatives;
  for (const std::int64_t x : kIntegers) {
    negatives.push_back(wrapped(-static_cast<std::uint64_t>(x)));
    for (const std::int64_t y : kIntegers) {
      const auto u = static_cast<std::uint64_t>(x), v = static_cast<std::uint64_t>(y);
      sums.push_back(wrapped(u + v));
      differences.push_back(wrapped(u - v));
      products.push_back(wrapped(u * v));
    }
  }
  const std::int64_t n = std::ssize(kIntegers);
  const Array row = i64({1, 1, n, 1}, kIntegers), column = i64({1, 1, 1, n}, kIntegers);
  EXPECT_EQ(run("add", {row, column}), i64({1, 1, n, n}, sums));
  EXPECT_EQ(run("sub", {row, column}), i64({1, 1, n, n}, differences));
  EXPECT_EQ(run("mul", {row, column}), i64({1, 1, n, n}, products));
  EXPECT_EQ(run("neg", {row}), i64({1, 1, n, 1}, negatives));
}

TEST(Bitwise, WorksOnTheBitsOfTheDtype) {
  const auto bytes = [](const std::vector<double>& values) {
    return tensor(DType::u8, {1, 1, 1, std::ssize(values)}, values);
  };
  const Array a = bytes({12, 255, 5, 129}), b = bytes({10, 15, 250, 1});
  EXPECT_EQ(run("bitwise_and", {a, b}), bytes({8, 15, 0, 1}));
  EXPECT_EQ(run("bitwise_or", {a, b}), bytes({14, 255, 255, 129}));
  EXPECT_EQ(run("bitwise_xor", {a, b}), bytes({6, 240, 255, 128}));
  EXPECT_EQ(run("bitwise_not", {a}), bytes({243, 0, 250, 126}));
  EXPECT_EQ(run("shift_left", {a, bytes({1, 4, 8, 64})}), bytes({24, 240, 0, 0}));
  EXPECT_EQ(run("shift_right", {a, bytes({2, 1, 0, 7})}), bytes({3, 127, 5, 1}));
  const Array n = i32({1, 1, 1, 5}, {-8, -1, 7, -5, -5});
  EXPECT_EQ(run("shift_right", {n, i32({1, 1, 1, 5}, {1, 40, -1, -1, 64})}),
            i32({1, 1, 1, 5}, {-4, -1, 0, -1, -1}));
}

TEST(Elementwise, SmallIntegersWrapAt32Bits) {
  const std::int64_t least = std::numeric_limits<std::int32_t>::min();
  const Array x = i32({1, 1, 1, 1}, {least});
  EXPECT_EQ(run("neg", {x}), x);
  EXPECT_EQ(run("abs", {x}), x);
  EXPECT_EQ(run("sub", {x, i32({1, 1, 1, 1}, {1})}), i32({1, 1, 1, 1}, {-(least + 1)}));
  EXPECT_EQ(run("sign", {i32({1, 1, 1, 3}, {-9, 0, 4})}), i32({1, 1, 1, 3}, {-1, 0, 1}));
}

TEST(Elementwise, ComparisonsOfLargeIntegersAreExact) {
  const std::int64_t big = std::int64_t{1} << 53;
  const Array a = i64({1, 1, 1, 2}, {big, big + 1}), b = i64({1, 1, 1, 2}, {big + 1, big + 1});
  EXPECT_EQ(run("less", {a, b}), boolean({1, 1, 1, 2}, {1, 0}));
  EXPECT_EQ(run("equal", {a, b}), boolean({1, 1, 1, 2}, {0, 1}));
  EXPECT_EQ(run("max", {a, b}), i64({1, 1, 1, 2}, {big + 1, big + 1}));
}

TEST(Logical, TruthTables) {
  const Array a = boolean({1, 1, 2, 1}, {0, 1}), b = boolean({1, 1, 1, 2}, {0, 1});
  EXPECT_EQ(run("logical_and", {a, b}), boolean({1, 1, 2, 2}, {0, 0, 0, 1}));
  EXPECT_EQ(run("logical_or", {a, b}), boolean({1, 1, 2, 2}, {0, 1, 1, 1}));
  EXPECT_EQ(run("logical_xor", {a, b}), boolean({1, 1, 2, 2}, {0, 1, 1, 0}));
  EXPECT_EQ(run("equal", {a, b}), boolean({1, 1, 2, 2}, {1, 0, 0, 1}));
  EXPECT_EQ(run("not_equal", {a, b}), boolean({1, 1, 2, 2}, {0, 1, 1, 0}));
  EXPECT_EQ(run("logical_not", {b}), boolean({1, 1, 1, 2}, {1, 0}));
}

TEST(Binary, BroadcastsEachAxisFromEitherSide) {
  const Array a = f64({2, 1, 3, 1}, {0, 100, 200, 1000, 1100, 1200});
  const Array b = f64({1, 2, 1, 2}, {1, 2, 3, 4});
  const Array y = run("add", {a, b});
  ASSERT_EQ(y.shape, (Dims{2, 2, 3, 2}));
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      for (std::int64_t k = 0; k < 3; ++k)
        for (std::int64_t l = 0; l < 2; ++l)
          EXPECT_EQ(at(y, {i, j, k, l}), at(a, {i, 0, k, 0}) + at(b, {0, j, 0, l}));
}

TEST(Binary, BroadcastsAgainstEmptyAxesAndMissingOnes) {
  EXPECT_EQ(run("mul", {f64({1, 1, 0, 1}, {}), f64({1, 1, 1, 2}, {1, 2})}), f64({1, 1, 0, 2}, {}));
  EXPECT_EQ(run("mul", {f64({2}, {3, 4}), f64({1, 1, 2, 1}, {1, 2})}),
            f64({1, 1, 2, 2}, {3, 4, 6, 8}));
}

TEST(Binary, ExtentsThatDifferAreAnError) {
  EXPECT_THROW(run("add", {f64({1, 1, 1, 2}, {1, 2}), f64({1, 1, 1, 3}, {1, 2, 3})}), Error);
}

}  // namespace
}  // namespace mote
