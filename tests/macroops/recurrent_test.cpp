// SPDX-License-Identifier: Apache-2.0
// Tests one step of recurrent cells against their formulas in the same order, element by element,
// and their gates at 0 and 1.
#include <gtest/gtest.h>

#include <cmath>

#include "run.h"

namespace mote {
namespace {

using Outputs = std::vector<Array>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr double kX[] = {0.5, -1.25}, kH = 0.75;

/// Computes w[g] x + r[g] h + b[g] with two inputs and one hidden unit.
double sum_of(double w0, double w1, double r, double b) {
  return kX[0] * w0 + kX[1] * w1 + kH * r + b;
}

TEST(RnnCell, AgreesWithItsFormula) {
  EXPECT_EQ(run_all("rnn_cell", DType::f64,
                    {f64({1, 2}, {kX[0], kX[1]}), f64({1, 1}, {kH}), f64({1, 2}, {2, 1}),
                     f64({1, 1}, {-1}), f64({1}, {0.25})}),
            (Outputs{f64({1, 1}, {std::tanh(sum_of(2, 1, -1, 0.25))})}));
}

TEST(LstmCell, AgreesWithItsFormula) {
  const double c = 1.5;
  const auto out = run_all("lstm_cell", DType::f64,
                           {f64({1, 2}, {kX[0], kX[1]}), f64({1, 1}, {kH}), f64({1, 1}, {c}),
                            f64({4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                            f64({4, 1, 1}, {1, -2, 3, -4}), f64({4, 1}, {0.25, 0.5, 0.75, 1})});
  const double input = sigmoid(sum_of(1, 2, 1, 0.25)), forget = sigmoid(sum_of(3, 4, -2, 0.5));
  const double fresh = std::tanh(sum_of(5, 6, 3, 0.75)), open = sigmoid(sum_of(7, 8, -4, 1));
  const double next = forget * c + input * fresh;
  EXPECT_EQ(out, (Outputs{f64({1, 1}, {open * std::tanh(next)}), f64({1, 1}, {next})}));
}

/// Biases drive the gates to exactly 0 or 1, which shows which gate is which.
TEST(LstmCell, AClosedInputAndAnOpenForgetGateKeepTheCell) {
  const Array none = f64({1, 1}, {0}), weights = f64({4, 1, 1}, {0, 0, 0, 0});
  const auto with = [&](double input, double forget, double output) {
    return run_all("lstm_cell", DType::f64,
                   {none, none, f64({1, 1}, {3}), weights, weights,
                    f64({4, 1}, {input, forget, 1000, output})});
  };
  EXPECT_EQ(with(-1000, 1000, -1000), (Outputs{f64({1, 1}, {0}), f64({1, 1}, {3})}));
  EXPECT_EQ(with(1000, -1000, 1000), (Outputs{f64({1, 1}, {std::tanh(1.0)}), f64({1, 1}, {1})}));
}

TEST(GruCell, AgreesWithItsFormula) {
  const auto out =
      run_all("gru_cell", DType::f64,
              {f64({1, 2}, {kX[0], kX[1]}), f64({1, 1}, {kH}), f64({3, 1, 2}, {1, 2, 3, 4, 5, 6}),
               f64({3, 1, 1}, {1, -2, 3}), f64({4, 1}, {0.25, 0.5, 0.75, 1})});
  const double update = sigmoid(sum_of(1, 2, 1, 0.25)), reset = sigmoid(sum_of(3, 4, -2, 0.5));
  const double fresh = std::tanh(kX[0] * 5 + kX[1] * 6 + 0.75 + reset * (kH * 3 + 1));
  EXPECT_EQ(out, (Outputs{f64({1, 1}, {(1 - update) * fresh + update * kH})}));
}

TEST(GruCell, AnOpenUpdateGateKeepsTheState) {
  const Array x = f64({1, 1}, {0}), h = f64({1, 1}, {3}), weights = f64({3, 1, 1}, {0, 0, 0});
  const auto with = [&](double update) {
    return run_all("gru_cell", DType::f64,
                   {x, h, weights, weights, f64({4, 1}, {update, 0, 1000, 0})});
  };
  EXPECT_EQ(with(1000), (Outputs{h}));
  EXPECT_EQ(with(-1000), (Outputs{f64({1, 1}, {1})}));
}

}  // namespace
}  // namespace mote
