// SPDX-License-Identifier: Apache-2.0
// Tests the evaluator against results worked out by hand.
#include "mote/uops/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "caught.h"

namespace mote {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): arrays and constants
using Reals = std::vector<double>;

TEST(Evaluate, Matmul) {
  const Array y = run(R"(op matmul
    input a f64[M, K]
    input b f64[K, N]
    output y = sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K]))",
                      {f64({2, 3}, {1, 2, 3, 4, 5, 6}), f64({3, 2}, {7, 8, 9, 10, 11, 12})});
  EXPECT_EQ(y, f64({2, 2}, {58, 64, 139, 154}));
}

const char* kSmallConv = R"(op conv2d
  param stride int = 1 in 1..
  param dilation int = 1 in 1..
  param pad_top int = 0
  param pad_bottom int = 0
  param groups int = 1 in 1..
  input x f64[N, ci: $groups*CG, H, W]
  input w f64[co: $groups*CO, CG, KH, KW]
  size OH = (H + $pad_top + $pad_bottom - $dilation*(KH - 1) - 1)/$stride + 1
  size OW = (W - $dilation*(KW - 1) - 1)/$stride + 1
  xw = x[i0, i1*CG + i5, i3*$stride + i6*$dilation - $pad_top, i4*$stride + i7*$dilation
         over N, g: $groups, cc: CO, OH, OW, CG, KH, KW]
  ww = w[i1*CO + i2, i5, i6, i7 over N, g: $groups, cc: CO, OH, OW, CG, KH, KW]
  row = iota(i3*$stride + i6*$dilation - $pad_top over N, $groups, CO, OH, OW, CG, KH, KW)
  inside = row >= 0 && row < iota(H over N, $groups, CO, OH, OW, CG, KH, KW)
  s = sum[5, 6, 7](where(inside, xw*ww, 0))
  output y = s[i0, i1/CO, i1%CO, i2, i3 over N, co: $groups*CO, OH, OW])";

TEST(Evaluate, ConvolutionWithPaddingAndStride) {
  // The column is 1 2 3 4 with a zero above and below, the window 1 10 100, for every second row.
  const Array y =
      run(kSmallConv, {f64({1, 1, 4, 1}, {1, 2, 3, 4}), f64({1, 1, 3, 1}, {1, 10, 100})},
          {{"stride", 2}, {"pad_top", 1}, {"pad_bottom", 1}});
  EXPECT_EQ(y, f64({1, 1, 2, 1}, {210, 432}));
}

TEST(Evaluate, ConvolutionWithDilationAndGroups) {
  // There are two groups of one channel; rows 0 and 2 of each are computed.
  const Array y =
      run(kSmallConv, {f64({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6}), f64({2, 1, 2, 1}, {1, 2, 10, 20})},
          {{"dilation", 2}, {"groups", 2}});
  EXPECT_EQ(y, f64({1, 2, 1, 1}, {7, 160}));
}

TEST(Evaluate, TapsOutsideDoNotExist) {
  const Array y =
      run(kSmallConv, {f64({1, 1, 1, 1}, {2}), f64({1, 1, 2, 1}, {kInf, 3})}, {{"pad_top", 1}});
  EXPECT_EQ(y, f64({1, 1, 1, 1}, {6}));  // 0 times infinity would be a NaN
}

TEST(Evaluate, SoftmaxIsItsFormula) {
  const Reals x = {0.1, -2, 3.5, 1, 1, -kInf};
  const Array y = run(R"(op softmax
    input x f64[R, C]
    e = exp(x - stop_gradient(max[1 keep](x)))
    output y = e / sum[1 keep](e))",
                      {f64({2, 3}, x)});
  Reals expected;
  for (std::size_t r = 0; r < 2; ++r) {
    const double greatest = std::max({x[3 * r], x[3 * r + 1], x[3 * r + 2]});
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) sum += std::exp(x[3 * r + c] - greatest);
    for (std::size_t c = 0; c < 3; ++c) expected.push_back(std::exp(x[3 * r + c] - greatest) / sum);
  }
  EXPECT_EQ(y, f64({2, 3}, expected));
}

TEST(Evaluate, ReadsBackwardsAndFillsOutside) {
  const Array x = f64({4}, {1, 2, 3, 4});
  EXPECT_EQ(run("op r\ninput x f64[N]\noutput y = x[-i0 + 3 over 4]", {x}), f64({4}, {4, 3, 2, 1}));
  EXPECT_EQ(run("op s\ninput x f64[N]\noutput y = x[i0 - 1 over N + 2 else -inf]", {x}),
            f64({6}, {-kInf, 1, 2, 3, 4, -kInf}));
  EXPECT_EQ(run("op d\ninput x f64[N]\noutput y = x[(i0 - 3)/2 over 8]", {x}),
            f64({8}, {0, 0, 0, 1, 1, 2, 2, 3}));  // (0 - 3)/2 is -2
}

TEST(Evaluate, AReadOutsideAnEmptyTensorIsTheFill) {
  EXPECT_EQ(run("op e\ninput x f64[N]\noutput y = x[i0 over 2 else 7]", {f64({0}, {})}),
            f64({2}, {7, 7}));
}

TEST(Evaluate, EmptyReductions) {
  const std::string head = "op e\ninput x f64[R, C]\ninput p bool[R, C]\noutput y = ";
  const std::vector<Array> nothing = {f64({2, 0}, {}), boolean({2, 0}, {})};
  EXPECT_EQ(run(head + "sum[1](x)", nothing), f64({2}, {0, 0}));
  EXPECT_EQ(run(head + "prod[1](x)", nothing), f64({2}, {1, 1}));
  EXPECT_EQ(run(head + "max[1](x)", nothing), f64({2}, {-kInf, -kInf}));
  EXPECT_EQ(run(head + "min[1](x)", nothing), f64({2}, {kInf, kInf}));
  EXPECT_EQ(run(head + "any[1](p)", nothing), boolean({2}, {0, 0}));
  EXPECT_EQ(run(head + "all[1](p)", nothing), boolean({2}, {1, 1}));
  EXPECT_EQ(run(head + "max[1](i32(x))", nothing),
            array(DType::i32, {2}, {-2147483648.0, -2147483648.0}));
  EXPECT_EQ(run(head + "sum[0](x)", nothing), f64({0}, {}));
  EXPECT_EQ(error_of([&] { run(head + "argmax[1](x)", nothing); }),
            "e: Reduce argmax over nothing: axis 1 of its argument is C = 0 (x [2,0], p [2,0])");
}

TEST(Evaluate, NanPropagates) {
  const std::string head = "op n\ninput x f64[N]\noutput y = ";
  const Array x = f64({3}, {1, kNan, 3});
  EXPECT_EQ(run(head + "max[0](x)", {x}), f64({}, {kNan}));
  EXPECT_EQ(run(head + "min[0](x)", {x}), f64({}, {kNan}));
  EXPECT_EQ(run(head + "max(x, 2)", {x}), f64({3}, {2, kNan, 3}));
  EXPECT_EQ(run(head + "where(isnan(x), 0, x)", {x}), f64({3}, {1, 0, 3}));
}

TEST(Evaluate, ArgmaxTakesTheFirstAndTheFirstNan) {
  const std::string head = "op a\ninput x f64[R, C]\noutput y = ";
  const Array x = f64({3, 4}, {1, 5, 5, 2, 9, kNan, 1, kNan, -kInf, -kInf, -kInf, -kInf});
  EXPECT_EQ(run(head + "argmax[1](x)", {x}), i64({3}, {1, 1, 0}));
  EXPECT_EQ(run(head + "argmin[1](x)", {x}), i64({3}, {0, 1, 0}));
  const Array z = f64({2, 2}, {3, 1, 4, 4});
  EXPECT_EQ(run(head + "argmax[0, 1](x)", {z}), i64({}, {2}));  // row-major over both axes
  EXPECT_EQ(run(head + "argmax[0](x)", {z}), i64({2}, {1, 1}));
}

TEST(Evaluate, ReducesInnerAndOuterAxes) {
  const std::string head = "op r\ninput x f64[A, B, C]\noutput y = ";
  const Array x = f64({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(run(head + "sum[1](x)", {x}), f64({2, 2}, {4, 6, 12, 14}));
  EXPECT_EQ(run(head + "sum[0, 2](x)", {x}), f64({2}, {14, 22}));
  EXPECT_EQ(run(head + "mean[0, 1, 2](x)", {x}), f64({}, {4.5}));
  EXPECT_EQ(run(head + "x - mean[0, 1, 2](x)", {x}).values[0].real(), -3.5);
}

TEST(Evaluate, SelectFillsOutOfRange) {
  const Array x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array index = i64({2, 4}, {2, 0, -1, 3, 1, 1, 1, 100});
  EXPECT_EQ(run("op s\ninput x f64[R, C]\ninput n i64[R, K]\noutput y = select[1](x, n else -7)",
                {x, index}),
            f64({2, 4}, {3, 1, -7, -7, 5, 5, 5, -7}));
  EXPECT_EQ(run("op s\ninput x f64[R, C]\ninput n i64[K, C]\noutput y = select[0](x, n)",
                {x, i64({1, 3}, {1, 0, 5})}),
            f64({1, 3}, {4, 2, 0}));
}

TEST(Evaluate, IntegersAreWideInsideAndWrapAtTheStore) {
  const Array n = array(DType::i32, {2}, {2147483647, -3});
  EXPECT_EQ(run("op w\ninput n i32[N]\noutput y = n + 1", {n}),
            array(DType::i32, {2}, {-2147483648.0, -2}));
  EXPECT_EQ(run("op w\ninput n i32[N]\noutput y = (n + 1)/2", {n}),
            array(DType::i32, {2}, {1073741824, -1}));
  EXPECT_EQ(run("op w\ninput n i32[N]\noutput y = i32(n + 1)/2", {n}),
            array(DType::i32, {2}, {-1073741824, -1}));
  EXPECT_EQ(run("op w\ninput n i32[N]\noutput y = i64(sum[0](n*n))", {n}),
            (Array{DType::i64,
                   {},
                   {Number(std::int64_t{4611686014132420618})}}));  // no intermediate result wraps
}

TEST(Evaluate, RealsAreRoundedOnlyAtTheStoreAndInCasts) {
  const Array x = f32({1}, {1});
  const auto tenth = static_cast<double>(0.1F);
  EXPECT_EQ(run("op r\ninput x f32[N]\noutput y = x*0.1", {x}), f32({1}, {tenth}));
  EXPECT_EQ(run("op r\ninput x f32[N]\noutput y = f64(x*0.1)", {x}), f64({1}, {0.1}));
  EXPECT_EQ(run("op r\ninput x f32[N]\noutput y = f64(f32(x*0.1))", {x}), f64({1}, {tenth}));
}

TEST(Evaluate, Booleans) {
  const Array p = boolean({4}, {0, 0, 1, 1});
  const Array q = boolean({4}, {0, 1, 0, 1});
  const std::string head = "op b\ninput p bool[N]\ninput q bool[N]\noutput y = ";
  EXPECT_EQ(run(head + "p && q", {p, q}), boolean({4}, {0, 0, 0, 1}));
  EXPECT_EQ(run(head + "p || q", {p, q}), boolean({4}, {0, 1, 1, 1}));
  EXPECT_EQ(run(head + "logical_xor(p, q)", {p, q}), boolean({4}, {0, 1, 1, 0}));
  EXPECT_EQ(run(head + "logical_not(p) == q", {p, q}), boolean({4}, {0, 1, 1, 0}));
  EXPECT_EQ(run(head + "max(p, q)", {p, q}), boolean({4}, {0, 1, 1, 1}));
  EXPECT_EQ(run(head + "i64(p) + i64(q)", {p, q}), i64({4}, {0, 1, 1, 2}));
  EXPECT_EQ(run(head + "where(p, q, true)", {p, q}), boolean({4}, {1, 1, 0, 1}));
}

TEST(Evaluate, BroadcastInputs) {
  const std::string text =
      "op add\ninput a f64[1|A, 1|B]\ninput b f64[1|C, 1|D]\noutput y = a*10 + b";
  EXPECT_EQ(run(text, {f64({2, 1}, {1, 2}), f64({1, 3}, {1, 2, 3})}),
            f64({2, 3}, {11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(run(text, {f64({2, 2}, {1, 2, 3, 4}), f64({2}, {5, 6})}),
            f64({2, 2}, {15, 26, 35, 46}));
  EXPECT_EQ(run(text, {f64({}, {1}), f64({}, {2})}), f64({1, 1}, {12}));
}

TEST(Evaluate, ParametersAndIotas) {
  const std::string text = R"(op p
    param k int = 2
    param alpha real
    input x f64[N]
    output y = x*$alpha + $k + f64(iota(i0*i0 - $k over N)))";
  EXPECT_EQ(run(text, {f64({3}, {1, 2, 3})}, {{"alpha", 0.5}}), f64({3}, {0.5, 2, 5.5}));
  EXPECT_EQ(run(text, {f64({1}, {1})}, {{"alpha", 1}, {"k", 5}}), f64({1}, {1}));
}

TEST(Evaluate, ValuesOfRankZero) {
  EXPECT_EQ(run("op z\ninput x f64[]\noutput y = x*x + 1", {f64({}, {3})}), f64({}, {10}));
  EXPECT_EQ(run("op z\ninput x f64[N]\noutput y = f64(2.5)[over N]", {f64({2}, {0, 0})}),
            f64({2}, {2.5, 2.5}));
}

TEST(Evaluate, ACountIsNotRoundedToF32) {
  // 2^24 + 1 is the first integer that f32 cannot represent; the mean of that number of elements
  // divides by it.
  const Array x = f32({1}, {0});
  EXPECT_EQ(
      run("op count\ninput x f32[N]\noutput y = f32(iota(16777217 over N)) - 16777216 + x", {x}),
      f32({1}, {1}));
  EXPECT_EQ(
      run("op value\ninput x f64[N]\noutput y = f64(f32(x)) - 16777216", {f64({1}, {16777217})}),
      f64({1}, {0}));
}

TEST(Evaluate, ChecksItsArrays) {
  const std::string text = "op c\ninput x f32[N]\noutput y = x";
  EXPECT_EQ(error_of([&] { run(text, {f64({1}, {1})}); }), "c: input x must be f32, got f64");
  EXPECT_EQ(error_of([&] { run(text, {f32({2}, {1})}); }), "c: input x [2] has 1 values");
  EXPECT_EQ(error_of([&] {
              run(text, {f32({2, 2}, {1, 2, 3, 4})});
            }),
            "c: x must have rank 1 [N], got rank 2 (x [2,2])");
  EXPECT_EQ(error_of([&] { run(text, {}); }), "c: 1 inputs expected (x), got 0");
}

TEST(Array, EqualityTreatsNansAlike) {
  EXPECT_EQ(f64({2}, {kNan, -0.0}), f64({2}, {kNan, 0.0}));
  EXPECT_FALSE(f64({2}, {1, 2}) == f64({2, 1}, {1, 2}));
  EXPECT_FALSE(f64({1}, {1}) == f32({1}, {1}));
  EXPECT_EQ(element_count({3, 0, std::int64_t{1} << 62, 8}), 0);
}

}  // namespace
}  // namespace mote
