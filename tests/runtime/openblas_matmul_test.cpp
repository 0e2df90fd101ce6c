// SPDX-License-Identifier: Apache-2.0
// Tests OpenBLAS matmul against a plain loop on small integers: broadcasting, ranks, transposed
// batches.
#include <gtest/gtest.h>

#include "runtime/openblas_plugin.h"

namespace mote::test {
namespace {

/// Returns the index into an operand whose missing axes count as 1 and whose axes of extent 1
/// repeat.
Shape broadcast(const Tensor& t, std::int64_t p, std::int64_t q, std::int64_t r, std::int64_t c) {
  const Shape full = {p, q, r, c};
  Shape index(full.end() - static_cast<std::ptrdiff_t>(t.shape().size()), full.end());
  for (std::size_t axis = 0; axis + 2 < index.size(); ++axis)
    if (t.extent(axis) == 1) index[axis] = 0;
  return index;
}

int mismatches(const Tensor& a, const Tensor& b, const Tensor& y) {
  int count = 0;
  const std::int64_t terms = a.shape().back();
  Shape full = y.shape();
  full.insert(full.begin(), 4 - full.size(), 1);
  Tensor::for_each_index(full, [&](const Shape& i) {
    double sum = 0;
    for (std::int64_t k = 0; k < terms; ++k)
      sum += a.get(broadcast(a, i[0], i[1], i[2], k)) * b.get(broadcast(b, i[0], i[1], k, i[3]));
    if (y.get(broadcast(y, i[0], i[1], i[2], i[3])) != sum) ++count;
  });
  return count;
}

void expect_right(Tensor& a, Tensor& b, Tensor& y) {
  a.fill_integers(1);
  b.fill_integers(2);
  Call call("matmul", {&a, &b}, {&y});
  ASSERT_EQ(call.run(openblas_kernel("matmul")), MOTE_OK) << call.message();
  EXPECT_EQ(mismatches(a, b, y), 0);
  EXPECT_EQ(y.changed_gaps(kUntouched), 0);
}

TEST(OpenblasMatmul, BroadcastsBatchAxes) {
  struct Shapes {
    Shape a, b, y;
  };
  const Shapes all[] = {{{3, 4}, {4, 5}, {3, 5}},
                        {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}},
                        {{2, 3, 4}, {4, 5}, {2, 3, 5}},
                        {{3, 4}, {2, 4, 5}, {2, 3, 5}},
                        {{2, 1, 3, 4}, {6, 4, 5}, {2, 6, 3, 5}},
                        {{1, 6, 3, 4}, {2, 1, 4, 5}, {2, 6, 3, 5}},
                        {{2, 3, 4}, {1, 1, 4, 5}, {1, 2, 3, 5}},
                        {{0, 3, 4}, {1, 4, 5}, {0, 3, 5}},
                        {{2, 3, 0}, {2, 0, 5}, {2, 3, 5}},
                        {{2, 0, 4}, {2, 4, 5}, {2, 0, 5}}};
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Shapes& s : all) {
      Tensor a(dtype, s.a);
      Tensor b(dtype, s.b);
      Tensor y(dtype, s.y, contiguous_strides(s.y), kUntouched);
      expect_right(a, b, y);
    }
}

TEST(OpenblasMatmul, TakesTransposedAndPaddedBatches) {
  Tensor a(DType::f32, {2, 3, 7, 5}, {1000, 300, 1, 9});
  Tensor b(DType::f32, {2, 3, 5, 4}, {400, 0, 6, 1});
  Tensor y(DType::f32, {2, 3, 7, 4}, {40, 400, 5, 1}, kUntouched);
  expect_right(a, b, y);
}

TEST(OpenblasMatmul, RejectsBatchesThatDoNotMatch) {
  Tensor a(DType::f32, {2, 3, 4});
  Tensor b(DType::f32, {3, 4, 5});
  Tensor y(DType::f32, {2, 3, 5});
  Call call("matmul", {&a, &b}, {&y});
  EXPECT_EQ(call.can_run(openblas_kernel("matmul")), MOTE_INVALID);
  EXPECT_EQ(call.message(), "batch axes of a and b differ: 2 and 3");
  Tensor b2(DType::f32, {2, 4, 5});
  Tensor y1(DType::f32, {1, 3, 5});
  Call output("matmul", {&a, &b2}, {&y1});
  EXPECT_EQ(output.can_run(openblas_kernel("matmul")), MOTE_INVALID);
}

TEST(OpenblasMatmul, DeclinesMatricesWithoutAUnitStride) {
  Tensor a(DType::f32, {2, 3, 4}, {100, 16, 2});
  Tensor b(DType::f32, {4, 5});
  Tensor y(DType::f32, {2, 3, 5});
  Call call("matmul", {&a, &b}, {&y});
  EXPECT_EQ(call.can_run(openblas_kernel("matmul")), MOTE_UNSUPPORTED);
  EXPECT_EQ(call.message().rfind("a f32[2,3,4] with strides 100,16,2", 0), 0U) << call.message();
}

}  // namespace
}  // namespace mote::test
