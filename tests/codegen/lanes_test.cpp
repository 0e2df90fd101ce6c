// SPDX-License-Identifier: Apache-2.0
// Tests loops in vectors that fold reals, which run in blocks of as many iterations as a vector has
// lanes: rows of each length around such blocks, behind which no element may be read or written.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "c_library.h"
#include "levels.h"
#include "mote/codegen/emit_c.h"
#include "mote/codegen/passes.h"
#include "mote/codegen/schedule.h"
#include "mote/macroops/catalogue.h"

namespace mote {
namespace {

using Strides = const std::int64_t*;
using Closed = test::ClosedMemory<float>;
using test::levels;
using test::with_vectors;

/// Rows from 128 elements on have two results in each of 16 lanes.
constexpr std::int64_t kLongestRow = 170;
constexpr std::int64_t kRows = 3;

std::string gen_text(const std::string& program, bool standalone = true) {
  const auto p = std::make_shared<const Program>(parse_program("op rows\n" + program));
  return emit_c(schedule(compile(p)), {.function = "rows", .standalone = standalone});
}

/// Calls check(function, n) for rows of each length, of a function for each level.
template <typename Function, typename Check>
void for_each_length(const std::string& text, const Check& check) {
  for (const std::string& level : levels()) {
    const test::CLibrary library(text, with_vectors(level));
    for (std::int64_t n = 0; n <= kLongestRow; ++n) {
      SCOPED_TRACE(fmt::format("rows of {}, {}", n, level));
      check(library.function<Function>("rows"), n);
    }
  }
}

TEST(Lanes, FoldRowsOfEachLength) {
  const std::string text = gen_text(
      "input x f32[R, N]\noutput s = sum[1](x)\noutput g = max[1](x)\noutput l = min[1](x)\n");
  using Function = int(const float*, Strides, float*, Strides, float*, Strides, float*, Strides,
                       std::int64_t, std::int64_t);
  for_each_length<Function>(text, [](Function* rows, std::int64_t n) {
    const Closed x(kRows * n), s(kRows), g(kRows), l(kRows);
    for (std::int64_t k = 0; k < kRows * n; ++k)
      x[k] = static_cast<float>((k * 37 + 11) % 101 - 50);
    const std::int64_t row[2] = {n, 1}, one[1] = {1};
    ASSERT_EQ(rows(x.data(), row, s.data(), one, g.data(), one, l.data(), one, kRows, n), 0);
    for (std::int64_t r = 0; r < kRows; ++r) {
      float sum = 0, greatest = -std::numeric_limits<float>::infinity(), least = -greatest;
      for (std::int64_t k = r * n; k < (r + 1) * n; ++k) {
        sum += x[k];
        greatest = std::max(greatest, x[k]);
        least = std::min(least, x[k]);
      }
      EXPECT_EQ(s[r], sum);
      EXPECT_EQ(g[r], greatest);
      EXPECT_EQ(l[r], least);
    }
  });
}

/// One simple value is added up in pairs of blocks, which several or costly ones need not be.
TEST(Lanes, FoldRowsInPairsOfBlocks) {
  const std::string text = gen_text("input x f32[R, N]\noutput s = sum[1](x * x - 3)\n");
  const std::string pairs = "2 * MOTE_LANES";
  EXPECT_NE(text.find(pairs), std::string::npos);
  EXPECT_EQ(gen_text("input x f32[R, N]\noutput s = sum[1](exp(x))\n").find(pairs),
            std::string::npos);
  using Function = int(const float*, Strides, float*, Strides, std::int64_t, std::int64_t);
  for_each_length<Function>(text, [](Function* rows, std::int64_t n) {
    const Closed x(kRows * n), s(kRows);
    for (std::int64_t k = 0; k < kRows * n; ++k)
      x[k] = static_cast<float>((k * 37 + 11) % 101 - 50);
    const std::int64_t row[2] = {n, 1}, one[1] = {1};
    ASSERT_EQ(rows(x.data(), row, s.data(), one, kRows, n), 0);
    for (std::int64_t r = 0; r < kRows; ++r) {
      float sum = 0;
      for (std::int64_t k = r * n; k < (r + 1) * n; ++k) sum += x[k] * x[k] - 3;
      EXPECT_EQ(s[r], sum);
    }
  });
}

TEST(Lanes, KeepANaNWhereverItStands) {
  using Function = int(const float*, Strides, float*, Strides, std::int64_t, std::int64_t);
  for_each_length<Function>(gen_text("input x f32[R, N]\noutput g = max[1](x)\n"),
                            [](Function* rows, std::int64_t n) {
                              const Closed x(n * n), g(n);
                              for (std::int64_t k = 0; k < n * n; ++k)
                                x[k] = k % (n + 1) == 0 ? std::nanf("") : 1.0F;
                              const std::int64_t row[2] = {n, 1}, one[1] = {1};
                              ASSERT_EQ(rows(x.data(), row, g.data(), one, n, n), 0);
                              for (std::int64_t r = 0; r < n; ++r)
                                EXPECT_TRUE(std::isnan(g[r])) << r;
                            });
}

/// A loop that stores what it folds, in a call whose output is its input: of k zeros and -inf, the
/// softmax is 1 / k and 0.
TEST(Lanes, StoreWhatIsLeftInPlace) {
  const OpRecord& softmax = find_op("softmax");
  const std::string text =
      emit_c(schedule(compile(instantiate(softmax, {DType::f32, full_mask(softmax)}))),
             {.function = "rows", .standalone = true});
  using Function =
      int(const float*, Strides, float*, Strides, std::int64_t, std::int64_t, std::int64_t);
  for_each_length<Function>(text, [](Function* rows, std::int64_t n) {
    const float infinity = std::numeric_limits<float>::infinity();
    const Closed x(kRows * n);
    const auto is_zero = [&](std::int64_t r, std::int64_t k) { return k == r || k % (r + 2) == 0; };
    for (std::int64_t k = 0; k < kRows * n; ++k) x[k] = is_zero(k / n, k % n) ? 0.0F : -infinity;
    const std::int64_t strides[3] = {n, 1, 1};
    ASSERT_EQ(rows(x.data(), strides, x.data(), strides, kRows, n, 1), 0);
    for (std::int64_t r = 0; r < kRows; ++r) {
      float zeros = 0;
      for (std::int64_t k = 0; k < n; ++k) zeros += is_zero(r, k) ? 1.0F : 0.0F;
      for (std::int64_t k = 0; k < n; ++k)
        EXPECT_EQ(x[r * n + k], is_zero(r, k) ? 1.0F / zeros : 0.0F) << r << ", " << k;
    }
  });
}

bool has_lanes(const std::string& program) {
  return gen_text(program, false).find("MOTE_LANES") != std::string::npos;
}

TEST(Lanes, AreThoseOfFloatsThatAllIterationsFold) {
  EXPECT_TRUE(has_lanes("input x f32[R, N]\noutput y = sum[1](x)\n"));
  EXPECT_TRUE(has_lanes("input x f32[R, N]\noutput y = max[1](exp(x))\n"));
  EXPECT_FALSE(has_lanes("input x f64[R, N]\noutput y = sum[1](x)\n"));
  EXPECT_FALSE(has_lanes("input x bf16[R, N]\noutput y = max[1](x)\n"));
  EXPECT_FALSE(has_lanes("input x i32[R, N]\noutput y = sum[1](x)\n"));
  EXPECT_FALSE(has_lanes("input x f32[R, N]\noutput y = x + 1\n"));
  EXPECT_FALSE(has_lanes("input x f32[R, N]\noutput y = prod[1](x)\n"));
}

/// gcc 12 reads whole vectors under a mask that it knows, which Intel's processors have as an
/// instruction of its own (-march=icelake-server): beyond the end of a row.
TEST(Lanes, AreNotThoseOfRowsWhoseRestIsKnown) {
  EXPECT_FALSE(has_lanes("input x f32[R, 20]\noutput y = sum[1](x)\noutput z = max[1](x*x)\n"));
  EXPECT_TRUE(has_lanes("input x f32[R, 32]\noutput y = sum[1](x)\noutput z = max[1](x*x)\n"));
}

/// t has N elements; where i is behind them, the loop over m has no iterations, and reads none.
TEST(Lanes, NoElementIsReadAheadThatDoesNotExist) {
  const std::string text = gen_text(
      "input z f32[N, K]\ninput x f32[N]\ninput l f32[M]\ninput big f32[B]\n"
      "t = sum[1](z*z)\n"
      "at = iota(i0 + i1 over N + B, M)\n"
      "v = where(at < iota(N over N + B, M), x[i0 + i1 over N + B, M] * l[i1 over N + B, M] + "
      "t[i0 over N + B, M], 0)\n"
      "output y = sum[1](v) + big[0 over N + B]\n");
  EXPECT_EQ(text.find("t_here"), std::string::npos) << text;
}

/// An element that an outer loop has stored is read before a loop in vectors, which stores to other
/// memory.
TEST(Lanes, ElementsOfTemporariesAreReadAhead) {
  const OpRecord* gradient = gradient_of(find_op("layer_norm"));
  ASSERT_NE(gradient, nullptr);
  const std::string text =
      emit_c(schedule(compile(instantiate(*gradient, {DType::f32, full_mask(*gradient)}))),
             {.function = "rows"});
  EXPECT_NE(text.find("const float t_here = t[r];"), std::string::npos);
}

}  // namespace
}  // namespace mote
