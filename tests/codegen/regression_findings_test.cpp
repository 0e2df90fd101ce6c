// SPDX-License-Identifier: Apache-2.0
// Tests programs that a careless compiler gets wrong: findings of random programs and of reviews.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "regression_programs.h"

namespace mote::test {
namespace {

/// A minimum of bytes that a tile of its own holds.
TEST(RegressionPrograms, ExtremaOfWhatATileHolds) {
  expect_agreement(
      "input x u8[A, B, C]\n"
      "output e = min[1](select_scatter[1, add](u8(2)[over A, 1, C], x, "
      "iota((i2 + 1)/2 over A, B, C)))");
}

// The branch around the loop of a sum hid the sum's name from the statement that reads it.
TEST(RegressionPrograms, SumUnderABranchIsReadBehindIt) {
  expect_agreement(
      "input w f64[1, C]\n"
      "output e = sum[1](w[0, 0 over 1, 1, C])[0, 0 over 1, 1]");
  expect_agreement(
      "input w f64[3]\n"
      "output f = sum[0](w[0 over 3, 2])[i0 over 3, 1]");
}

// A kernel refused empty tensors if an axis by which an index divides is 0.
TEST(RegressionPrograms, DivisionByTheSizeOfAnEmptyAxis) {
  const Program p = program(
      "input x f64[1, A]\n"
      "output f = x[0, i0%A over A]");
  Trial empty;
  empty.sizes["A"] = 0;
  const auto m = check_program(p, {empty});
  EXPECT_FALSE(m) << to_string(*m);
}

// A cast to the dtype that a value has already still rounds or wraps it: the value is wider.
TEST(RegressionPrograms, CastToTheSameDtypeStillRounds) {
  expect_agreement(
      "input x f32[A]\n"
      "output e = f64(f32(exp(x)))");
  expect_agreement(
      "input x i32[A]\n"
      "output e = i64(i32(x * 2000000000))");
}

// The 64-bit accumulator of max or min, stored as a bool, drew a warning.
TEST(RegressionPrograms, GreatestAndLeastOfTruths) {
  expect_agreement(
      "input x bool[A, C]\n"
      "output y = max[1](x)\n"
      "output z = min[1](x)");
}

// gcc folds the choice of a value into its comparison with 0, as a bool, and then warned.
TEST(RegressionPrograms, TruthOfAChosenValue) {
  expect_agreement(
      "input x f16[]\n"
      "input y f64[1, 3]\n"
      "output f = bool(where(x[over 1, 3] != 1, y, y)[i0, 0 over 2, 1])");
}

// v > v folds to 0 in C; the scalar that it read was then set but not used, which drew a warning.
TEST(RegressionPrograms, ScalarWhoseReadersFoldAway) {
  expect_agreement(
      "input x f64[C]\n"
      "v1 = x[0 over]\n"
      "v2 = (v1 + v1)[over 1, 2, 2]\n"
      "output f = v2 > v2");
}

TEST(RegressionPrograms, NegationComparedWithAReadThatMayBeOutside) {
  expect_agreement(
      "input z bool[1, 3, 3]\n"
      "input l bool[3]\n"
      "output f = logical_xor(logical_not(l), z[0, i0 + 2, 0 over 3])");
}

// gcc warns about a comparison of ~ of a byte, which C promotes.
TEST(RegressionPrograms, ComplementComparedWithAByte) {
  expect_agreement(
      "input x u8[3]\n"
      "input z i32[3]\n"
      "v1 = bitwise_not(x)\n"
      "output f = v1 == x[2 - i0 over 3]\n"
      "output g = x < v1\n"
      "output h = bitwise_not(z) == z[2 - i0 over 3]");
}

// A temporary of bytes holds sums beyond 255, where a minimum of bytes starts.
TEST(RegressionPrograms, PositionOfTheLeastOfSumsOfBytes) {
  expect_agreement(
      "input l u8[2, 2, 2]\n"
      "input m u8[2, 2]\n"
      "output e = argmin[2](scatter[add](m, l to 0, 0)[0, 0 over 2, 2, 2])");
}

// The index is the least i64, whose negation overflows.
TEST(RegressionPrograms, RowAtTheLeastIndex) {
  expect_agreement(
      "input x f64[2]\n"
      "output f = select[0](x, i64(x[i0 over 3 else -inf]))[i0 over 3, 2]");
}

// Tiles of rows skip the terms of taps that give some rows nothing; the loop over taps was once
// written as one with the loop inside, of which the condition knew nothing.
TEST(RegressionPrograms, TapsThatGiveSomeRowsNothing) {
  for (const char* more : {"", " + bias[i1 over W, I]"})
    expect_agreement(
        std::string("param stride int = 1 in 1..3\n"
                    "param by int = 1 in 1..3\n"
                    "input g f64[T, O]\n"
                    "input f f64[O, K, I]\n"
                    "input bias f64[I]\n"
                    "size W = (T - 1)*$stride + (K - 1)*$by + 1\n"
                    "there = iota((i0 - i2*$by) % $stride over W, I, K, O) == 0\n"
                    "read = g[(i0 - i2*$by)/$stride, i3 over W, I, K, O else 0]\n"
                    "s = sum[2, 3](where(there, read * f[i3, i2, i1 over W, I, K, O], 0))\n"
                    "output y = s") +
        more);
}

// The sums of a tile are added up in blocks of positions.
TEST(RegressionPrograms, SumsInBlocksOfPositions) {
  expect_agreement(
      "input g f64[N, O, H, W]\n"
      "input x f64[N, I, H, W]\n"
      "p = g[i2, i0, i3, i4 over O, I, N, H, W] * x[i2, i1, i3, i4 over O, I, N, H, W]\n"
      "output y = sum[2, 3, 4](p)");
}

// Products of bytes are added in pairs, of which a condition may leave out one term.
TEST(RegressionPrograms, PairsOfWhichOneTermIsLeftOut) {
  for (const char* where : {"iota(i2 over M, N, K) <= iota(i0 over M, N, K)",
                            "iota(i2 over M, N, K) <= iota(i1 over M, N, K)",
                            "iota(i2 over M, N, K) < iota(3 over M, N, K)"})
    expect_agreement(std::string("input a u8[M, K]\n"
                                 "input b i8[K, N]\n"
                                 "x = i32(a[i0, i2 over M, N, K])\n"
                                 "z = i32(b[i2, i1 over M, N, K])\n"
                                 "output y = sum[2](where(") +
                     where + ", x * z, 0))");
}

// Maxima of bytes are kept in 32 bits, those of sums that may leave 32 bits are not.
TEST(RegressionPrograms, MaximaInFewBits) {
  for (const char* dtype : {"u8", "i8", "i32"})
    for (const char* body : {"max[1](x)", "min[0](x)", "max[1](x + z)", "min[1](x * z - z)",
                             "max[0](max[1](x + z) * 3)", "argmax[1](x - z)"})
      expect_agreement(std::string("input x ") + dtype + "[C, C]\ninput z " + dtype +
                       "[C, C]\noutput y = " + body);
}

// gcc 12 reads the whole vector of elements of which a constant condition leaves some out. It takes
// many trials for a row that ends where its memory does.
TEST(RegressionPrograms, ReadsThatAConstantConditionLeavesOut) {
  constexpr int kMany = 60;
  for (const char* dtype : {"f64", "f32", "i32"})
    for (const auto& [columns, wider] : {std::pair(1, 4), {3, 4}, {3, 8}})
      expect_agreement(fmt::format("input x {}[N, {}]\n"
                                   "output y = x[i0, i1 over N, {} else 5] * 2\n",
                                   dtype, columns, wider),
                       kMany);
}

// Both sides of a logical operation are read in vectors, also where the first decides.
TEST(RegressionPrograms, LogicalOperationsOnElements) {
  expect_agreement(
      "input x bool[N, M]\n"
      "input z bool[N, M]\n"
      "input v f64[N, M]\n"
      "output a = (x && z) || (x != z)\n"
      "output b = where(x || z[i0, i1 + 1 over N, M else true], v, 2)\n"
      "output c = (x && v > 0) != z");
}

// ---- kernels of CUDA

// A stage is divided with all names reserved that other stages have: what its parts keep between
// them once got the name of another stage's accumulator.
TEST(RegressionPrograms, NamesOfPartsAreThoseOfNoOtherStage) {
  expect_agreement(
      "input z f64[2]\n"
      "input k f64[2, 3]\n"
      "input l i64[3]\n"
      "input m i64[2]\n"
      "least = scatter[min](f64(1)[over 2, 3, 3], z to 0, 0, 0)\n"
      "output f = max[0](least[0, 0, 0 over 3])[over 3]\n"
      "sums = select[0](select_scatter[0, add](z, z, m), l)\n"
      "output g = scatter[max](sums, max[1](k) to i0)");
}

// A scatter to the elements from the third on has none where there is one element, and no parts of
// its sums.
TEST(RegressionPrograms, PartsOfLoopsWithoutIterations) {
  expect_agreement(
      "input k f64[K, 6]\n"
      "input l f64[3, A]\n"
      "output g = scatter[add](l, sum[0](k) to 0, i0 + 2)");
}

/// A gather stores its copy to a panel in each iteration, whether its index exists or not.
TEST(RegressionPrograms, AGatherThatATileCopies) {
  expect_agreement(
      "input x f32[C, B]\n"
      "input y i32[1]\n"
      "input z f32[A, C]\n"
      "v = select[0](x, y[0 over C, B])[i2, i1 over A, B, C]\n"
      "output f = sum[2](v*z[i0, i2 over A, B, C])");
}

/// The input is copied once for all of kh, which decides which of its lines d meets.
TEST(RegressionPrograms, ACopyOfABlockUnderAConditionOfAnotherLoop) {
  expect_agreement(
      "param p int = 1 in 0..\n"
      "param q int = 1 in 0..\n"
      "input k f32[KH, KW]\n"
      "input x f32[N, C, h: HB+1, w: WB+1]\n"
      "input d f32[N, O, h: HB+1, w: WB+1]\n"
      "row = iota(i5 - i0 + $p over KH, O, C, KW, N, HB+1, WB+1)\n"
      "col = iota(i6 + i3 - $q over KH, O, C, KW, N, HB+1, WB+1)\n"
      "inside = row >= 0 && row < iota(HB+1 over KH, O, C, KW, N, HB+1, WB+1) && col >= 0 && "
      "col < iota(WB+1 over KH, O, C, KW, N, HB+1, WB+1)\n"
      "xs = x[i4, i2, i5, i6 + i3 - $q over KH, O, C, KW, N, HB+1, WB+1]\n"
      "ds = d[i4, i1, i5 - i0 + $p, i6 over KH, O, C, KW, N, HB+1, WB+1]\n"
      "output w = sum[4,5,6](where(inside, xs*ds, 0)) + k[i0, i3 over KH, O, C, KW]");
}

}  // namespace
}  // namespace mote::test
