// SPDX-License-Identifier: Apache-2.0
// Tests the block evaluator: computed tensors that are evaluated where they are read, reads that
// only change the shape, and elements that are left out because no read needs them.
#include <gtest/gtest.h>

#include "blocks/flat.h"
#include "blocks/inline.h"
#include "blocks_compare.h"
#include "trial.h"

namespace mote {
namespace {

using block_test::compare_with_evaluate;

std::shared_ptr<const Program> parsed(const char* text) {
  return std::make_shared<const Program>(parse_program(text));
}

std::vector<Array> drawn(const Program& program, std::map<std::string, std::int64_t> sizes) {
  test::Trial trial;
  trial.sizes = std::move(sizes);
  trial.fill = test::Fill::reals;
  trial.seed = 29;
  return block_test::stored(test::make_inputs(program, trial));
}

template <typename T>
int count_of(const Program& p) {
  const std::vector<Uop> roots = mote::roots(p);
  return static_cast<int>(std::ranges::count_if(topological(roots), [](const Uop& u) {
    const auto* r = std::get_if<uop::Reindex>(&u.node().kind);
    return r != nullptr && std::holds_alternative<T>(r->x.node().kind);
  }));
}

/// The gradient of a strided window, which reads a product at the window's position.
constexpr const char* kWindow = R"(op window
param stride int = 2 in 1..
input g f32[N, M]
input w f32[K]
input x f32[L]
product = g[i0, i1 over N, M, K]*w[i2 over N, M, K]
there = iota((i1 - i2)%$stride over N, L, K) == 0
output y = sum[2](where(there, product[i0, (i1 - i2)/$stride, i2 over N, L, K], 0)) + x[i1 over N, L]
)";

TEST(BlockInline, ProductsAreComputedWhereTheyAreRead) {
  const auto program = parsed(kWindow);
  EXPECT_EQ(count_of<uop::Map>(*program), 1);
  const auto there = blocks::inlined(*program);
  ASSERT_TRUE(there.has_value());
  EXPECT_EQ(count_of<uop::Map>(*there), 0);
  for (const std::int64_t taps : {1, 3, 20})
    EXPECT_EQ(compare_with_evaluate(
                  program, drawn(*program, {{"N", 9}, {"M", 17}, {"K", taps}, {"L", 41}}), {}),
              "")
        << taps;
}

/// The conditions come from the read's range too, and from conditions inside of others.
TEST(BlockInline, WhatIsOutOfRangeIsLeftOut) {
  const auto there = blocks::inlined(*parsed(kWindow));
  ASSERT_TRUE(there.has_value());
  const blocks::Masks masks = blocks::find_masks(*there);
  ASSERT_EQ(masks.size(), 1U);
  EXPECT_EQ(masks.begin()->second.conditions.size(),
            3U);  // the stride divides, and the index is neither before nor beyond the range
}

/// Inlined, each exp would be computed B times.
TEST(BlockInline, WhatIsReadOftenStays) {
  EXPECT_FALSE(blocks::inlined(*parsed(R"(op rows
input x f32[A]
input y f32[A, B]
output z = y*exp(x)[i0 over A, B]
)"))
                   .has_value());
}

/// Products over an axis are read at some positions: they become products over these positions
/// only.
TEST(BlockInline, ReductionsAreTakenWhereTheyAreRead) {
  const auto program = parsed(R"(op products
input x f32[A, B, C]
input p f32[P, Q]
y = prod[1](x + 1)
output z = y[i0, i1 over P, Q]*p
)");
  const auto there = blocks::inlined(*program);
  ASSERT_TRUE(there.has_value());
  EXPECT_EQ(count_of<uop::Reduce>(*there), 0);
  for (const std::int64_t rows : {2, 30})
    EXPECT_EQ(
        compare_with_evaluate(
            program, drawn(*program, {{"A", 11}, {"B", 5}, {"C", 13}, {"P", rows}, {"Q", 9}}), {}),
        "")
        << rows;
}

/// The values are positions in a region that leaves elements out, along short axes and long ones.
TEST(BlockInline, PositionsAreValuesOfWhatIsChosen) {
  const auto program = parsed(R"(op values
input x f32[A, B, C]
near = iota((i0 + i1)%3 over A, B, C) == 0
output y = sum[1, 2](where(near, x*f32(iota(i1*i2 - 2*i0 over A, B, C)), 0))
output z = sum[0](where(near, x + f32(iota(-i2/2 over A, B, C)), 0))
)");
  EXPECT_FALSE(blocks::find_masks(*program).empty());
  for (const std::int64_t last : {1, 2, 5, 70})
    EXPECT_EQ(
        compare_with_evaluate(program, drawn(*program, {{"A", 8}, {"B", 9}, {"C", last}}), {}), "")
        << last;
}

TEST(BlockFlat, DigitsOfAPositionAreThePosition) {
  const auto e = [](const char* text) { return parse_expr(text).expr; };
  const std::vector<Expr> tensor = {e("A"), e("B"), e("C")};
  const std::vector<Expr> shape = {e("A*B*C")};
  for (const char* first : {"i0/(B*C)", "i0/C/B"}) {
    const blocks::Read read =
        blocks::flattened({{e(first), e("i0/C%B"), e("i0%C")}, tensor}, shape, Facts());
    EXPECT_EQ(read.from, std::vector<Expr>{e("i0")}) << first;
    EXPECT_EQ(read.tensor, std::vector<Expr>{e("A*B*C")}) << first;
  }
  // The axes are in another order, or the index is beyond the end.
  const blocks::Read other = {{e("i0%C"), e("i0/C%B"), e("i0/(B*C)")}, {e("C"), e("B"), e("A")}};
  EXPECT_EQ(blocks::flattened(other, shape, Facts()).from.size(), 3U);
  const blocks::Read beyond = {{e("(i0 + 1)/(B*C)"), e("(i0 + 1)/C%B"), e("(i0 + 1)%C")}, tensor};
  EXPECT_EQ(blocks::flattened(beyond, shape, Facts()).from.size(), 3U);
}

TEST(BlockFlat, AgreesWithEvaluate) {
  const auto program = parsed(R"(op flat
input x f32[A, B, C]
output y = x[i0/(B*C), i0/C%B, i0%C over p: A*B*C]
output z = x[(i0 + 1)/(B*C), (i0 + 1)/C%B, (i0 + 1)%C over p: A*B*C]
)");
  EXPECT_EQ(compare_with_evaluate(program, drawn(*program, {{"A", 7}, {"B", 11}, {"C", 13}}), {}),
            "");
}

}  // namespace
}  // namespace mote
