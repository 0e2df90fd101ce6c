// SPDX-License-Identifier: Apache-2.0
// Tests panels that are filled from an input whose elements are adjacent along the terms of a sum:
// by squares that are transposed in registers, and one by one behind the last whole square.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "c_library.h"
#include "levels.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"

namespace mote {
namespace {

using Strides = const std::int64_t*;

/// y = a·b for each matrix of a: one b for all of them.
std::string product_text(const std::string& dtype) {
  const auto p = std::make_shared<const Program>(parse_program(
      fmt::format("op product\ninput a {0}[L, M, K]\ninput b {0}[K, N]\n"
                  "output y = sum[3](a[i0, i1, i3 over L, M, N, K] * b[i3, i2 over L, M, N, K])\n",
                  dtype)));
  return emit_c(schedule(compile(p)), {.function = "product", .standalone = true});
}

struct Sizes {
  std::int64_t l, m, n, k;
};

/// Fills the memory with small integers, of which all sums are exact.
template <typename T>
void fill(const test::ClosedMemory<T>& memory, std::int64_t count, std::int64_t factor) {
  for (std::int64_t i = 0; i < count; ++i) memory[i] = static_cast<T>((i * factor + 11) % 17 - 8);
}

/// Judges a call whose b has rows of `row` elements along the terms.
template <typename T, typename Function>
void judge(Function* product, const Sizes& s, std::int64_t row) {
  const test::ClosedMemory<T> a(s.l * s.m * s.k), b((s.n - 1) * row + s.k), y(s.l * s.m * s.n);
  fill(a, s.l * s.m * s.k, 5);
  fill(b, (s.n - 1) * row + s.k, 7);
  const std::int64_t sa[3] = {s.m * s.k, s.k, 1}, sb[2] = {1, row}, sy[3] = {s.m * s.n, s.n, 1};
  ASSERT_EQ(product(a.data(), sa, b.data(), sb, y.data(), sy, s.l, s.m, s.k, s.n), 0);
  for (std::int64_t r = 0; r < s.l * s.m; ++r)
    for (std::int64_t n = 0; n < s.n; ++n) {
      T sum = 0;
      for (std::int64_t k = 0; k < s.k; ++k) sum += a[r * s.k + k] * b[n * row + k];
      ASSERT_EQ(y[r * s.n + n], sum) << "row " << r << ", column " << n;
    }
}

template <typename T>
void judge_sizes_around_squares(const std::string& dtype) {
  using Function = int(const T*, Strides, const T*, Strides, T*, Strides, std::int64_t,
                       std::int64_t, std::int64_t, std::int64_t);
  const std::string text = product_text(dtype);
  for (const std::string& level : test::levels()) {
    const test::CLibrary library(text, test::with_vectors(level));
    Function* product = library.function<Function>("product");
    for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 31, 32, 33, 50, 64})
      for (const std::int64_t k : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33})
        for (const std::int64_t gap : {0, 3}) {
          SCOPED_TRACE(fmt::format("{} columns, {} terms, a gap of {}, {}", n, k, gap, level));
          judge<T>(product, {2, 13, n, k}, k + gap);
        }
  }
}

TEST(TransposedColumns, OfFloatsOfEachSize) { judge_sizes_around_squares<float>("f32"); }

TEST(TransposedColumns, OfDoublesOfEachSize) { judge_sizes_around_squares<double>("f64"); }

/// Numbers of 16 bits are converted one by one, integers are added in vectors of their own.
TEST(TransposedColumns, AreThoseOfRealsOf32And64Bits) {
  const std::string function = "mote_transpose_columns_";
  EXPECT_NE(product_text("f32").find(function + "32("), std::string::npos);
  EXPECT_NE(product_text("f64").find(function + "64("), std::string::npos);
  EXPECT_EQ(product_text("bf16").find(function), std::string::npos);
  EXPECT_EQ(product_text("i32").find(function), std::string::npos);
}

}  // namespace
}  // namespace mote
