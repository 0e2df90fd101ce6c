// SPDX-License-Identifier: Apache-2.0
// Tests activations against the C++ expressions that they stand for; parameters, NaN and
// infinities.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "activations.h"
#include "run.h"

namespace mote {
namespace {

const std::vector<double> kXs = {0.0,  -0.0, 0.5,   -0.5, 1.0,  -1.0, 2.5, -2.5, 3.0,
                                 -3.0, 7.0,  -11.0, 1e-9, 40.0, -40., 1e3, -1e3};

double larger(double a, double b) { return a > b ? a : b; }
double smaller(double a, double b) { return a < b ? a : b; }
double softplus(double x) { return larger(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double clip01(double x) { return smaller(larger(x, 0), 1); }

}  // namespace

const std::map<std::string, double (*)(double)>& activation_formulas() {
  static const std::map<std::string, double (*)(double)> formulas = {
      {"relu", [](double x) { return larger(x, 0); }},
      {"gelu", [](double x) { return 0.5 * x * (1 + std::erf(x * (1 / std::numbers::sqrt2))); }},
      {"gelu_tanh",
       [](double x) {
         const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * (x * x * x));
         return 0.5 * x * (1 + std::tanh(inner));
       }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"silu", [](double x) { return x * (1 / (1 + std::exp(-x))); }},
      {"hardswish", [](double x) { return x * clip01(x * (1.0 / 6) + 0.5); }},
      {"softplus", softplus},
      {"softsign", [](double x) { return x / (1 + std::fabs(x)); }},
      {"mish", [](double x) { return x * std::tanh(softplus(x)); }},
      {"leaky_relu", [](double x) { return x < 0 ? 0.01 * x : x; }},
      {"elu", [](double x) { return x < 0 ? std::expm1(x) : x; }},
      {"selu",
       [](double x) {
         const double alpha = 1.67326319217681884765625, gamma = 1.05070102214813232421875;
         return gamma * (x <= 0 ? alpha * std::expm1(x) : x);
       }},
      {"celu", [](double x) { return larger(x, 0) + smaller(std::expm1(x), 0); }},
      {"hardsigmoid", [](double x) { return clip01(0.2 * x + 0.5); }},
      {"threshold", [](double x) { return x <= 1 ? 0.0 : x; }},
  };
  return formulas;
}

namespace {

TEST(Activation, EveryOneAtItsDefaults) {
  for (const auto& [op, f] : activation_formulas()) {
    std::vector<double> want;
    for (const double x : kXs) want.push_back(f(x));
    EXPECT_EQ(run(op, {row(kXs)}), row(want)) << op;
  }
}

TEST(Activation, NanStaysNan) {
  for (const auto& [op, f] : activation_formulas()) {
    EXPECT_EQ(run(op, {row({kNan})}), row({kNan})) << op;
  }
}

TEST(Activation, AtTheInfinities) {
  const Array ends = row({kInf, -kInf});
  const std::map<std::string, std::vector<double>> wanted = {
      {"relu", {kInf, 0}},     {"gelu", {kInf, kNan}},     {"gelu_tanh", {kInf, kNan}},
      {"sigmoid", {1, 0}},     {"silu", {kInf, kNan}},     {"hardswish", {kInf, kNan}},
      {"softplus", {kInf, 0}}, {"softsign", {kNan, kNan}}, {"mish", {kInf, kNan}},
      {"elu", {kInf, -1}},     {"celu", {kInf, -1}},       {"leaky_relu", {kInf, -kInf}},
      {"hardsigmoid", {1, 0}}, {"threshold", {kInf, 0}},
  };
  for (const auto& [op, want] : wanted) EXPECT_EQ(run(op, {ends}), row(want)) << op;
}

TEST(Activation, ParametersHaveTheirMeaning) {
  EXPECT_EQ(run("leaky_relu", {row({-4, 2})}, {{"alpha", 0.5}}), row({-2, 2}));
  EXPECT_EQ(run("elu", {row({-kInf, 2})}, {{"alpha", 3.0}}), row({-3, 2}));
  EXPECT_EQ(run("celu", {row({-kInf, 0, 2})}, {{"alpha", 3.0}}), row({-3, 0, 2}));
  EXPECT_EQ(at(run("celu", {row({-2})}, {{"alpha", 2.0}}), {0, 0, 0, 0}),
            2 * at(run("celu", {row({-1})}), {0, 0, 0, 0}));
  EXPECT_EQ(run("selu", {row({-kInf, 2})}, {{"alpha", 2.0}, {"gamma", 4.0}}), row({-8, 8}));
  EXPECT_EQ(run("hardsigmoid", {row({1, -1, 4})}, {{"alpha", 0.25}, {"beta", 0.5}}),
            row({0.75, 0.25, 1}));
  EXPECT_EQ(run("threshold", {row({2, 2.5, -9})}, {{"threshold", 2.0}, {"value", 7.0}}),
            row({7, 2.5, 7}));
}

TEST(Relu, OverIntegers) {
  EXPECT_EQ(run("relu", {i32({1, 1, 1, 3}, {-3, 0, 4})}), i32({1, 1, 1, 3}, {0, 0, 4}));
}

TEST(Gated, TheGateIsTheFirst) {
  const Array gate = row({-2, 0, 0.5, kNan, 3}), x = row({5, 7, -3, 1, kInf});
  std::vector<double> glu, reglu, swiglu, geglu;
  for (std::int64_t k = 0; k < 5; ++k) {
    const double g = at(gate, {0, 0, 0, k}), v = at(x, {0, 0, 0, k});
    const double s = 1 / (1 + std::exp(-g));
    glu.push_back(s * v);
    reglu.push_back((std::isnan(g) ? g : larger(g, 0)) * v);
    swiglu.push_back(g * s * v);
    geglu.push_back(0.5 * g * (1 + std::erf(g * (1 / std::numbers::sqrt2))) * v);
  }
  EXPECT_EQ(run("glu", {gate, x}), row(glu));
  EXPECT_EQ(run("reglu", {gate, x}), row(reglu));
  EXPECT_EQ(run("swiglu", {gate, x}), row(swiglu));
  EXPECT_EQ(run("geglu", {gate, x}), row(geglu));
}

TEST(Prelu, TheSlopeBroadcasts) {
  const Array x = f64({1, 2, 1, 2}, {-1, 2, -3, kNan}), slope = f64({2, 1, 1}, {0.5, 10});
  EXPECT_EQ(run("prelu", {x, slope}), f64({1, 2, 1, 2}, {-0.5, 2, -30, kNan}));
  EXPECT_EQ(run("prelu", {i32({1, 1, 1, 2}, {-3, 4}), i32({1}, {2})}), i32({1, 1, 1, 2}, {-6, 4}));
}

}  // namespace
}  // namespace mote
