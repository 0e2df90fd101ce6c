// SPDX-License-Identifier: Apache-2.0
// Tests scatters of the block evaluator: every operation, positions of every kind, onto a given
// base, with values that show the order and the rules for NaN and signed zero.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "blocks/plan.h"
#include "blocks_compare.h"

namespace mote {
namespace {

using block_test::compare_with_evaluate;

constexpr std::int64_t kRows = 37;
constexpr std::int64_t kColumns = 45;  ///< takes several blocks, none with whole rows
constexpr const char* kOps[] = {"add", "mul", "max", "min", "set"};

/// Draws reals with NaN, infinities and zeros of both signs; small integers.
Array special(DType dtype, std::vector<std::int64_t> shape, std::uint64_t seed) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::array<double, 8> values = {0.0, -0.0, 1.5, -2.25, inf, -inf, 3.0, std::nan("")};
  std::mt19937_64 random(seed);
  Array a{dtype, std::move(shape), {}};
  for (std::int64_t k = 0; k < volume(a.shape); ++k) {
    const std::uint64_t drawn = random();
    // Values that absorb all others are rare.
    const std::size_t at = drawn % 64 < 60 ? drawn % 4 : drawn % 8;
    a.values.push_back(is_real(dtype) ? Number(values[at])
                                      : Number(static_cast<std::int64_t>(drawn % 7) - 3));
  }
  return a;
}

Array indices(std::int64_t begin, std::int64_t end, std::vector<std::int64_t> shape) {
  std::mt19937_64 random(5);
  Array a{DType::i64, std::move(shape), {}};
  for (std::int64_t k = 0; k < volume(a.shape); ++k)
    a.values.emplace_back(
        begin + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(end - begin)));
  return a;
}

std::string differs(const std::string& text, const std::vector<Array>& inputs) {
  const auto program = std::make_shared<const Program>(parse_program(text));
  return compare_with_evaluate(program, inputs, {});
}

TEST(BlockScatters, AgreeWithEvaluateAtPositionsOfEveryKind) {
  struct Kind {
    const char* to;
    std::vector<std::int64_t> base;
  };
  const Kind kinds[] = {
      {"i0, i1", {kRows, kColumns}},              // each to its own element
      {"i1, i0", {kColumns, kRows}},              // with a step
      {"i0, 0", {kRows, 1}},                      // all of a row to one element
      {"i1/2, i0%3", {kColumns, 3}},              // from a table
      {"i0 + i1 - 9, 2*i1", {kRows, kColumns}},   // some are out of range
      {"min(i0, 4), max(i1, 7)", {5, kColumns}},  // several to one element at the ends
      {"i0 - 50, i1", {kRows, kColumns}},         // all are out of range
  };
  for (const DType dtype : {DType::f64, DType::f32, DType::i64}) {
    for (const Kind& kind : kinds) {
      for (const char* op : kOps) {
        const std::string text = fmt::format(
            "op p\ninput b {0}[N, M]\ninput x {0}[A, B]\noutput y = scatter[{1}](b, x to {2})",
            name(dtype), op, kind.to);
        EXPECT_EQ(
            differs(text, {special(dtype, kind.base, 1), special(dtype, {kRows, kColumns}, 2)}), "")
            << text;
      }
    }
  }
}

TEST(BlockScatters, AgreeWithEvaluateAtIndices) {
  for (const DType dtype : {DType::f64, DType::i64}) {
    for (int axis = 0; axis < 2; ++axis) {
      for (const char* op : kOps) {
        const std::string text = fmt::format(
            "op p\ninput b {0}[{3}]\ninput x {0}[A, B]\ninput n i64[A, B]\n"
            "output y = select_scatter[{2}, {1}](b, x, n)",
            name(dtype), op, axis, axis == 0 ? "N, B" : "A, N");
        std::vector<std::int64_t> base = {kRows, kColumns};
        base[static_cast<std::size_t>(axis)] = 6;
        const std::vector<Array> inputs = {special(dtype, base, 1),
                                           special(dtype, {kRows, kColumns}, 2),
                                           indices(-2, 8, {kRows, kColumns})};
        EXPECT_EQ(differs(text, inputs), "") << text;
      }
    }
  }
}

TEST(BlockScatters, OneElementStandsForAll) {
  const std::vector<Array> inputs = {special(DType::f64, {kRows, kColumns}, 3),
                                     indices(-1, 9, {kRows, kColumns})};
  EXPECT_EQ(differs(R"(op p
input x f64[A, B]
input n i64[A, B]
output y = select_scatter[0, add](f64(2)[over 9, B], f64(3)[over A, B], n)
output z = scatter[mul](f64(2)[over B], x to i1)
output w = select_scatter[1, add](f64(iota(A over A, 7)), x, i64(3)[over A, B])
)",
                    inputs),
            "");
}

TEST(BlockScatters, OntoWhatIsScatteredAndOfNothing) {
  const std::string text = R"(op p
input b f64[N]
input x f64[A, B]
v = scatter[add](b, x to i0 + i1)
w = scatter[max](v, x*2 to i0)
output y = scatter[mul](w, exp(v) to N - 1 - i0)
output z = w
)";
  EXPECT_EQ(
      differs(text, {special(DType::f64, {70}, 1), special(DType::f64, {kRows, kColumns}, 2)}), "");
  EXPECT_EQ(differs(text, {special(DType::f64, {3}, 1), special(DType::f64, {0, kColumns}, 2)}),
            "");
}

/// A bound scatters sums, magnitudes and counts with the same indices: positions are computed once.
TEST(BlockScatters, TheSameIndicesAreLookedUpOnce) {
  const blocks::Plan plan = blocks::make_plan(parse_program(R"(op p
input x f64[A, B]
input n i64[A, B]
output y = select_scatter[0, add](f64(0)[over 9, B], x, n)
output z = select_scatter[0, add](f64(0)[over 9, B], abs(x), n)
output w = select_scatter[0, max](f64(0)[over 8, B], x, n)
)"));
  int locating = 0;
  int scatters = 0;
  for (const blocks::Stage& stage : plan.stages) {
    for (const blocks::Region& region : stage.regions) {
      for (const blocks::Step& step : region.steps) {
        locating += step.locates ? 1 : 0;
        scatters += step.located >= 0 && !step.locates ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(scatters, 3);
  EXPECT_EQ(locating, 2) << "one for each extent";
}

}  // namespace
}  // namespace mote
