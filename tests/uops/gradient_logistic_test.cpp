// Gradients through c + exp(u) under a quotient or a logarithm, where exp(u) overflows, and where
// it and its square leave the range in between.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "gradient_check.h"
#include "gradient_programs.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

const std::vector<double> kFarAndNear = {-1000, -750, -720, -500, -375, -40, -1,  0,
                                         1,     40,   375,  500,  720,  750, 1000};

const double kRoundoff = std::ldexp(1, -53), kLeastNormal = std::numeric_limits<double>::min();

Array row(const std::vector<double>& values) {
  Array a{DType::f64, {static_cast<std::int64_t>(values.size())}, {}};
  for (const double v : values) a.values.emplace_back(v);
  return a;
}

/// e^x/(c + e^x), and c/(c + e^x).
double rising(double x, double c = 1) {
  return x < 0 ? std::exp(x) / (c + std::exp(x)) : 1 / (1 + c * std::exp(-x));
}
double falling(double x, double c = 1) {
  return x < 0 ? c / (c + std::exp(x)) : c * std::exp(-x) / (1 + c * std::exp(-x));
}
double sigmoid(double x) { return rising(x); }
double slope(double x) { return rising(x) * falling(x); }

/// 3*truth within some roundings of it and, where `scale` says, of another value: y*(1 - y) has an
/// error of the size of y's last digit.
void expect_gradient(const std::string& formula, const std::function<double(double)>& truth,
                     const std::function<double(double)>& scale) {
  const Array x = row(kFarAndNear);
  const Array g = row(std::vector<double>(kFarAndNear.size(), 3));
  const Array gx = gradients(kX + formula, {g, x}).back();
  for (std::size_t k = 0; k < kFarAndNear.size(); ++k) {
    const double wanted = 3 * truth(kFarAndNear[k]), size = std::fabs(3 * scale(kFarAndNear[k]));
    EXPECT_NEAR(gx.values[k].real(), wanted,
                8 * kRoundoff * (size + std::fabs(wanted)) + kLeastNormal)
        << formula << " at " << kFarAndNear[k];
  }
}
double nothing(double) { return 0; }

TEST(GradientLogistic, IsRightWhereTheExponentialOverflows) {
  expect_gradient("1/(1 + exp(-x))", slope, sigmoid);
  expect_gradient("recip(exp(-x) + 1)", slope, sigmoid);
  const auto five = [](double x) { return 5 * sigmoid(-x); };
  expect_gradient(
      "5/(1 + exp(x))", [](double x) { return -5 * slope(x); }, five);
  const auto silu_slope = [](double x) { return sigmoid(x) + x * slope(x); };
  expect_gradient("x/(1 + exp(-x))", silu_slope, [](double x) { return x * sigmoid(x); });
  // d/dx log(2 + e^x) = 1/(1 + 2 e^-x), and 1/(2 + e^x) has -e^x/(2 + e^x)^2.
  expect_gradient(
      "log(2 + exp(x))", [](double x) { return rising(x, 2); }, nothing);
  expect_gradient("log1p(exp(x))", sigmoid, nothing);
  const auto half = [](double x) { return falling(x, 2) / 2; };
  expect_gradient(
      "1/(2 + exp(x))", [&](double x) { return -rising(x, 2) * half(x); }, half);
}

TEST(GradientLogistic, SecondOneIsRightThereToo) {
  GradientRequest of_gx;
  of_gx.from = {"gx"};
  const Program second =
      gradient(gradient(with_body(std::string(kX) + "1/(1 + exp(-x))")).program, of_gx).program;
  ASSERT_EQ(second.inputs.size(), 3U);
  const std::size_t n = kFarAndNear.size();
  const std::vector<Array> g = evaluate(
      second, {row(std::vector<double>(n, 1)), row(std::vector<double>(n, 3)), row(kFarAndNear)},
      {});
  ASSERT_EQ(second.outputs.back().name, "gx_");
  for (std::size_t k = 0; k < n; ++k) {
    const double x = kFarAndNear[k], wanted = 3 * slope(x) * (sigmoid(-x) - sigmoid(x));
    EXPECT_NEAR(g.back().values[k].real(), wanted, 24 * kRoundoff * sigmoid(x) + kLeastNormal) << x;
  }
}

TEST(GradientLogistic, IsWhatDualNumbersSay) {
  for (const char* formula :
       {"1/(1 + exp(-x))", "recip(exp(x*w) + 1)", "w/(1 + exp(-x))", "x/(0.5 + exp(-x*w))",
        "log(2 + exp(x))*w", "log1p(exp(x*w))", "exp(x)/(1 + exp(x))", "1/(exp(x) - 9)",
        "w/(1 + exp(-x)) + exp(-x)"}) {
    int judged = 0;
    const GradientCase c{with_body(kXW + std::string(formula)),
                         {random_array(DType::f64, {9}, 3), random_array(DType::f64, {9}, 4)},
                         {}};
    EXPECT_EQ(check_gradient(c, 3, 5, &judged), "") << formula;
    EXPECT_GE(judged, 6) << formula;
  }
}

}  // namespace
}  // namespace mote
