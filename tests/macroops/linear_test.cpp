// SPDX-License-Identifier: Apache-2.0
// Tests gemm, matmul, conv2d and transpose against loops written out, on data whose sums are exact.
#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

TEST(Gemm, IsAlphaAbPlusBetaC) {
  const Array a = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array b = f64({3, 2}, {1, 0, 2, 1, 0, 3});
  const Array c = f64({2, 2}, {10, 20, 30, 40});
  EXPECT_EQ(run("gemm", {a, b, c}), f64({2, 2}, {15, 31, 44, 63}));
  EXPECT_EQ(run("gemm", {a, b, c}, {{"alpha", 2.0}, {"beta", 0.5}}), f64({2, 2}, {15, 32, 43, 66}));
  EXPECT_EQ(run("gemm", {a, b}, {{"alpha", 2.0}}), f64({2, 2}, {10, 22, 28, 46}));
}

TEST(Gemm, BetaZeroNeverReadsC) {
  const Array a = f64({1, 1}, {2}), b = f64({1, 2}, {3, 4}), c = f64({1, 2}, {kNan, kInf});
  EXPECT_EQ(run("gemm", {a, b, c}, {{"beta", 0.0}}), f64({1, 2}, {6, 8}));
  EXPECT_EQ(run("gemm", {a, b, c}, {{"beta", 1.0}}), f64({1, 2}, {kNan, kInf}));
}

TEST(Gemm, NoKGivesBetaC) {
  const Array a = f64({2, 0}, {}), b = f64({0, 1}, {}), c = f64({2, 1}, {3, 4});
  EXPECT_EQ(run("gemm", {a, b, c}, {{"beta", 2.0}}), f64({2, 1}, {6, 8}));
  EXPECT_EQ(run("gemm", {a, b}), f64({2, 1}, {0, 0}));
}

TEST(Gemm, IntegersAccumulateIn64BitsAndWrapWhenStored) {
  const std::int64_t big = 1 << 30;
  EXPECT_EQ(run("gemm", {i32({1, 2}, {big, big}), i32({2, 1}, {4, 1})}), i32({1, 1}, {big}));
  EXPECT_EQ(run("gemm", {i64({1, 2}, {big, 1}), i64({2, 1}, {big, 1})}, {{"alpha", 3}}),
            i64({1, 1}, {3 * (big * big + 1)}));
}

TEST(Gemm, RoundsOnceToF32) {
  const Array a = f32({1, 3}, {16777216, 1, 1}), b = f32({3, 1}, {1, 1, 1});
  EXPECT_EQ(run("gemm", {a, b}), f32({1, 1}, {16777218}));
}

TEST(Gemm, InnerSizesMustAgree) {
  EXPECT_THROW(run("gemm", {f64({1, 2}, {1, 2}), f64({3, 1}, {1, 2, 3})}), Error);
}

/// Returns a[p, q, :, :], where axes of extent 1 repeat.
double repeated(const Array& a, std::int64_t p, std::int64_t q, std::int64_t i, std::int64_t j) {
  return at(a, {a.shape[0] == 1 ? 0 : p, a.shape[1] == 1 ? 0 : q, i, j});
}

TEST(Matmul, BatchAxesBroadcastBothWays) {
  const Array a = integers(DType::f64, {1, 2, 3, 4}, 1), b = integers(DType::f64, {3, 1, 4, 2}, 2);
  std::vector<double> want;
  for (int p = 0; p < 3; ++p)
    for (int q = 0; q < 2; ++q)
      for (int m = 0; m < 3; ++m)
        for (int n = 0; n < 2; ++n) {
          double sum = 0;
          for (int k = 0; k < 4; ++k) sum += repeated(a, p, q, m, k) * repeated(b, p, q, k, n);
          want.push_back(sum);
        }
  EXPECT_EQ(run("matmul", {a, b}), f64({3, 2, 3, 2}, want));
}

TEST(Matmul, MissingBatchAxesCountAsOne) {
  const Array a = f64({1, 2}, {1, 2}), b = f64({2, 1, 2, 1}, {1, 10, 100, 1000});
  EXPECT_EQ(run("matmul", {a, b}), f64({2, 1, 1, 1}, {21, 2100}));
}

TEST(Matmul, BatchAxesThatDifferAreAnError) {
  const Array a = integers(DType::f64, {2, 1, 1, 1}, 1), b = integers(DType::f64, {3, 1, 1, 1}, 2);
  EXPECT_THROW(run("matmul", {a, b}), Error);
}

struct Conv {
  Dims x, w;
  std::int64_t stride[2] = {1, 1}, dilation[2] = {1, 1}, pads[4] = {0, 0, 0, 0}, groups = 1;
};

Params params_of(const Conv& c) {
  return {{"stride0", c.stride[0]},     {"stride1", c.stride[1]}, {"dilation0", c.dilation[0]},
          {"dilation1", c.dilation[1]}, {"pads0", c.pads[0]},     {"pads1", c.pads[1]},
          {"pads2", c.pads[2]},         {"pads3", c.pads[3]},     {"groups", c.groups}};
}

double conv_at(const Conv& c, const Array& x, const Array& w, const Dims& y) {
  const std::int64_t channels = c.w[1], first = y[1] / (c.w[0] / c.groups) * channels;
  double sum = 0;
  for (std::int64_t ci = 0; ci < channels; ++ci)
    for (std::int64_t kh = 0; kh < c.w[2]; ++kh)
      for (std::int64_t kw = 0; kw < c.w[3]; ++kw) {
        const std::int64_t h = y[2] * c.stride[0] + kh * c.dilation[0] - c.pads[0];
        const std::int64_t v = y[3] * c.stride[1] + kw * c.dilation[1] - c.pads[1];
        if (h < 0 || h >= c.x[2] || v < 0 || v >= c.x[3]) continue;
        sum += at(x, {y[0], first + ci, h, v}) * at(w, {y[1], ci, kh, kw});
      }
  return sum;
}

/// Computes conv2d by loops, with `bias` per output channel.
Array conv_loops(const Conv& c, const Array& x, const Array& w, const Array& bias) {
  Dims shape = {c.x[0], c.w[0], 0, 0};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::int64_t window = c.dilation[k] * (c.w[2 + k] - 1) + 1;
    shape[2 + k] = (c.x[2 + k] + c.pads[k] + c.pads[2 + k] - window) / c.stride[k] + 1;
  }
  std::vector<double> values;
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t co = 0; co < shape[1]; ++co)
      for (std::int64_t oh = 0; oh < shape[2]; ++oh)
        for (std::int64_t ow = 0; ow < shape[3]; ++ow)
          values.push_back(conv_at(c, x, w, {n, co, oh, ow}) + at(bias, {co}));
  return f64(shape, values);
}

class ConvTest : public testing::TestWithParam<Conv> {};

TEST_P(ConvTest, AgreesWithLoopsWrittenOut) {
  const Conv& c = GetParam();
  const Array x = integers(DType::f64, c.x, 1), w = integers(DType::f64, c.w, 2);
  const Array b = integers(DType::f64, {c.w[0]}, 3);
  const Array zero = f64({c.w[0]}, std::vector<double>(static_cast<std::size_t>(c.w[0]), 0));
  EXPECT_EQ(run("conv2d", {x, w}, params_of(c)), conv_loops(c, x, w, zero));
  EXPECT_EQ(run("conv2d", {x, w, b}, params_of(c)), conv_loops(c, x, w, b));
}

INSTANTIATE_TEST_SUITE_P(
    Conv2d, ConvTest,
    testing::Values(
        Conv{.x = {2, 3, 5, 6}, .w = {4, 3, 3, 2}},
        Conv{.x = {1, 2, 7, 9}, .w = {3, 2, 3, 3}, .stride = {2, 3}, .pads = {1, 0, 2, 3}},
        Conv{.x = {1, 1, 9, 8}, .w = {1, 1, 3, 2}, .dilation = {3, 2}, .pads = {0, 1, 1, 0}},
        Conv{.x = {2, 6, 4, 4}, .w = {4, 3, 2, 2}, .pads = {1, 1, 1, 1}, .groups = 2},
        Conv{.x = {1, 3, 5, 4},
             .w = {6, 1, 3, 3},
             .stride = {2, 1},
             .pads = {2, 0, 0, 1},
             .groups = 3},
        Conv{.x = {1, 4, 3, 3}, .w = {2, 4, 1, 1}, .stride = {2, 2}},
        Conv{.x = {1, 1, 2, 2}, .w = {1, 1, 2, 2}, .pads = {5, 5, 5, 5}},
        Conv{.x = {0, 2, 4, 4}, .w = {2, 2, 3, 3}}, Conv{.x = {1, 0, 4, 4}, .w = {2, 0, 3, 3}}));

TEST(Conv2d, TapsOutsideDoNotExist) {
  const Array x = f64({1, 1, 1, 1}, {2}), w = f64({1, 1, 3, 1}, {kInf, 3, kNan});
  EXPECT_EQ(run("conv2d", {x, w}, {{"pads0", 1}, {"pads2", 1}}), f64({1, 1, 1, 1}, {6}));
}

TEST(Conv2d, AWindowThatFitsNowhereGivesNoRows) {
  const Array x = f64({1, 1, 1, 2}, {1, 2}), w = f64({1, 1, 2, 1}, {1, 1});
  EXPECT_EQ(run("conv2d", {x, w}), f64({1, 1, 0, 2}, {}));
}

TEST(Conv2d, ChannelsGroupsAndParametersAreChecked) {
  const Array x = integers(DType::f64, {1, 5, 4, 4}, 1), w = integers(DType::f64, {2, 3, 1, 1}, 2);
  EXPECT_THROW(run("conv2d", {x, w}), Error);
  const Array six = integers(DType::f64, {1, 6, 4, 4}, 1),
              odd = integers(DType::f64, {3, 3, 1, 1}, 2);
  EXPECT_THROW(run("conv2d", {six, odd}, {{"groups", 2}}), Error);
  EXPECT_THROW(run("conv2d", {six, w}, {{"groups", 2}, {"stride0", 0}}), Error);
  EXPECT_THROW(run("conv2d", {six, w}, {{"groups", 2}, {"pads0", -1}}), Error);
  EXPECT_EQ(run("conv2d", {six, w}, {{"groups", 2}}).shape, (Dims{1, 2, 4, 4}));
}

TEST(Transpose, SwapsTheLastTwoAxes) {
  EXPECT_EQ(run("transpose", {i64({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}),
            i64({2, 3, 2}, {1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12}));
  EXPECT_EQ(run("transpose", {boolean({1, 1, 2}, {1, 0})}), boolean({1, 2, 1}, {1, 0}));
}

}  // namespace
}  // namespace mote
