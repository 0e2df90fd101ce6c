// SPDX-License-Identifier: Apache-2.0
// Tests softmax, log_softmax, logsumexp and layer_norm against their formulas written out in the
// same order, bit for bit.
#include <gtest/gtest.h>

#include <cmath>

#include "run.h"

namespace mote {
namespace {

const std::vector<double> kValues = {0.5, -1.25, 3.0, 2.75, 0.1,  -0.3, 7.0, 1e-3,
                                     -4,  0.7,   0.2, 11.0, -2.5, 0.9,  1.1, 0.0};

std::vector<double> softmax_row(const std::vector<double>& x) {
  double greatest = -kInf, sum = 0;
  for (const double v : x) greatest = std::fmax(greatest, v);
  for (const double v : x) sum += std::exp(v - greatest);
  std::vector<double> y;
  for (const double v : x) y.push_back(std::exp(v - greatest) / sum);
  return y;
}

TEST(Softmax, AgreesWithItsFormulaOverTheMiddleAxis) {
  const Array x = f64({2, 4, 2}, kValues);
  std::vector<double> want(16);
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t c = 0; c < 2; ++c) {
      std::vector<double> row;
      for (std::size_t n = 0; n < 4; ++n) row.push_back(kValues[(r * 4 + n) * 2 + c]);
      const std::vector<double> y = softmax_row(row);
      for (std::size_t n = 0; n < 4; ++n) want[(r * 4 + n) * 2 + c] = y[n];
    }
  EXPECT_EQ(run("softmax", {x}), f64({2, 4, 2}, want));
}

TEST(Softmax, LargeValuesDoNotOverflow) {
  EXPECT_EQ(run("softmax", {f64({1, 2, 1}, {1000, 1000})}), f64({1, 2, 1}, {0.5, 0.5}));
  EXPECT_EQ(run("softmax", {f32({1, 2, 1}, {3e38, -3e38})}), f32({1, 2, 1}, {1, 0}));
}

TEST(Softmax, MinusInfinityIsMaskedUnlessAllOfTheRowIs) {
  EXPECT_EQ(run("softmax", {f64({1, 2, 1}, {-kInf, 3})}), f64({1, 2, 1}, {0, 1}));
  EXPECT_EQ(run("softmax", {f64({1, 2, 1}, {-kInf, -kInf})}), f64({1, 2, 1}, {kNan, kNan}));
  EXPECT_EQ(run("softmax", {f64({1, 2, 1}, {kInf, 0})}), f64({1, 2, 1}, {kNan, kNan}));
  EXPECT_EQ(run("softmax", {f64({1, 2, 1}, {kNan, 0})}), f64({1, 2, 1}, {kNan, kNan}));
}

TEST(LogSoftmax, AgreesWithItsFormulaOverTheMiddleAxis) {
  const std::vector<double> x = {0.5, -1.25, 3.0, 2.75};
  double sum = 0;
  for (const double v : x) sum += std::exp(v - 3.0);
  std::vector<double> want;
  for (const double v : x) want.push_back(v - 3.0 - std::log(sum));
  EXPECT_EQ(run("log_softmax", {f64({1, 4, 1}, x)}), f64({1, 4, 1}, want));
  EXPECT_EQ(run("log_softmax", {f64({1, 2, 2}, {1, 1000, 1, -1000})}),
            f64({1, 2, 2}, {-std::log(2.0), 0, -std::log(2.0), -2000}));
}

TEST(LogSoftmax, MinusInfinityIsMaskedUnlessAllOfTheRowIs) {
  EXPECT_EQ(run("log_softmax", {f64({1, 2, 1}, {-kInf, 3})}), f64({1, 2, 1}, {-kInf, 0}));
  EXPECT_EQ(run("log_softmax", {f64({1, 2, 1}, {-kInf, -kInf})}), f64({1, 2, 1}, {kNan, kNan}));
}

TEST(Logsumexp, AgreesWithItsFormulaAndDoesNotOverflow) {
  const double want = 3.0 + std::log(std::exp(-2.5) + 1.0);
  EXPECT_EQ(run("logsumexp", {f64({1, 2, 1}, {0.5, 3})}), f64({1, 1}, {want}));
  EXPECT_EQ(run("logsumexp", {f64({1, 2, 2}, {1000, -1000, 1000, -1000})}),
            f64({1, 2}, {1000 + std::log(2.0), -1000 + std::log(2.0)}));
}

TEST(Logsumexp, InfinitiesNanAndNothing) {
  EXPECT_EQ(run("logsumexp", {f64({1, 2, 1}, {-kInf, 3})}), f64({1, 1}, {3}));
  EXPECT_EQ(run("logsumexp", {f64({1, 2, 1}, {-kInf, -kInf})}), f64({1, 1}, {-kInf}));
  EXPECT_EQ(run("logsumexp", {f64({1, 2, 1}, {kInf, 3})}), f64({1, 1}, {kInf}));
  EXPECT_EQ(run("logsumexp", {f64({1, 2, 1}, {kNan, 3})}), f64({1, 1}, {kNan}));
  EXPECT_EQ(run("logsumexp", {f64({1, 0, 1}, {})}), f64({1, 1}, {-kInf}));
}

/// Computes (x - mean) / sqrt(var + eps) of one row.
std::vector<double> standardised(const std::vector<double>& x, double eps) {
  const auto n = static_cast<double>(x.size());
  double sum = 0, squares = 0;
  for (const double v : x) sum += v;
  const double mean = sum / n;
  for (const double v : x) squares += (v - mean) * (v - mean);
  const double scale = 1.0 / std::sqrt(squares / n + eps);
  std::vector<double> y;
  for (const double v : x) y.push_back((v - mean) * scale);
  return y;
}

TEST(LayerNorm, AgreesWithItsFormulaWithAndWithoutGammaAndBeta) {
  const std::vector<double> g = {2, -1, 0.5, 0.1, 3, 1, 0, -7};
  const std::vector<double> b = {0.25, 1, -3, 0.7, 0, 10, 5, 1e-4};
  const Array x = f64({2, 8}, kValues), gamma = f64({8}, g), beta = f64({8}, b);
  std::vector<double> plain, scaled, shifted, both;
  for (std::size_t r = 0; r < 2; ++r) {
    const auto begin = kValues.begin() + static_cast<std::ptrdiff_t>(r) * 8;
    const std::vector<double> y = standardised({begin, begin + 8}, 0.01);
    for (std::size_t n = 0; n < 8; ++n) {
      plain.push_back(y[n]);
      scaled.push_back(y[n] * g[n]);
      shifted.push_back(y[n] + b[n]);
      both.push_back(y[n] * g[n] + b[n]);
    }
  }
  const Params eps = {{"eps", 0.01}};
  EXPECT_EQ(run("layer_norm", {x}, eps), f64({2, 8}, plain));
  EXPECT_EQ(run("layer_norm", {x, gamma}, eps), f64({2, 8}, scaled));
  EXPECT_EQ(run("layer_norm", {x, absent(), beta}, eps), f64({2, 8}, shifted));
  EXPECT_EQ(run("layer_norm", {x, gamma, beta}, eps), f64({2, 8}, both));
}

TEST(LayerNorm, VarianceIsBiasedAndEpsHasADefault) {
  EXPECT_EQ(run("layer_norm", {f64({1, 2}, {1, 3})}, {{"eps", 0.0}}), f64({1, 2}, {-1, 1}));
  EXPECT_EQ(run("layer_norm", {f64({1, 2}, {1, 3})}), f64({1, 2}, standardised({1, 3}, 1e-5)));
}

TEST(LayerNorm, ALargeMeanDoesNotCancel) {
  EXPECT_EQ(run("layer_norm", {f64({1, 2}, {1e8 - 1, 1e8 + 1})}, {{"eps", 0.0}}),
            f64({1, 2}, {-1, 1}));
}

TEST(LayerNormWithStatistics, GivesThemBesideTheSame) {
  const Array x = f64({2, 2}, {1, 3, 10, 16}), gamma = f64({2}, {2, 3}), beta = f64({2}, {1, 0});
  const Params eps = {{"eps", 1.0}};
  const double a = 1 / std::sqrt(2.0), b = 1 / std::sqrt(10.0);
  const auto out = run_all("layer_norm_with_statistics", DType::f64, {x, gamma, beta}, eps);
  EXPECT_EQ(out.at(0), run("layer_norm", {x, gamma, beta}, eps));
  EXPECT_EQ(out.at(1), f64({2}, {2, 13}));
  EXPECT_EQ(out.at(2), f64({2}, {a, b}));
}

TEST(Hardmax, MarksTheFirstGreatest) {
  EXPECT_EQ(run("hardmax", {f64({1, 3, 2}, {1, 7, 4, 7, 4, kNan})}),
            f64({1, 3, 2}, {0, 0, 1, 0, 0, 1}));
}

TEST(L2Normalise, DividesByTheNormButNotByLessThanEps) {
  EXPECT_EQ(run("l2_normalise", {f64({1, 2, 2}, {3, 0, -4, 0})}),
            f64({1, 2, 2}, {0.6, 0, -0.8, 0}));
  EXPECT_EQ(run("l2_normalise", {f64({1, 1, 1}, {3})}, {{"eps", 12.0}}), f64({1, 1, 1}, {0.25}));
  EXPECT_EQ(run("l2_normalise", {f64({1, 2, 1}, {kNan, 1})}), f64({1, 2, 1}, {kNan, kNan}));
}

TEST(Lrn, SumsTheSquaresOfNearChannels) {
  const std::vector<double> x = {1, 2, 3, 4, 5};
  for (const int size : {1, 2, 3, 4, 9}) {
    std::vector<double> want;
    for (int c = 0; c < 5; ++c) {
      double squares = 0;
      for (int i = c - (size - 1) / 2; i <= c + size / 2; ++i) {
        if (i >= 0 && i < 5) squares += (i + 1) * (i + 1);
      }
      want.push_back((c + 1) / std::pow(2.0 + 0.5 / size * squares, 0.75));
    }
    EXPECT_EQ(run("lrn", {f64({1, 5, 1}, x)}, {{"size", size}, {"alpha", 0.5}, {"bias", 2.0}}),
              f64({1, 5, 1}, want))
        << size;
  }
}

}  // namespace
}  // namespace mote
