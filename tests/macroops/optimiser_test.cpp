// SPDX-License-Identifier: Apache-2.0
// Tests optimiser steps on data whose arithmetic is exact, or against their formulas in the same
// order.
#include <gtest/gtest.h>

#include <cmath>

#include "run.h"

namespace mote {
namespace {

using Outputs = std::vector<Array>;

TEST(Sgd, PlainMomentumDampeningAndNesterov) {
  const Array w = f64({2}, {8, -8}), g = f64({2}, {2, 4}), m = f64({2}, {16, 0});
  const auto step = [&](const Params& params) {
    Params all = {{"step", 2}, {"lr", 0.5}};
    for (const auto& [name, value] : params) all[name] = value;
    return run_all("sgd", DType::f64, {w, g, m}, all);
  };
  EXPECT_EQ(step({}), (Outputs{f64({2}, {7, -10}), g}));
  EXPECT_EQ(step({{"momentum", 0.25}}), (Outputs{f64({2}, {5, -10}), f64({2}, {6, 4})}));
  EXPECT_EQ(step({{"momentum", 0.25}, {"dampening", 0.5}}),
            (Outputs{f64({2}, {5.5, -9}), f64({2}, {5, 2})}));
  EXPECT_EQ(step({{"momentum", 0.25}, {"nesterov", 1}}),
            (Outputs{f64({2}, {6.25, -10.5}), f64({2}, {6, 4})}));
  EXPECT_EQ(step({{"weight_decay", 0.5}}), (Outputs{f64({2}, {5, -8}), f64({2}, {6, 0})}));
}

TEST(Sgd, TheFirstStepTakesTheGradientAsState) {
  const Array w = f64({1}, {8}), g = f64({1}, {2}), m = f64({1}, {kNan});
  EXPECT_EQ(run_all("sgd", DType::f64, {w, g, m},
                    {{"step", 1}, {"lr", 0.5}, {"momentum", 0.5}, {"dampening", 0.5}}),
            (Outputs{f64({1}, {7}), g}));
}

TEST(Sgd, WithoutMomentumThereIsNoState) {
  const Array w = f64({1}, {8}), g = f64({1}, {2}), m = f64({1}, {kNan});
  EXPECT_EQ(run_all("sgd", DType::f64, {w, g, m}, {{"step", 9}, {"lr", 0.5}, {"dampening", 0.5}}),
            (Outputs{f64({1}, {7}), g}));
}

TEST(Adam, AgreesWithItsFormula) {
  const double w = 3, g = 0.5, m = 0.2, v = 0.04, decay = 0.1, lr = 0.01, b1 = 0.8, b2 = 0.9;
  const double d = g + decay * w, next_m = b1 * m + (1 - b1) * d;
  const double next_v = b2 * v + (1 - b2) * (d * d);
  const double root = std::sqrt(next_v / (1 - std::pow(b2, 3.0))) + 1e-8;
  const double next_w = w - lr * (next_m / (1 - std::pow(b1, 3.0))) / root;
  EXPECT_EQ(
      run_all("adam", DType::f64, {f64({1}, {w}), f64({1}, {g}), f64({1}, {m}), f64({1}, {v})},
              {{"step", 3}, {"lr", lr}, {"beta1", b1}, {"beta2", b2}, {"weight_decay", decay}}),
      (Outputs{f64({1}, {next_w}), f64({1}, {next_m}), f64({1}, {next_v})}));
}

TEST(Adam, TheFirstStepGoesByTheSignOfTheGradient) {
  const Array w = f64({2}, {1, 1}), zero = f64({2}, {0, 0});
  const auto out =
      run_all("adam", DType::f64, {w, f64({2}, {0.25, -4}), zero, zero},
              {{"step", 1}, {"lr", 0.5}, {"beta1", 0.5}, {"beta2", 0.75}, {"eps", 0.0}});
  EXPECT_EQ(out.at(0), f64({2}, {0.5, 1.5}));
}

}  // namespace
}  // namespace mote
