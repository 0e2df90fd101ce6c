// SPDX-License-Identifier: Apache-2.0
// Tests the block evaluator: parts that parameters decide for all elements are left out; rows of
// all lengths are read and reduced, whole or in parts.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>

#include "blocks/decide.h"
#include "blocks/fold_loops.h"
#include "blocks_compare.h"
#include "trial.h"

namespace mote {
namespace {

using block_test::compare_with_evaluate;
using blocks::Location;
using blocks::Step;

std::shared_ptr<const Program> decidable_program() {
  return std::make_shared<const Program>(parse_program(R"(op decidable
param ahead int = 0
param slope real = 0.5
input x f32[A, B]
steep = f32($slope) > 1
y = where(iota($ahead over A, B) > 0, exp(x), -x)
z = where(steep, log(y), y)
both = where((x > 0) && steep, sqrt(x), z)
either = where((x > 0) || steep, both, tanh(x))
output p = either
output q = where(steep, z, y)
output r = where(steep, x, 3)
)"));
}

std::vector<Array> drawn(const Program& program, std::int64_t a, std::int64_t b) {
  test::Trial trial;
  trial.sizes = {{"A", a}, {"B", b}};
  trial.fill = test::Fill::reals;
  trial.seed = 23;
  return block_test::stored(test::make_inputs(program, trial));
}

TEST(BlockRows, WhatParametersDecideIsLeftOut) {
  const auto program = decidable_program();
  for (const std::int64_t rows : {1, 90}) {  // below and above the size from which a decision pays
    const std::vector<Array> inputs = drawn(*program, rows, 41);
    for (const int ahead : {0, 1})
      for (const double slope : {0.5, 2.0})
        EXPECT_EQ(
            compare_with_evaluate(program, inputs, {{"ahead", Number(ahead)}, {"slope", slope}}),
            "")
            << rows << " " << ahead << " " << slope;
  }
}

/// Returns the transcendental ops that are left, in all regions except those of single values.
std::vector<MapOp> functions_left(const Program& program, bool holds) {
  const blocks::Plan plan = blocks::make_plan(program);
  std::vector<MapOp> left;
  for (const blocks::Stage& stage : plan.stages)
    for (const blocks::Region& region : stage.regions) {
      if (region.shape.empty()) continue;
      for (const Step& step :
           blocks::decided(region.undecided, [&](const Location&) { return holds; }))
        if (const auto* m = std::get_if<uop::Map>(&step.node.node().kind);
            m != nullptr && is_transcendental(m->op))
          left.push_back(m->op);
    }
  std::ranges::sort(left);
  return left;
}

TEST(BlockRows, TheOtherBranchIsNotComputed) {
  using enum MapOp;
  const Program program = *decidable_program();
  EXPECT_EQ(functions_left(program, true), (std::vector<MapOp>{sqrt, exp, log}));
  EXPECT_EQ(functions_left(program, false), (std::vector<MapOp>{tanh}));
}

/// A block holds none, one, or several whole rows; an axis between repeats them when they are read,
/// which makes pieces of one or of several rows.
TEST(BlockRows, AgreeWithEvaluateForRowsOfAnyLength) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op rows
input x f32[A, B, C]
v = x[i0, i2, i3 over A, k: 2, B, C]
w = where(iota(i1 over A, k: 2, B, C) == 1, v, -v)
output s = sum[3](w)
output t = sum[2, 3](w)
output l = min[3](w)
output m = max[2, 3](w)
output n = sum[3](f32(w > 0))
output u = sum[0](v)
)"));
  for (const auto& [b, c] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {16, 15}, {5, 3}, {3, 17}, {1, 700}, {2, 256}, {7, 73}, {100, 5}}) {
    test::Trial trial;
    trial.sizes = {{"A", 9}, {"B", b}, {"C", c}};
    trial.fill = test::Fill::reals;
    trial.seed = 29;
    const std::vector<Array> inputs = block_test::stored(test::make_inputs(*program, trial));
    EXPECT_EQ(compare_with_evaluate(program, inputs, {}), "") << b << " " << c;
  }
}

/// The first 40 positions are consecutive, the others are not.
TEST(BlockRows, AgreeWithEvaluateWherePositionsOnlyBeginAlike) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op positions
input x f32[A, B]
output y = x[i0, i1 + (i1/40)*(i1 % 3) over A, b: 80 else 0]
)"));
  EXPECT_EQ(compare_with_evaluate(program, drawn(*program, 50, 99), {}), "");
}

/// Inputs repeat along axes, and have other dtypes.
TEST(BlockRows, AgreeWithEvaluateWhereInputsRepeat) {
  const auto program = std::make_shared<const Program>(parse_program(R"(op repeated
input x f32[1|A, 1|B, 1|C]
input y f64[1|A, 1|B, 1|C]
input z i32[1|A, 1|B, 1|C]
output s = f64(x)*y + f64(z)
)"));
  std::mt19937 draw(31);
  for (int round = 0; round < 64; ++round) {
    std::vector<Array> inputs;
    for (const DType dtype : {DType::f32, DType::f64, DType::i32}) {
      Array a{dtype, {}, {}};
      const bool is_whole = static_cast<int>(inputs.size()) == round % 3;
      for (const std::int64_t extent : {6, 11, 37})
        a.shape.push_back(is_whole || draw() % 2 == 0 ? extent : 1);
      for (std::int64_t k = 0; k < volume(a.shape); ++k) {
        const int v = static_cast<int>(draw() % 1000) - 500;
        a.values.push_back(is_real(dtype) ? Number(v / 8.0) : Number(v));
      }
      inputs.push_back(std::move(a));
    }
    EXPECT_EQ(compare_with_evaluate(program, inputs, {}), "") << round;
  }
}

/// Extremes are those of Map's min and max, element after element: the last of equal zeros remains,
/// and a NaN too.
TEST(BlockRows, ExtremesOfShortLinesAreThoseOfSingleSteps) {
  const double values[] = {0.0, -0.0, 1.5, -2.0, HUGE_VAL, -HUGE_VAL, std::nan("")};
  std::mt19937 draw(37);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t length = 1 + draw() % 5;
    const std::size_t kinds = round % 2 == 0 ? 2 : std::size(values);
    std::vector<blocks::Cell> x(4 * length);
    for (blocks::Cell& c : x) c.real = values[draw() % kinds];
    blocks::Cell least[4], greatest[4];
    for (int n = 0; n < 4; ++n) least[n].real = HUGE_VAL, greatest[n].real = -HUGE_VAL;
    const auto size = static_cast<std::int64_t>(length);
    const blocks::Lines lines{0, size, 1, size, 4, 0};
    blocks::extremes<true>(least, x.data(), lines);
    blocks::extremes<false>(greatest, x.data(), lines);
    for (std::size_t n = 0; n < 4; ++n) {
      Number low(HUGE_VAL), high(-HUGE_VAL);
      for (std::size_t k = 0; k < length; ++k) {
        const Number v(x[n * length + k].real);
        low = apply(MapOp::min, std::vector{low, v}, DType::f64, DType::f64);
        high = apply(MapOp::max, std::vector{high, v}, DType::f64, DType::f64);
      }
      EXPECT_TRUE(identical(Number(least[n].real), low)) << round;
      EXPECT_TRUE(identical(Number(greatest[n].real), high)) << round;
    }
  }
}

}  // namespace
}  // namespace mote
