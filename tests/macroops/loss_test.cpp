// SPDX-License-Identifier: Apache-2.0
// Tests losses against their formulas in the same order: ignored targets, and means over nothing.
#include <gtest/gtest.h>

#include <cmath>

#include "run.h"

namespace mote {
namespace {

const Params kSum = {{"mean", 0}};

TEST(Mse, MeanOrSumOfSquares) {
  const Array x = f64({4}, {1, 2, 3, 4}), target = f64({4}, {1, 0, 0, 5});
  EXPECT_EQ(run("mse", {x, target}), f64({}, {3.5}));
  EXPECT_EQ(run("mse", {x, target}, kSum), f64({}, {14}));
  const Array none = f64({0}, {});
  EXPECT_EQ(run("mse", {none, none}), f64({}, {kNan}));
  EXPECT_EQ(run("mse", {none, none}, kSum), f64({}, {0}));
}

TEST(BceWithLogits, AgreesWithItsFormulaAndDoesNotOverflow) {
  const std::vector<double> x = {0.5, -2, 3}, target = {1, 0, 0.25};
  double sum = 0;
  for (std::size_t n = 0; n < 3; ++n) {
    sum += std::fmax(x[n], 0) - x[n] * target[n] + std::log1p(std::exp(-std::fabs(x[n])));
  }
  EXPECT_EQ(run("bce_with_logits", {f64({3}, x), f64({3}, target)}, kSum), f64({}, {sum}));
  EXPECT_EQ(run("bce_with_logits", {f64({3}, x), f64({3}, target)}), f64({}, {sum / 3}));
  EXPECT_EQ(run("bce_with_logits", {f64({2}, {1e4, -1e4}), f64({2}, {0, 1})}, kSum),
            f64({}, {2e4}));
}

TEST(LossNone, OneForEachElement) {
  EXPECT_EQ(run("mse_none", {f64({3}, {1, 2, kNan}), f64({3}, {1, 4, 0})}), f64({3}, {0, 4, kNan}));
  const Array x = f64({2}, {1e4, -2}), target = f64({2}, {0, 1});
  EXPECT_EQ(run("bce_with_logits_none", {x, target}),
            f64({2}, {1e4, 2 + std::log1p(std::exp(-2.0))}));
}

/// Computes the log softmax of the row.
std::vector<double> log_probabilities(const std::vector<double>& x) {
  double greatest = -kInf, sum = 0;
  for (const double v : x) greatest = std::fmax(greatest, v);
  for (const double v : x) sum += std::exp(v - greatest);
  std::vector<double> y;
  for (const double v : x) y.push_back(v - greatest - std::log(sum));
  return y;
}

class CrossEntropy : public testing::Test {
 protected:
  Array x = f64({3, 3, 1}, {1, 2, 4, 0.5, 0, -1, 7, 7, 8});
  Array target = i64({3, 1}, {2, 0, 1});
  std::vector<std::vector<double>> log_p = {
      log_probabilities({1, 2, 4}), log_probabilities({0.5, 0, -1}), log_probabilities({7, 7, 8})};
};

TEST_F(CrossEntropy, MeanAndSum) {
  const double sum = -log_p[0][2] - log_p[1][0] - log_p[2][1];
  EXPECT_EQ(run("cross_entropy", {x, target}, kSum), f64({}, {sum}));
  EXPECT_EQ(run("cross_entropy", {x, target}), f64({}, {sum / 3}));
}

TEST_F(CrossEntropy, IgnoredTargetsDoNotCount) {
  const double sum = -log_p[0][2] - log_p[2][1];
  EXPECT_EQ(run("cross_entropy", {x, target}, {{"ignore_index", 0}}), f64({}, {sum / 2}));
  EXPECT_EQ(run("cross_entropy", {x, i64({3, 1}, {2, -100, 1})}), f64({}, {sum / 2}));
  const Array ignored = i64({3, 1}, {-100, -100, -100});
  EXPECT_EQ(run("cross_entropy", {x, ignored}), f64({}, {kNan}));
  EXPECT_EQ(run("cross_entropy", {x, ignored}, kSum), f64({}, {0}));
}

TEST_F(CrossEntropy, WeightsAlsoDivide) {
  const Array weight = f64({3}, {2, 4, 0.5});
  const double sum = -(0.5 * log_p[0][2]) - 2 * log_p[1][0] - 4 * log_p[2][1];
  EXPECT_EQ(run("cross_entropy", {x, target, weight}, kSum), f64({}, {sum}));
  EXPECT_EQ(run("cross_entropy", {x, target, weight}), f64({}, {sum / 6.5}));
}

TEST_F(CrossEntropy, SmoothingMovesAShareToAllClasses) {
  const std::vector<std::int64_t> t = {2, 0, 1};
  double sum = 0;
  for (std::size_t r = 0; r < 3; ++r) {
    const double all = log_p[r][0] + log_p[r][1] + log_p[r][2];
    sum += -0.75 * log_p[r][static_cast<std::size_t>(t[r])] - 0.25 * (all / 3);
  }
  EXPECT_EQ(run("cross_entropy", {x, target}, {{"smoothing", 0.25}, {"mean", 0}}), f64({}, {sum}));
}

TEST_F(CrossEntropy, WithoutSmoothingAnImpossibleClassDoesNotMatter) {
  const Array masked = f64({1, 3, 1}, {0, -kInf, 0}), first = i64({1, 1}, {0});
  EXPECT_EQ(run("cross_entropy", {masked, first}), f64({}, {std::log(2.0)}));
  EXPECT_EQ(run("cross_entropy", {masked, i64({1, 1}, {1})}), f64({}, {kInf}));
  EXPECT_EQ(run("cross_entropy", {masked, first}, {{"smoothing", 0.5}}), f64({}, {kInf}));
}

TEST_F(CrossEntropy, NoneGivesOneForEachTarget) {
  const Array weight = f64({3}, {2, 4, 0.5});
  EXPECT_EQ(run("cross_entropy_none", {x, i64({3, 1}, {2, 0, -100})}),
            f64({3, 1}, {-log_p[0][2], -log_p[1][0], 0}));
  EXPECT_EQ(run("cross_entropy_none", {x, target, weight}),
            f64({3, 1}, {-0.5 * log_p[0][2], -2 * log_p[1][0], -4 * log_p[2][1]}));
}

TEST(Nll, TakesLogProbabilities) {
  const Array x = f64({2, 2, 2}, {-1, -2, -4, -8, -16, -32, -64, -128});
  const Array target = i64({2, 2}, {0, 1, 1, 0}), weight = f64({2}, {1, 0.5});
  EXPECT_EQ(run("nll", {x, target}, kSum), f64({}, {1 + 8 + 64 + 32}));
  EXPECT_EQ(run("nll", {x, target}), f64({}, {105.0 / 4}));
  EXPECT_EQ(run("nll", {x, target, weight}), f64({}, {(1 + 4 + 32 + 32) / 3.0}));
  EXPECT_EQ(run("nll", {x, target}, {{"ignore_index", 1}}), f64({}, {33.0 / 2}));
  EXPECT_EQ(run("nll_none", {x, target, weight}), f64({2, 2}, {1, 4, 32, 32}));
  EXPECT_EQ(run("nll_none", {x, target}, {{"ignore_index", 0}}), f64({2, 2}, {0, 8, 64, 0}));
}

TEST_F(CrossEntropy, HasPositionsAfterTheClasses) {
  const Array image = f64({1, 2, 2}, {0, 5, 0, 3});
  const double want = std::log(2.0) - log_probabilities({5, 3})[1];
  EXPECT_EQ(run("cross_entropy", {image, i64({1, 2}, {0, 1})}, kSum), f64({}, {want}));
}

}  // namespace
}  // namespace mote
