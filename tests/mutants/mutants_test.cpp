// SPDX-License-Identifier: Apache-2.0
// Tests that each planted bug shows in the cases that its comment names and in no other: a mutant
// that is wrong everywhere or nowhere would measure nothing.
#include <gtest/gtest.h>

#include "mote/base/plugin.h"
#include "support/call.h"

namespace mote::test {
namespace {

constexpr double kUntouched = -77;

Plugin mutant(const std::string& name) {
  return load_plugin(std::string(MOTE_MUTANTS_FOLDER) + "/" + name + ".so");
}

/// Returns the number of wrong elements when the mutant computes y = a b; a has `gap` more columns.
int wrong_gemm(const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k,
               std::int64_t gap = 0, bool transposed = false, DType dtype = DType::f32) {
  const Plugin plugin = mutant(name);
  Tensor a(dtype, {m, k}, transposed ? Shape{1, m + gap} : Shape{k + gap, 1}, kUntouched);
  Tensor b(dtype, {k, n});
  Tensor c(dtype, {m, n});
  Tensor y(dtype, {m, n}, {n, 1}, kUntouched);
  // The entries are positive: a term that is left out always shows.
  Tensor::for_each_index(a.shape(), [&](const Shape& i) { a.set(i, double(1 + i[0] + 2 * i[1])); });
  Tensor::for_each_index(b.shape(), [&](const Shape& i) { b.set(i, double(1 + i[0] + 3 * i[1])); });
  c.fill_integers(3);
  Call call("gemm", {&a, &b, &c}, {&y});
  call.real("alpha", 2).real("beta", 3);
  EXPECT_EQ(call.run(*kernel_of(*plugin.backends.at(0), "gemm")), MOTE_OK) << call.message();
  int wrong = 0;
  Tensor::for_each_index(y.shape(), [&](const Shape& i) {
    double sum = 0;
    for (std::int64_t t = 0; t < k; ++t) sum += a.get({i[0], t}) * b.get({t, i[1]});
    if (y.get(i) != 2 * sum + 3 * c.get(i)) ++wrong;
  });
  return wrong;
}

TEST(Mutants, TheCorrectTwinIsRight) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const std::int64_t k : {0, 1, 8, 9, 13}) {
      EXPECT_EQ(wrong_gemm("gemm_correct", 5, 4, k, 0, false, dtype), 0);
      EXPECT_EQ(wrong_gemm("gemm_correct", 5, 4, k, 3, true, dtype), 0);
    }
}

TEST(Mutants, KTailFailsUnlessKIsAMultipleOf8) {
  for (const std::int64_t k : {0, 8, 16}) EXPECT_EQ(wrong_gemm("gemm_k_tail", 2, 3, k), 0);
  for (const std::int64_t k : {1, 7, 9}) EXPECT_EQ(wrong_gemm("gemm_k_tail", 2, 3, k), 6);
}

TEST(Mutants, LateKTailFailsFromNineOn) {
  for (std::int64_t k = 0; k <= 8; ++k) EXPECT_EQ(wrong_gemm("gemm_k_tail_late", 1, 1, k), 0);
  for (const std::int64_t k : {9, 15, 17}) EXPECT_EQ(wrong_gemm("gemm_k_tail_late", 1, 1, k), 1);
  EXPECT_EQ(wrong_gemm("gemm_k_tail_late", 1, 1, 16), 0);
}

TEST(Mutants, IgnoredLeadingDimensionFailsOnlyWithAGap) {
  for (const bool transposed : {false, true}) {
    EXPECT_EQ(wrong_gemm("gemm_ignores_ld", 3, 2, 4, 0, transposed), 0);
    EXPECT_GT(wrong_gemm("gemm_ignores_ld", 3, 2, 4, 5, transposed), 0);
  }
}

TEST(Mutants, UnwrittenLeavesTheLastColumn) {
  EXPECT_EQ(wrong_gemm("gemm_unwritten", 3, 4, 2), 3);
  EXPECT_EQ(wrong_gemm("gemm_unwritten", 3, 1, 2), 3);
}

TEST(Mutants, CrashNeedsMoreThanFourRows) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EQ(wrong_gemm("gemm_crash", 4, 3, 2), 0);
  EXPECT_DEATH(wrong_gemm("gemm_crash", 5, 3, 2), "");
}

TEST(Mutants, StaleBatchIsRightInTheFirstBatchOnly) {
  const Plugin plugin = mutant("matmul_batch_stale");
  Tensor a(DType::f32, {3, 2, 4});
  Tensor b(DType::f32, {3, 4, 5});
  Tensor y(DType::f32, {3, 2, 5});
  Tensor::for_each_index(a.shape(), [&](const Shape& i) { a.set(i, double(1 + i[1])); });
  Tensor::for_each_index(b.shape(), [&](const Shape& i) { b.set(i, double(1 + i[0])); });
  Call call("matmul", {&a, &b}, {&y});
  ASSERT_EQ(call.run(*kernel_of(*plugin.backends.at(0), "matmul")), MOTE_OK) << call.message();
  Tensor::for_each_index(y.shape(), [&](const Shape& i) {
    const double right = 4 * double(1 + i[1]) * double(1 + i[0]);
    EXPECT_EQ(y.get(i) == right, i[0] == 0);
  });
}

TEST(Mutants, RightPadIsLeftFailsOnlyWhereTheyDiffer) {
  const Plugin plugin = mutant("conv2d_right_pad_is_left");
  for (const std::int64_t right : {1, 2}) {
    Tensor x(DType::f64, {1, 1, 3, 4});
    Tensor w(DType::f64, {1, 1, 1, 2});
    Tensor y(DType::f64, {1, 1, 3, 4 + right});
    Tensor::for_each_index(x.shape(), [&](const Shape& i) { x.set(i, double(1 + i[3])); });
    w.set({0, 0, 0, 0}, 1);
    Call call("conv2d", {&x, &w}, {&y});
    call.integer("pads1", 1).integer("pads3", right);
    ASSERT_EQ(call.run(*kernel_of(*plugin.backends.at(0), "conv2d")), MOTE_OK) << call.message();
    int wrong = 0;
    Tensor::for_each_index(y.shape(), [&](const Shape& i) {
      const double value = i[3] >= 1 && i[3] <= 4 ? double(i[3]) : 0;
      if (y.get(i) != value) ++wrong;
    });
    EXPECT_EQ(wrong > 0, right != 1);
  }
}

}  // namespace
}  // namespace mote::test
