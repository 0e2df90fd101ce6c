// SPDX-License-Identifier: Apache-2.0
// Tests OpenBLAS gemm against a plain loop on small integers, where every order of summation is
// exact.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/openblas_plugin.h"

namespace mote::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
enum class Layout { row, column, padded_row, padded_column };
constexpr Layout kLayouts[] = {Layout::row, Layout::column, Layout::padded_row,
                               Layout::padded_column};

Tensor matrix(DType dtype, std::int64_t rows, std::int64_t cols, Layout layout) {
  const std::int64_t gap = layout == Layout::padded_row || layout == Layout::padded_column ? 3 : 0;
  if (layout == Layout::row || layout == Layout::padded_row)
    return {dtype, {rows, cols}, {std::max<std::int64_t>(1, cols) + gap, 1}, kUntouched};
  return {dtype, {rows, cols}, {1, std::max<std::int64_t>(1, rows) + gap}, kUntouched};
}

/// Computes one element of alpha a b + beta c; c is not read if beta is 0.
double expected(const Tensor& a, const Tensor& b, const Tensor* c, double alpha, double beta,
                std::int64_t m, std::int64_t n) {
  double sum = 0;
  for (std::int64_t k = 0; k < a.extent(1); ++k) sum += a.get({m, k}) * b.get({k, n});
  return alpha * sum + (c != nullptr && beta != 0 ? beta * c->get({m, n}) : 0);
}

/// Counts the elements of y that differ from the plain loop.
int mismatches(const Tensor& a, const Tensor& b, const Tensor* c, double alpha, double beta,
               const Tensor& y) {
  int count = 0;
  Tensor::for_each_index(y.shape(), [&](const Shape& i) {
    if (y.get(i) != expected(a, b, c, alpha, beta, i[0], i[1])) ++count;
  });
  return count;
}

struct Sizes {
  std::int64_t m, n, k;
};
constexpr Sizes kSizes[] = {{3, 4, 5}, {1, 1, 1}, {1, 5, 7}, {7, 1, 3},
                            {3, 4, 1}, {1, 6, 1}, {5, 1, 1}, {33, 17, 40}};

TEST(OpenblasGemm, AgreesWithAPlainLoopInEveryLayout) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Sizes& s : kSizes)
      for (const Layout la : kLayouts)
        for (const Layout lb : kLayouts)
          for (const Layout ly : kLayouts) {
            Tensor a = matrix(dtype, s.m, s.k, la).fill_integers(1);
            Tensor b = matrix(dtype, s.k, s.n, lb).fill_integers(2);
            Tensor y = matrix(dtype, s.m, s.n, ly);
            Call call("gemm", {&a, &b}, {&y});
            ASSERT_EQ(call.run(openblas_kernel("gemm")), MOTE_OK) << call.message();
            ASSERT_EQ(mismatches(a, b, nullptr, 1, 1, y), 0)
                << "m=" << s.m << " n=" << s.n << " k=" << s.k;
            ASSERT_EQ(y.changed_gaps(kUntouched), 0);
          }
}

TEST(OpenblasGemm, ScalesAndAddsC) {
  Tensor a = matrix(DType::f32, 6, 9, Layout::column).fill_integers(3);
  Tensor b = matrix(DType::f32, 9, 5, Layout::padded_row).fill_integers(4);
  Tensor c(DType::f32, {6, 5}, {0, 1});
  c.fill_integers(5);
  Tensor y = matrix(DType::f32, 6, 5, Layout::padded_column);
  Call call("gemm", {&a, &b, &c}, {&y});
  call.real("alpha", 2).real("beta", -3);
  ASSERT_EQ(call.run(openblas_kernel("gemm")), MOTE_OK) << call.message();
  EXPECT_EQ(mismatches(a, b, &c, 2, -3, y), 0);
}

TEST(OpenblasGemm, BetaZeroReadsNeitherCNorY) {
  for (const Layout layout : kLayouts) {
    Tensor a = matrix(DType::f64, 4, 3, Layout::row).fill_integers(6);
    Tensor b = matrix(DType::f64, 3, 5, Layout::row).fill_integers(7);
    Tensor c(DType::f64, {4, 5}, {5, 1}, kNaN);
    Tensor y = matrix(DType::f64, 4, 5, layout);
    Tensor::for_each_index(y.shape(), [&](const Shape& i) { y.set(i, kNaN); });
    Call call("gemm", {&a, &b, &c}, {&y});
    call.real("beta", 0);
    ASSERT_EQ(call.run(openblas_kernel("gemm")), MOTE_OK) << call.message();
    EXPECT_EQ(mismatches(a, b, nullptr, 1, 0, y), 0);
  }
}

TEST(OpenblasGemm, EmptySumGivesBetaC) {
  for (const bool with_c : {true, false}) {
    Tensor a(DType::f32, {3, 0});
    Tensor b(DType::f32, {0, 4});
    Tensor c(DType::f32, {3, 4});
    c.fill_integers(8);
    Tensor y(DType::f32, {3, 4}, {4, 1}, kNaN);
    Call call("gemm", {&a, &b, with_c ? &c : nullptr}, {&y});
    call.real("beta", 2);
    ASSERT_EQ(call.run(openblas_kernel("gemm")), MOTE_OK) << call.message();
    EXPECT_EQ(mismatches(a, b, with_c ? &c : nullptr, 1, 2, y), 0);
  }
}

TEST(OpenblasGemm, AcceptsEmptyOutputs) {
  for (const Sizes& s : {Sizes{0, 4, 3}, Sizes{4, 0, 3}, Sizes{0, 0, 0}}) {
    Tensor a(DType::f32, {s.m, s.k});
    Tensor b(DType::f32, {s.k, s.n});
    Tensor y(DType::f32, {s.m, s.n}, {std::max<std::int64_t>(1, s.n), 1}, kUntouched);
    Call call("gemm", {&a, &b}, {&y});
    ASSERT_EQ(call.run(openblas_kernel("gemm")), MOTE_OK) << call.message();
    EXPECT_EQ(y.changed_gaps(kUntouched), 0);
  }
}

TEST(OpenblasGemm, WorksInPlace) {
  Tensor a = matrix(DType::f64, 5, 4, Layout::row).fill_integers(9);
  Tensor b = matrix(DType::f64, 4, 6, Layout::column).fill_integers(10);
  Tensor y = matrix(DType::f64, 5, 6, Layout::padded_row).fill_integers(11);
  const Tensor before = y;
  Call call("gemm", {&a, &b, &y}, {&y});
  call.real("beta", 3);
  ASSERT_EQ(call.run(openblas_kernel("gemm")), MOTE_OK) << call.message();
  EXPECT_EQ(mismatches(a, b, &before, 1, 3, y), 0);
}

TEST(OpenblasGemm, AlphaZeroStillMultiplies) {
  Tensor a(DType::f32, {2, 2});
  Tensor b(DType::f32, {2, 2});
  a.set({0, 0}, kNaN);
  Tensor y(DType::f32, {2, 2}, {2, 1}, kUntouched);
  Call call("gemm", {&a, &b}, {&y});
  call.real("alpha", 0);
  ASSERT_EQ(call.run(openblas_kernel("gemm")), MOTE_OK) << call.message();
  EXPECT_TRUE(std::isnan(y.get({0, 0})));
  EXPECT_EQ(y.get({1, 1}), 0);
}

TEST(OpenblasGemm, IgnoresTheStrideOfAnAxisWithOneElement) {
  Tensor a(DType::f32, {1, 4}, {0, 1});
  Tensor b(DType::f32, {4, 1}, {3, 0});
  a.fill_integers(12);
  b.fill_integers(13);
  Tensor y(DType::f32, {1, 1}, {0, 7}, kUntouched);
  Call call("gemm", {&a, &b}, {&y});
  ASSERT_EQ(call.run(openblas_kernel("gemm")), MOTE_OK) << call.message();
  EXPECT_EQ(mismatches(a, b, nullptr, 1, 1, y), 0);
}

TEST(OpenblasGemm, DeclinesDtypesThatBlasHasNot) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::i8, DType::u8, DType::i32}) {
    Tensor a(dtype, {2, 2}), b(dtype, {2, 2}), y(dtype, {2, 2});
    Call call("gemm", {&a, &b}, {&y});
    EXPECT_EQ(call.can_run(openblas_kernel("gemm")), MOTE_UNSUPPORTED) << name(dtype);
    EXPECT_NE(call.message().find("is not f32 or f64"), std::string::npos) << call.message();
  }
}

TEST(OpenblasGemm, DeclinesWhatBlasCannotAddress) {
  Tensor good(DType::f32, {3, 3});
  Tensor spread(DType::f32, {3, 3}, {8, 2});
  Tensor repeated(DType::f32, {3, 3}, {0, 1});
  Tensor overlapping(DType::f32, {3, 3}, {1, 1});
  for (Tensor* bad : {&spread, &repeated, &overlapping})
    for (const int role : {0, 1, 2}) {
      Call call("gemm", {role == 0 ? bad : &good, role == 1 ? bad : &good},
                {role == 2 ? bad : &good});
      EXPECT_EQ(call.can_run(openblas_kernel("gemm")), MOTE_UNSUPPORTED);
    }
  Call call("gemm", {&good, &spread}, {&good});
  call.can_run(openblas_kernel("gemm"));
  EXPECT_EQ(call.message(),
            "b f32[3,3] with strides 8,2: BLAS needs one unit stride and a leading dimension that "
            "covers it");
}

TEST(OpenblasGemm, RejectsIllegalCalls) {
  Tensor a(DType::f32, {3, 4});
  Tensor b(DType::f32, {5, 3});
  Tensor b64(DType::f64, {4, 3});
  Tensor b_good(DType::f32, {4, 3});
  Tensor y(DType::f32, {3, 3});
  Call inner("gemm", {&a, &b}, {&y});
  EXPECT_EQ(inner.can_run(openblas_kernel("gemm")), MOTE_INVALID);
  EXPECT_EQ(inner.message(), "K of a and b differ: 4 and 5");
  Call dtypes("gemm", {&a, &b64}, {&y});
  EXPECT_EQ(dtypes.can_run(openblas_kernel("gemm")), MOTE_INVALID);
  EXPECT_EQ(dtypes.message(), "element types differ: a f32[3,4] and b f64[4,3]");
  Call shape("gemm", {&a, &b_good}, {&a});
  EXPECT_EQ(shape.can_run(openblas_kernel("gemm")), MOTE_INVALID);
  EXPECT_EQ(shape.message(), "y f32[3,4], expected shape [3,3]");
  Call param("gemm", {&a, &b_good}, {&y});
  param.real("gamma", 1);
  EXPECT_EQ(param.can_run(openblas_kernel("gemm")), MOTE_INVALID);
  EXPECT_EQ(param.message(), "unknown parameter gamma, known: alpha, beta");
}

}  // namespace
}  // namespace mote::test
