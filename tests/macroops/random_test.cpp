// SPDX-License-Identifier: Apache-2.0
// Tests random ops: known answers from the generator's published vectors, and the effect of seed,
// offset and shape on a draw.
#include <gtest/gtest.h>

#include <cmath>

#include "mote/base/philox.h"
#include "mote/uops/bound.h"
#include "run.h"

namespace mote {
namespace {

// The first block of seed 0, from the test vectors that Random123 publishes for Philox 4x32-10:
// 6627e8d5 e169c58d bc57ac4c 9b00dbd8. Their upper 24 bits as fractions:
constexpr double kFirst[] = {0x6627e8p-24, 0xe169c5p-24, 0xbc57acp-24, 0x9b00dbp-24};

Array zeros(DType dtype, const Dims& shape) {
  return tensor(dtype, shape, std::vector<double>(static_cast<std::size_t>(element_count(shape))));
}

std::vector<double> drawn(const Dims& shape, const Params& params) {
  std::vector<double> values;
  for (const Number& n : run("uniform", {zeros(DType::f64, shape)}, params).values)
    values.push_back(n.real());
  return values;
}

TEST(Uniform, IsTheUpper24BitsOfEachWord) {
  EXPECT_EQ(run("uniform", {zeros(DType::f64, {1, 1, 2, 2})}),
            f64({1, 1, 2, 2}, {kFirst[0], kFirst[1], kFirst[2], kFirst[3]}));
  EXPECT_EQ(run("uniform", {zeros(DType::f64, {1, 1, 1, 2})}, {{"offset", 2}}),
            f64({1, 1, 1, 2}, {kFirst[2], kFirst[3]}));
}

TEST(Uniform, ScalesAndRoundsOnce) {
  const Params params = {{"low", -2.0}, {"high", 6.0}};
  for (const DType t : {DType::f32, DType::f16, DType::bf16}) {
    EXPECT_EQ(run("uniform", {zeros(t, {1, 1, 1, 2})}, params),
              tensor(t, {1, 1, 1, 2}, {-2 + 8 * kFirst[0], -2 + 8 * kFirst[1]}));
  }
}

TEST(Uniform, APieceDrawsWhatTheWholeDraws) {
  const std::vector<double> whole = drawn({2, 3, 4, 5}, {{"seed", 9}, {"offset", 7}});
  const std::vector<double> piece = drawn({1, 1, 4, 5}, {{"seed", 9}, {"offset", 7 + 3 * 20}});
  EXPECT_EQ(piece, std::vector<double>(whole.begin() + 60, whole.begin() + 80));
  EXPECT_EQ(drawn({1, 1, 1, 120}, {{"seed", 9}, {"offset", 7}}), whole);
}

TEST(Uniform, StreamsGoOnBeyond32Bits) {
  const double far = std::ldexp(1.0, 40);
  const std::vector<double> whole = drawn({1, 1, 1, 8}, {{"offset", far}});
  EXPECT_EQ(drawn({1, 1, 1, 4}, {{"offset", far + 4}}),
            std::vector<double>(whole.begin() + 4, whole.end()));
  EXPECT_NE(whole, drawn({1, 1, 1, 8}, {}));
}

TEST(Uniform, SeedsAreStreamsOfTheirOwn) {
  const Dims shape = {1, 1, 1, 16};
  EXPECT_NE(drawn(shape, {{"seed", 1}}), drawn(shape, {{"seed", 2}}));
  EXPECT_NE(drawn(shape, {{"seed", 1}}), drawn(shape, {{"seed", (std::int64_t{1} << 32) + 1}}));
  EXPECT_EQ(drawn(shape, {{"seed", -1}}), drawn(shape, {{"seed", -1}}));
}

TEST(Normal, IsTheTransformOfTwoWords) {
  // These are sqrt(-2 ln((a + 1)/2^32)) cos(2 pi b/2^32) of the words above, computed to 50 digits.
  // They and the op's results lie within the op's own bound.
  const Array x = zeros(DType::f64, {1, 1, 1, 2});
  const Array y = run("normal", {x});
  const auto program = instantiate(find_op("normal"), {DType::f64, full_mask(find_op("normal"))});
  const std::vector<Array> ends = evaluate(bound(*program), {x}, {});
  const double expected[] = {0.99113767909666094859363847944302980287972,
                             -0.61760895965259538729038174251735561529};
  for (const std::int64_t k : {0, 1}) {
    const double lo = at(ends[0], {0, 0, 0, k}), hi = at(ends[1], {0, 0, 0, k});
    for (const double value : {expected[k], at(y, {0, 0, 0, k})}) {
      EXPECT_LE(lo, value);
      EXPECT_GE(hi, value);
    }
  }
  EXPECT_EQ(at(run("normal", {zeros(DType::f64, {1, 1, 1, 1})}, {{"offset", 2}}), {0, 0, 0, 0}),
            at(y, {0, 0, 0, 1}));
}

TEST(Normal, TakesMeanAndScale) {
  const Array x = zeros(DType::f64, {1, 1, 1, 3});
  const Array z = run("normal", {x}, {{"seed", 5}});
  const Array y = run("normal", {x}, {{"seed", 5}, {"mean", 3.0}, {"scale", 0.25}});
  for (std::int64_t k = 0; k < 3; ++k)
    EXPECT_EQ(at(y, {0, 0, 0, k}), 3 + 0.25 * at(z, {0, 0, 0, k}));
}

TEST(Bernoulli, ComparesTheFraction) {
  const Array x = f64({1, 1, 1, 4}, {kFirst[0], kFirst[1] + 0x1p-24, 0, 1});
  EXPECT_EQ(run("bernoulli", {x}), f64({1, 1, 1, 4}, {0, 1, 0, 1}));
  EXPECT_EQ(run("bernoulli", {f64({1, 1, 1, 1}, {kNan})}), f64({1, 1, 1, 1}, {0}));
}

TEST(Dropout, WithoutTrainingKeepsAll) {
  const Array x = f64({1, 1, 1, 3}, {1, kNan, kInf});
  const std::vector<Array> y =
      run_all("dropout", DType::f64, {x}, {{"ratio", 0.9}, {"training", 0}});
  EXPECT_EQ(y.at(0), x);
  EXPECT_EQ(y.at(1), boolean({1, 1, 1, 3}, {1, 1, 1}));
}

TEST(Dropout, KeepsWhereTheFractionIsNotBelowRatio) {
  // The fractions are 0.399, 0.881, 0.736, 0.605.
  const Array x = f64({1, 1, 1, 4}, {1, 2, kNan, 4});
  const std::vector<Array> half = run_all("dropout", DType::f64, {x}, {{"ratio", 0.5}});
  EXPECT_EQ(half.at(0), f64({1, 1, 1, 4}, {0, 4, kNan, 8}));
  EXPECT_EQ(half.at(1), boolean({1, 1, 1, 4}, {0, 1, 1, 1}));
  const std::vector<Array> most = run_all("dropout", DType::f64, {x}, {{"ratio", 0.75}});
  EXPECT_EQ(most.at(0), f64({1, 1, 1, 4}, {0, 8, 0, 0}));
  EXPECT_EQ(most.at(1), boolean({1, 1, 1, 4}, {0, 1, 0, 0}));
}

TEST(Dropout, ARatioThatIsAFractionItselfKeepsIt) {
  const Array x = f64({1, 1, 1, 1}, {0});
  const auto mask = [&](double ratio) {
    return run_all("dropout", DType::f64, {x}, {{"ratio", ratio}}).at(1);
  };
  EXPECT_EQ(mask(kFirst[0]), boolean({1, 1, 1, 1}, {1}));
  EXPECT_EQ(mask(std::nextafter(kFirst[0], 1)), boolean({1, 1, 1, 1}, {0}));
}

TEST(Dropout, RatioZeroIsTheIdentity) {
  const Array x = f32({1, 1, 2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run("dropout", {x}, {{"ratio", 0.0}}), x);
}

TEST(Dropout, KeepsWhereTheBitsSay) {
  std::vector<double> values;
  for (int k = 1; k <= 120; ++k) values.push_back(k);
  const Array x = f32({2, 3, 4, 5}, values);
  const std::vector<Array> y =
      run_all("dropout", DType::f32, {x}, {{"ratio", 0.75}, {"seed", 42}, {"offset", 1000}});
  std::int64_t kept = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::int64_t bits = philox_word(42, 1000 + static_cast<std::int64_t>(k)) >> 8;
    const bool keep = static_cast<double>(bits) * 0x1p-24 >= 0.75;
    EXPECT_EQ(y[1].values[k].integer(), keep ? 1 : 0) << k;
    EXPECT_EQ(y[0].values[k].real(), keep ? values[k] * 4 : 0) << k;
    kept += y[1].values[k].integer();
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 120);
}

TEST(Dropout, RatioOneDropsAllNanToo) {
  const Array x = tensor(DType::f16, {1, 1, 1, 3}, {1.5, kInf, kNan});
  EXPECT_EQ(run("dropout", {x}, {{"ratio", 1.0}}), tensor(DType::f16, {1, 1, 1, 3}, {0, 0, 0}));
}

TEST(Dropout, DrawsTheSameForEveryDtype) {
  const Params params = {{"ratio", 0.3}, {"seed", 11}};
  const Dims shape = {1, 2, 3, 50};
  const Array mask = run_all("dropout", DType::f64, {zeros(DType::f64, shape)}, params).at(1);
  for (const DType t : {DType::f32, DType::f16, DType::bf16})
    EXPECT_EQ(run_all("dropout", t, {zeros(t, shape)}, params).at(1), mask);
}

}  // namespace
}  // namespace mote
