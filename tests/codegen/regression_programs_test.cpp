// SPDX-License-Identifier: Apache-2.0
// Tests programs that a careless compiler gets wrong: known pitfalls of fusion, contraction and
// guards. regression_findings_test.cpp has those that random programs found.
#include "regression_programs.h"

#include <gtest/gtest.h>

namespace mote::test {
namespace {

// ---- C that compiles without a warning

TEST(RegressionPrograms, ComparisonsThatEightBitsDecide) {
  expect_agreement(
      "input x u8[N]\n"
      "input z i8[N]\n"
      "output a = x >= 0\n"
      "output b = where(x < 0, f64(1), f64(2))\n"
      "output c = z >= -128 && z <= 126\n"
      "output d = i64(x) == 300\n"
      "output e = 127 < z");
}

TEST(RegressionPrograms, ComparisonsThatABoolDecides) {
  expect_agreement(
      "input x bool[N]\n"
      "output a = u8(x) < 5\n"
      "output b = i64(x) >= 0\n"
      "output c = i8(x) == 1\n"
      "output d = 2 == i32(u8(x))");
}

// Compilers warn about ~ of a boolean.
TEST(RegressionPrograms, TheBitsOfABoolInverted) {
  expect_agreement(
      "input x bool[N]\n"
      "input y u8[N]\n"
      "output a = bitwise_not(u8(x))\n"
      "output b = bitwise_not(i32(x))\n"
      "output c = bitwise_not(i64(i8(x)))\n"
      "output d = bitwise_not(u8(y > 3))");
}

TEST(RegressionPrograms, AByteAsAnIndex) {
  expect_agreement(
      "input x f64[N]\n"
      "input at u8[N]\n"
      "output a = select[0](x, at)\n"
      "output b = select[0](x, at + 1)\n"
      "output c = select_scatter[0, add](f64(0)[over 300], x, at)");
}

// ---- fusion

TEST(RegressionPrograms, ShiftedReadOfACopy) {
  expect_agreement(
      "input x f64[N]\n"
      "t = x*2\n"
      "output t\n"
      "output u = t[i0 + 1 over N]");
}

TEST(RegressionPrograms, ShiftedReadOfAnExpensiveTemporary) {
  expect_agreement(
      "input x f64[N]\n"
      "t = exp(x)\n"
      "output u = t[i0 + 1 over N] + t[i0 - 1 over N] + t");
}

TEST(RegressionPrograms, ReversedReadOfARowSum) {
  expect_agreement(
      "input x f64[A, B]\n"
      "s = sum[1](x)\n"
      "output u = s[A - 1 - i0 over A] * s");
}

TEST(RegressionPrograms, ReductionOverAllAxesWithItsProducer) {
  expect_agreement(
      "input x f64[A, B]\n"
      "y = exp(x)\n"
      "output y\n"
      "output s = sum[0, 1](y)\n"
      "output z = y / sum[0, 1](y)[over A, B]");
}

TEST(RegressionPrograms, ReductionOfOneAxisReadAlongTheOther) {
  expect_agreement(
      "input x f64[A, A]\n"
      "row = sum[1](x)\n"
      "column = sum[0](x)\n"
      "output y = x[i0, i1 over A, A] + row[i1 over A, A]*column[i0 over A, A]");
}

TEST(RegressionPrograms, ValueUsedTwice) {
  expect_agreement(
      "input x f64[N]\n"
      "output y = x + x*x\n"
      "t = exp(x)\n"
      "output z = t + t*t");
}

TEST(RegressionPrograms, OutputThatOthersReadAndTheSameTwice) {
  expect_agreement(
      "input x f32[A, B]\n"
      "t = exp(x)\n"
      "output e = t\n"
      "output f = t\n"
      "output g = max[1](t)\n"
      "output h = t[i1, i0 over B, A]");
}

TEST(RegressionPrograms, DifferentlyWrittenExtentsThatAreEqual) {
  const std::string matmul =
      "input x f64[A, K]\n"
      "input w f64[L, B]\n"
      "output y = sum[1](x[i0, i1 over A, K, B] * w[i1, i2 over A, L, B])";
  expect_agreement(matmul);
  EXPECT_EQ(compiled_count(matmul).nests, 1);
  EXPECT_EQ(compiled_count(matmul).temporaries, 0);
}

// ---- contraction

TEST(RegressionPrograms, ContractionUnderAnOuterLoopThatCarries) {
  expect_agreement(
      "input x f64[A, B]\n"
      "t = exp(x)\n"
      "s = sum[1](t)\n"
      "output y = t / s[i0 over A, B]\n"
      "output z = t[i0 - 1, i1 over A, B] * s[i0 over A, B]");
}

TEST(RegressionPrograms, RunningSumOfRunningMax) {
  expect_agreement(
      "input x f64[N]\n"
      "m = max[0](where(iota(i0 over N, N) <= iota(i1 over N, N), x[i0 over N, N], -inf))\n"
      "output y = sum[0](where(iota(i0 over N, N) <= iota(i1 over N, N), m[i0 over N, N], 0))");
}

TEST(RegressionPrograms, TwoReductionsOfOneRow) {
  expect_agreement(
      "input x f64[A, B, C]\n"
      "e = exp(x - max[1 keep](x))\n"
      "output y = e / sum[1 keep](e)");
}

// ---- guards

TEST(RegressionPrograms, ReversedIndexThatLeavesTheRange) {
  expect_agreement(
      "input x f64[N]\n"
      "output y = x[-i0 + 3 over N]\n"
      "output z = x[-i0 + 3 over 6 else 7]");
}

TEST(RegressionPrograms, GuardedReadUnderAnotherChoice) {
  expect_agreement(
      "input x f64[N]\n"
      "t = x[i0 - 1 over N else 3]\n"
      "u = exp(t)\n"
      "output y = where(iota(i0 over N) > 1, u[i0 - 2 over N else 5], t)");
}

TEST(RegressionPrograms, ReductionReadOutOfRange) {
  expect_agreement(
      "input x f64[A, B]\n"
      "output y = sum[1](x)[i0 - 1 over A else 7]\n"
      "output z = prod[0](x)[i0*2 - 1 over B else 3]");
}

TEST(RegressionPrograms, ConditionOfAnInnerAxisInAReduction) {
  expect_agreement(
      "input x f64[A, B]\n"
      "s = sum[1](where(iota(i1 over A, B) <= iota(i0 over A, B), x, 0))\n"
      "output y = where(iota(i0 over A, C) < 2, s[i0 over A, C], 1)\n"
      "input w f64[C]\n"
      "output z = y + w[i1 over A, C]");
}

TEST(RegressionPrograms, ScalarUnderACondition) {
  expect_agreement(
      "input x f64[A, B]\n"
      "t = exp(sum[1](x))\n"
      "output y = where(iota(i0 over A, B) >= 1, t[i0 over A, B]*x, t[i0 - 1 over A, B])");
}

TEST(RegressionPrograms, PickOfAnAxisThatMayBeEmpty) {
  expect_agreement(
      "input x f64[A, B]\n"
      "output y = sum[0](x)[0 over]\n"
      "output z = max[1](x)[1 over else 4]");
}

// ---- shapes

TEST(RegressionPrograms, ShapeOfAnIntermediate) {
  expect_agreement(
      "input x f64[N]\n"
      "size T = (N + 1)/2\n"
      "t = x[i0*2 over T]\n"
      "u = exp(t[i1 over N, T])\n"
      "output y = sum[0](u) + t");
}

TEST(RegressionPrograms, MergedAndSplitAxes) {
  expect_agreement(
      "input x f64[A, B]\n"
      "m = exp(x[i0/B, i0%B over A*B])\n"
      "output y = m[i0*B + i1 over A, B] + x\n"
      "output z = m[i0 + 1 over A*B]\n"
      "output s = sum[1](m[i0*B + i1 over A, B])");
}

TEST(RegressionPrograms, SelectByDataThatIsComputed) {
  expect_agreement(
      "input x f64[A, B]\n"
      "input j i64[A, 3]\n"
      "t = exp(x)\n"
      "output y = select[1](t, j + 1 else 9) + select[1](t, j)");
}

}  // namespace
}  // namespace mote::test
