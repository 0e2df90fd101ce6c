// Random ops: which bits they use, determinism, both ends of the ratio.
#include <gtest/gtest.h>

#include "mote/base/philox.h"
#include "run.h"

namespace mote {
namespace {

/// The definition in words, from the authors' generator: 24 bits as a fraction.
double uniform(std::int64_t seed, std::int64_t position) {
  return static_cast<double>(philox_word(seed, position) >> 8) / 16777216.0;
}

Array ramp(DType dtype, const Dims& shape) {
  std::vector<double> values;
  for (std::int64_t k = 0; k < shape[0] * shape[1] * shape[2] * shape[3]; ++k)
    values.push_back(static_cast<double>(k % 64 + 1));
  return tensor(dtype, shape, values);
}

TEST(Dropout, KeepsWhereTheBitsSay) {
  const Array x = ramp(DType::f32, {2, 3, 4, 5});
  const std::vector<Array> y =
      run_all("dropout", DType::f32, {x}, {{"ratio", 0.75}, {"seed", 42}, {"offset", 1000}});
  int kept = 0;
  for (std::int64_t k = 0; k < 120; ++k) {
    const bool keep = uniform(42, 1000 + k) >= 0.75;
    const auto at = static_cast<std::size_t>(k);
    EXPECT_EQ(y[1].values[at].integer(), keep ? 1 : 0) << k;
    EXPECT_EQ(y[0].values[at].real(), keep ? x.values[at].real() * 4 : 0) << k;
    kept += keep ? 1 : 0;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 120);
}

TEST(Dropout, AnotherSeedOrOffsetDropsOthers) {
  const Array x = ramp(DType::f64, {1, 1, 8, 8});
  const auto mask = [&](const Params& params) {
    return run_all("dropout", DType::f64, {x}, params).at(1);
  };
  EXPECT_EQ(mask({{"seed", 7}}), mask({{"seed", 7}}));
  EXPECT_FALSE(mask({{"seed", 7}}) == mask({{"seed", 8}}));
  EXPECT_FALSE(mask({{"seed", 7}}) == mask({{"seed", 7}, {"offset", 1}}));
}

TEST(Dropout, EndsOfTheRatioAndInference) {
  const Array x = tensor(DType::f16, {1, 1, 1, 3}, {1.5, -2, kNan});
  EXPECT_EQ(run("dropout", {x}, {{"ratio", 0}}), x);
  EXPECT_EQ(run("dropout", {x}, {{"ratio", 1}}), tensor(DType::f16, {1, 1, 1, 3}, {0, 0, 0}));
  const std::vector<Array> off = run_all("dropout", DType::f16, {x}, {{"training", 0}});
  EXPECT_EQ(off[0], x);
  EXPECT_EQ(off[1], boolean({1, 1, 1, 3}, {1, 1, 1}));
}

TEST(Bernoulli, ComparesTheBitsWithTheProbability) {
  const Array p = tensor(DType::f64, {1, 1, 1, 5}, {0, 1, 0.5, 0.25, kNan});
  const Array y = run("bernoulli", {p}, {{"seed", -3}});
  const double expected[] = {0, 1, 0.5, 0.25, 0};
  for (std::size_t k = 0; k < 5; ++k)
    EXPECT_EQ(y.values[k].real(), uniform(-3, static_cast<std::int64_t>(k)) < expected[k] ? 1 : 0);
}

}  // namespace
}  // namespace mote
