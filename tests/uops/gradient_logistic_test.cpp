// SPDX-License-Identifier: Apache-2.0
// Tests gradients through c + exp(u) under a quotient or a logarithm, where exp(u) overflows, and
// where exp(u) and its square lie in the range between.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "gradient_check.h"
#include "gradient_programs.h"
#include "mote/uops/bound.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

const std::vector<double> kFarAndNear = {-1000, -750, -720, -500, -375, -40, -1,  0,
                                         1,     40,   375,  500,  720,  750, 1000};

Array row(const std::vector<double>& values) {
  Array a{DType::f64, {static_cast<std::int64_t>(values.size())}, {}};
  for (const double v : values) a.values.emplace_back(v);
  return a;
}

/// Expects that the gradient's last output, and three times the derivative of the program's last
/// output along its last input by dual numbers, both lie in the interval that the bound gives to
/// every element.
void expect_the_derivative(const Program& of, const GradientRequest& request = {}) {
  const Program program = gradient(of, request).program;
  const std::size_t n = kFarAndNear.size();
  Arrays inputs(of.inputs.size(), row(std::vector<double>(n, 1)));
  inputs.front() = row(std::vector<double>(n, 3));
  inputs.push_back(row(kFarAndNear));
  ASSERT_EQ(program.inputs.size(), inputs.size());
  const Array result = evaluate(program, inputs, {}).back();
  const Arrays ends = evaluate(bound(program), inputs, {});
  std::vector<DualArray> moved;
  for (std::size_t k = 1; k < inputs.size(); ++k) moved.push_back(as_dual(inputs[k]));
  for (Dual& d : moved.back().reals) d.tangent = 3;
  const DualArray truth = evaluate_dual(of, moved, {}).back();
  for (std::size_t k = 0; k < n; ++k) {
    const double lo = ends[ends.size() - 2].values[k].real(), hi = ends.back().values[k].real();
    const Quad wanted = truth.reals[k].tangent;
    EXPECT_TRUE(std::isfinite(lo) && std::isfinite(hi)) << to_string(program) << kFarAndNear[k];
    EXPECT_TRUE(Quad(lo) <= wanted && wanted <= Quad(hi))
        << to_string(program) << "at " << kFarAndNear[k] << ": " << static_cast<double>(wanted)
        << " is not in [" << lo << ", " << hi << "]";
    const double got = result.values[k].real();
    EXPECT_TRUE(lo <= got && got <= hi) << to_string(program) << "at " << kFarAndNear[k] << ": "
                                        << got << " is not in [" << lo << ", " << hi << "]";
  }
}

TEST(GradientLogistic, IsRightWhereTheExponentialOverflows) {
  for (const char* formula :
       {"1/(1 + exp(-x))", "recip(exp(-x) + 1)", "5/(1 + exp(x))", "x/(1 + exp(-x))",
        "log(2 + exp(x))", "log1p(exp(x))", "1/(2 + exp(x))"})
    expect_the_derivative(with_body(kX + std::string(formula)));
}

TEST(GradientLogistic, SecondOneIsRightThereToo) {
  GradientRequest of_gx;
  of_gx.from = {"gx"};
  expect_the_derivative(gradient(with_body(std::string(kX) + "1/(1 + exp(-x))")).program, of_gx);
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
