// SPDX-License-Identifier: Apache-2.0
// Tests ops that normalise by statistics (rms, group, instance and batch norm) on data whose roots
// are exact, or against their formulas in the same order.
#include <gtest/gtest.h>

#include <cmath>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

const Params kNoEps = {{"eps", 0.0}};

TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const Array x = f64({2, 2}, {7, 1, 14, -2});  // the mean squares are 25 and 100
  EXPECT_EQ(run("rms_norm", {x, absent()}, kNoEps),
            f64({2, 2}, {7 * (1.0 / 5), 1.0 / 5, 14 * (1.0 / 10), -2 * (1.0 / 10)}));
  EXPECT_EQ(run("rms_norm", {x, f64({2}, {10, -5})}, kNoEps),
            f64({2, 2},
                {7 * (1.0 / 5) * 10, (1.0 / 5) * -5, 14 * (1.0 / 10) * 10, -2 * (1.0 / 10) * -5}));
  EXPECT_EQ(run("rms_norm", {f64({1, 1}, {0})}), f64({1, 1}, {0}));
  EXPECT_EQ(run("rms_norm", {f64({1, 1}, {2})}, {{"eps", 12.0}}), f64({1, 1}, {0.5}));
}

TEST(GroupNorm, EachGroupOfChannelsIsItsOwn) {
  // The groups {1, 3, 3, 1} and {10, 14, 14, 10} have means 2 and 12 and deviations 1 and 2.
  const Array x = f64({1, 4, 2}, {1, 3, 3, 1, 10, 14, 14, 10});
  const Params two = {{"groups", 2}, {"eps", 0.0}};
  EXPECT_EQ(run("group_norm", {x}, two), f64({1, 4, 2}, {-1, 1, 1, -1, -1, 1, 1, -1}));
  const Array gamma = f64({4}, {1, 2, 3, 4}), beta = f64({4}, {0, 10, 20, 30});
  EXPECT_EQ(run("group_norm", {x, gamma, beta}, two),
            f64({1, 4, 2}, {-1, 1, 12, 8, 17, 23, 34, 26}));
  EXPECT_EQ(run("group_norm", {x, absent(), beta}, two),
            f64({1, 4, 2}, {-1, 1, 11, 9, 19, 21, 31, 29}));
  EXPECT_THROW(run("group_norm", {x}, {{"groups", 3}}), Error);
  EXPECT_THROW(run("group_norm", {x}), Error);
}

TEST(GroupNorm, AsManyGroupsAsChannelsIsInstanceNorm) {
  const Array x = integers(DType::f64, {2, 3, 5}, 4);
  const Array gamma = integers(DType::f64, {3}, 5), beta = integers(DType::f64, {3}, 6);
  EXPECT_EQ(run("group_norm", {x, gamma, beta}, {{"groups", 3}}),
            run("instance_norm", {x, gamma, beta}));
}

TEST(InstanceNorm, EachChannelOfEachImageIsItsOwn) {
  const Array x = f64({2, 2, 2}, {1, 3, 10, 14, -1, -3, 5, 5});
  EXPECT_EQ(run("instance_norm", {x}, {{"eps", 0.0}}).values.size(), 8U);
  const Array y = run("instance_norm", {x}, {{"eps", 0.0}});
  EXPECT_EQ(at(y, {0, 0, 0}), -1);
  EXPECT_EQ(at(y, {0, 1, 1}), 1);
  EXPECT_EQ(at(y, {1, 0, 0}), 1);
  EXPECT_TRUE(std::isnan(at(y, {1, 1, 0})));  // 0/0, since the variance and eps are 0
  EXPECT_EQ(at(run("instance_norm", {x}), {1, 1, 0}), 0);
}

TEST(BatchNorm, TakesTheStatisticsThatAreGiven) {
  const Array x = f64({2, 2, 1}, {5, 7, 1, -1});
  const Array gamma = f64({2}, {10, 1}), beta = f64({2}, {1, 100});
  const Array mean = f64({2}, {3, -1}), var = f64({2}, {4, 12});
  EXPECT_EQ(run("batch_norm", {x, gamma, beta, mean, var}, kNoEps).values.size(), 4U);
  const Array y = run("batch_norm", {x, gamma, beta, mean, var}, {{"eps", 4.0}});
  const double a = 1 / std::sqrt(8.0);
  EXPECT_EQ(y, f64({2, 2, 1}, {2 * a * 10 + 1, 8 * 0.25 + 100, -2 * a * 10 + 1, 100}));
}

TEST(BatchNormTraining, TakesTheBatchsAndMovesTheGiven) {
  const Array x = f64({2, 2, 2}, {1, 3, 10, 14, 3, 1, 14, 10});
  const Array gamma = f64({2}, {1, 2}), beta = f64({2}, {0, 5});
  const Array mean = f64({2}, {100, 200}), var = f64({2}, {8, 16});
  const auto out = run_all("batch_norm_training", DType::f64, {x, gamma, beta, mean, var},
                           {{"eps", 0.0}, {"momentum", 0.75}});
  EXPECT_EQ(out.at(0), f64({2, 2, 2}, {-1, 1, 3, 7, 1, -1, 7, 3}));
  EXPECT_EQ(out.at(1), f64({2}, {75.5, 153}));
  EXPECT_EQ(out.at(2), f64({2}, {6.25, 13}));  // biased variances 1 and 4
}

/// PyTorch updates it from the unbiased variance; the biased variances are 1 and 4, of four values
/// each.
TEST(BatchNormTraining, TheRunningVarianceMayBeUnbiased) {
  const Array x = f64({2, 2, 2}, {1, 3, 10, 14, 3, 1, 14, 10});
  const Array gamma = f64({2}, {1, 2}), beta = f64({2}, {0, 5});
  const Array mean = f64({2}, {100, 200}), var = f64({2}, {8, 16});
  const auto biased = run_all("batch_norm_training", DType::f64, {x, gamma, beta, mean, var},
                              {{"eps", 0.0}, {"momentum", 0.25}});
  const auto out = run_all("batch_norm_training", DType::f64, {x, gamma, beta, mean, var},
                           {{"eps", 0.0}, {"momentum", 0.25}, {"unbiased", std::int64_t{1}}});
  EXPECT_EQ(out.at(2), f64({2}, {2 + 0.75 * (4.0 / 3), 4 + 0.75 * (16.0 / 3)}));
  for (const std::size_t k : {0U, 1U, 3U, 4U}) EXPECT_EQ(out.at(k), biased.at(k)) << k;
}

TEST(BatchNormTraining, TheVarianceOfOneValueIsZeroUnbiasedToo) {
  const Array x = f64({1, 1, 1}, {7}), one = f64({1}, {1}), zero = f64({1}, {0});
  const auto out = run_all("batch_norm_training", DType::f64, {x, one, zero, zero, one},
                           {{"momentum", 0.5}, {"unbiased", std::int64_t{1}}});
  EXPECT_EQ(out.at(2), f64({1}, {0.5}));
}

TEST(BatchNormTraining, ALargeMeanDoesNotCancel) {
  const Array x = f64({2, 1, 1}, {1e8 - 1, 1e8 + 1}), one = f64({1}, {1}), zero = f64({1}, {0});
  const auto out = run_all("batch_norm_training", DType::f64, {x, one, zero, zero, zero}, kNoEps);
  EXPECT_EQ(out.at(0), f64({2, 1, 1}, {-1, 1}));
}

}  // namespace
}  // namespace mote
