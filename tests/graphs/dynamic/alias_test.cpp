// SPDX-License-Identifier: Apache-2.0
// Views of variables of dynamic graphs: what is written through them, what is seen through them,
// and gradients through both.
#include <gtest/gtest.h>

#include "graphs/dynamic/modes.h"
#include "graphs/symbolic/error_of.h"
#include "mote/dynamic/dynamic_graph.h"

namespace mote {
namespace {

using test::all_of;
using test::elements_of;
using test::rising;
using Numbers = std::vector<double>;

struct DynamicAliases : test::InBothModes {};
INSTANTIATE_TEST_SUITE_P(Modes, DynamicAliases, testing::Bool(), test::mode_name);

TEST_P(DynamicAliases, AWriteIsSeenThroughAllViews) {
  Variable x = g.constant(rising({2, 3}));
  const Variable row = x.select(0, 1), column = x.slice(1, 2, 1), turned = x.permute({1, 0});
  EXPECT_EQ(elements_of(column), (Numbers{2, 5}));
  x += 10;
  EXPECT_EQ(elements_of(row), (Numbers{13, 14, 15}));
  EXPECT_EQ(elements_of(column), (Numbers{12, 15}));
  EXPECT_EQ(elements_of(turned), (Numbers{10, 13, 11, 14, 12, 15}));
}

TEST_P(DynamicAliases, AWriteThroughAViewOfAViewIsSeenByItsSiblings) {
  const Variable x = g.constant(rising({3, 4}));
  const Variable rows = x.slice(0, 0, 2, 2);  // rows 0 and 2
  Variable part = rows.permute({1, 0}).slice(0, 1, 2);
  const Variable sibling = x.select(0, 2);
  EXPECT_EQ(elements_of(sibling), (Numbers{8, 9, 10, 11}));
  part *= -1;
  EXPECT_EQ(elements_of(sibling), (Numbers{8, -9, -10, 11}));
  EXPECT_EQ(elements_of(x), (Numbers{0, -1, -2, 3, 4, 5, 6, 7, 8, -9, -10, 11}));
}

TEST_P(DynamicAliases, AViewOutlivesWhatItIsAViewOf) {
  Variable x = g.constant(rising({4}));
  Variable part = x.slice(0, 1, 2);
  x = {};
  part += 1;
  EXPECT_EQ(elements_of(part), (Numbers{2, 3}));
}

TEST_P(DynamicAliases, AViewMayBeWrittenToItself) {
  const Variable x = g.constant(rising({4}));
  Variable part = x.slice(0, 1, 2);
  part.assign(part);
  EXPECT_EQ(elements_of(x), (Numbers{0, 1, 2, 3}));
  part.assign(x.slice(0, 2, 2));  // they overlap
  EXPECT_EQ(elements_of(x), (Numbers{0, 2, 3, 3}));
}

TEST_P(DynamicAliases, AViewThatRepeatsNothingMayBeWrittenThrough) {
  const Variable x = g.constant(rising({2}));
  Variable same = x.broadcast_to({1, 2});
  same += 1;
  EXPECT_EQ(elements_of(x), (Numbers{1, 2}));
  Variable rows = x.broadcast_to({3, 2});
  EXPECT_EQ(test::error_of([&] { rows += 1; }),
            "dynamic graph: add: a view that repeats elements cannot be written to: f64[3,2]:0,1");
}

TEST_P(DynamicAliases, AViewStaysOneWhateverTheLayoutOfWhatIsWritten) {
  const TensorForm by_columns(DType::f64, {2, 3}, {1, 2});
  const Variable x = g.convert(g.constant(rising({2, 3})), by_columns);
  Variable part = x.permute({1, 0}).reshape({6}).slice(0, 1, 2);
  part *= -1;
  EXPECT_EQ(elements_of(x), (Numbers{0, -1, 2, -3, 4, 5}));
  EXPECT_EQ(x.form(), by_columns);
  Variable y = g.constant(rising({2, 3}));
  const Variable flat = y.reshape({6});
  y.assign(x);
  EXPECT_EQ(elements_of(flat), (Numbers{0, -1, 2, -3, 4, 5}));
}

/// The rows of x are one row in memory. What is written to a part of x is no part of the others.
TEST_P(DynamicAliases, AVariableWhoseElementsShareMemoryMayBeWritten) {
  const Variable x = g.constant(rising({2}).broadcast_to({3, 2}));
  const Variable column = x.select(1, 1), flat = x.permute({1, 0});
  Variable row = x.select(0, 1);
  row += 10;
  EXPECT_EQ(elements_of(x), (Numbers{0, 1, 10, 11, 0, 1}));
  EXPECT_EQ(elements_of(column), (Numbers{1, 11, 1}));
  EXPECT_EQ(elements_of(flat), (Numbers{0, 10, 0, 1, 11, 1}));
  Variable y = g.constant(rising({2}).broadcast_to({3, 2}));
  const Variable last = y.select(0, 2);
  y += g.constant(rising({3, 2}));
  EXPECT_EQ(elements_of(y), (Numbers{0, 2, 2, 4, 4, 6}));
  EXPECT_EQ(elements_of(last), (Numbers{4, 6}));
  const Variable alone = g.constant(rising({2}).broadcast_to({3, 2}));
  Variable part = alone.select(0, 1);
  part += 10;
  EXPECT_EQ(elements_of(alone), (Numbers{0, 1, 10, 11, 0, 1}));
}

/// Axes that repeat may be joined in any order.
TEST_P(DynamicAliases, AViewThatJoinsAxesThatRepeatStaysOne) {
  Variable x = g.constant(rising({2, 1}).broadcast_to({2, 2, 2}));
  const Variable joined = x.permute({2, 0, 1}).reshape({4, 2});
  EXPECT_EQ(elements_of(joined), (Numbers{0, 1, 0, 1, 0, 1, 0, 1}));
  x.assign(g.constant(rising({2, 2, 2})));
  EXPECT_EQ(elements_of(joined), (Numbers{0, 2, 4, 6, 1, 3, 5, 7}));
}

/// No layout has both views: what is not one is a copy, at each look behind a write.
TEST_P(DynamicAliases, ViewsThatJoinAxesInDifferentOrdersAreBothSeenAndWrittenTo) {
  const Variable three = g.variable(rising({1}, 3));
  Variable x = g.constant(rising({1, 1, 1}).broadcast_to({2, 2, 2}));
  Variable one = x.reshape({4, 2}), other = x.permute({2, 0, 1}).reshape({8});
  Variable last = other.slice(0, 6, 2), whole = other.reshape({4, 2}).select(1, 1);
  EXPECT_EQ(elements_of(other), Numbers(8, 0));
  x.assign(g.constant(rising({2, 2, 2})));
  EXPECT_EQ(elements_of(one), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(elements_of(other), (Numbers{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(elements_of(last), (Numbers{5, 7}));
  EXPECT_EQ(elements_of(whole), (Numbers{2, 6, 3, 7}));
  last.assign(g.constant(rising({2}, 50)));
  EXPECT_EQ(elements_of(x), (Numbers{0, 1, 2, 3, 4, 50, 6, 51}));
  EXPECT_EQ(elements_of(other), (Numbers{0, 2, 4, 6, 1, 3, 50, 51}));
  other.assign(g.constant(rising({8})));
  EXPECT_EQ(elements_of(x), (Numbers{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(elements_of(one), (Numbers{0, 4, 1, 5, 2, 6, 3, 7}));
  // A gradient goes through the writes to views, and through their reads.
  whole.assign(three.broadcast_to({4}));
  EXPECT_EQ(elements_of(x), (Numbers{0, 4, 3, 3, 2, 6, 3, 3}));
  const Variable loss =
      g.run("sum axis=0", {other * other}) + g.run("sum axis=0", {x.reshape({8})});
  EXPECT_EQ(elements_of(g.backward({loss}, {three})[0]), (Numbers{4 * 2 * 3 + 4}));
}

/// More axes than could be tried in all orders, of which views join some, compatibly.
TEST_P(DynamicAliases, ViewsThatJoinManyAxesStayViews) {
  Variable x = g.constant(rising({1}).broadcast_to({2, 2, 2, 2, 2, 2, 2, 2}));
  const Variable joined = x.permute({7, 6, 5, 4, 3, 2, 1, 0}).reshape({256});
  EXPECT_EQ(elements_of(joined), Numbers(256, 0));
  x.assign(g.constant(rising({2, 2, 2, 2, 2, 2, 2, 2})));
  EXPECT_EQ(joined.value().data(), x.value().data());
  EXPECT_EQ(elements_of(joined)[1], 128);
  EXPECT_EQ(elements_of(joined)[128], 1);
}

TEST_P(DynamicAliases, GradientThroughWhatIsWrittenAndRead) {
  // y = [x0·x0, x1, -x0]: each part is written on its own, and read across.
  const Variable x = g.variable(rising({2}, 3));
  const Variable y = g.zeros({DType::f64, {3}});
  g.run_to(y.slice(0, 0, 1), Command("mul"), {x.slice(0, 0, 1), x.slice(0, 0, 1)});
  y.slice(0, 1, 1).assign(x.slice(0, 1, 1));
  g.run_to(y.slice(0, 2, 1), Command("neg"), {x.slice(0, 0, 1)});
  const Variable loss = g.run("sum axis=0", {y.slice(0, 0, 2) * y.slice(0, 1, 2)});
  // x0²·x1 - x1·x0
  EXPECT_EQ(loss.item(), 9 * 4 - 4 * 3);
  EXPECT_EQ(elements_of(g.backward({loss}, {x})[0]), (Numbers{2 * 3 * 4 - 4, 9 - 3}));
}

TEST_P(DynamicAliases, TheGradientWithRespectToAViewIsThatOfATensorOfItsOwn) {
  const Variable x = g.variable(rising({2}, 3));
  const Variable part = x.slice(0, 0, 1);
  const Variable loss = g.run("sum axis=0", {x}) + part.reshape({});
  const auto gradients = g.backward({loss}, {part, x});
  EXPECT_EQ(elements_of(gradients[0]), (Numbers{1}));
  EXPECT_EQ(elements_of(gradients[1]), (Numbers{2, 1}));
  // Each of the repeated elements has a gradient of its own.
  const Variable rows = x.broadcast_to({3, 2});
  EXPECT_EQ(elements_of(g.backward({rows * 2}, {x, rows})[1]), Numbers(6, 2));
}

/// Layers that each read all that came before, and write behind it, in one tensor.
TEST_P(DynamicAliases, ADenselyConnectedNetwork) {
  constexpr int kLayers = 4, kRows = 3, kFirst = 2, kGrowth = 2;
  const Variable x = g.variable(rising({kRows, kFirst}, -2));
  std::vector<Variable> weights;
  for (int k = 0; k < kLayers; ++k)
    weights.push_back(g.variable(rising({kFirst + k * kGrowth, kGrowth}, -k)));
  const Variable all = g.zeros({DType::f64, {kRows, kFirst + kLayers * kGrowth}});
  all.slice(1, 0, kFirst).assign(x);
  for (int k = 0; k < kLayers; ++k) {
    const int width = kFirst + k * kGrowth;
    g.run_to(all.slice(1, width, kGrowth), Command("matmul"),
             {all.slice(1, 0, width), weights[std::size_t(k)]});
  }
  const Variable last = all.slice(1, kFirst + (kLayers - 1) * kGrowth, kGrowth);
  // The same with a tensor for each layer: a product with several is the sum of the products.
  std::vector<Variable> parts{x};
  for (int k = 0; k < kLayers; ++k) {
    Variable sum;
    int row = 0;
    for (const Variable& part : parts) {
      const auto rows = part.form().shape[1];
      const Variable product = g.run("matmul", {part, weights[std::size_t(k)].slice(0, row, rows)});
      sum = sum ? sum + product : product;
      row += static_cast<int>(rows);
    }
    parts.push_back(sum);
  }
  EXPECT_EQ(elements_of(last), elements_of(parts.back()));
  std::vector<Variable> wrt = weights;
  wrt.push_back(x);
  const auto expected = g.backward(std::vector{parts.back()}, wrt);
  const auto got = g.backward(std::vector{last}, wrt);
  for (std::size_t k = 0; k < wrt.size(); ++k)
    EXPECT_EQ(elements_of(got[k]), elements_of(expected[k]));
}

/// A view of a view takes as long as the first one, and nothing follows the way by recursion.
TEST_P(DynamicAliases, AHundredThousandViewsOfEachOther) {
  Variable x = g.variable(rising({2, 3})), last = x;
  for (int k = 0; k < 100000; ++k)
    last = k % 2 == 0 ? last.slice(0, 0, 2 + k % 4 / 2) : last.permute({1, 0});
  EXPECT_EQ(elements_of(last), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(elements_of(g.backward({last * last}, {x})[0]), (Numbers{0, 2, 4, 6, 8, 10}));
  x += 1;
  EXPECT_EQ(elements_of(last), (Numbers{1, 2, 3, 4, 5, 6}));
  last *= 2;
  EXPECT_EQ(elements_of(x), (Numbers{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(elements_of(last), (Numbers{2, 4, 6, 8, 10, 12}));
}

TEST_P(DynamicAliases, ConversionsKeepTheLayoutThatIsAskedFor) {
  const TensorForm turned(DType::f64, {2, 3}, {1, 2});
  const Variable x = g.convert(g.constant(rising({2, 3})) * 1, turned);
  EXPECT_EQ(x.form(), turned);
  EXPECT_EQ(x.value().form(), turned);
  EXPECT_EQ(elements_of(x), elements_of(g.constant(rising({2, 3}))));
  EXPECT_EQ(elements_of(x * x), (Numbers{0, 1, 4, 9, 16, 25}));
}

TEST_P(DynamicAliases, AnOptionalInputIsLeftOut) {
  const Variable x = g.variable(rising({1, 1, 3, 3})), w = g.variable(rising({1, 1, 2, 2}));
  const Variable bias = g.constant(all_of({1}, 0));
  const Variable without = g.run("conv2d", {x, w, {}}), with = g.run("conv2d", {x, w, bias});
  EXPECT_EQ(elements_of(without), elements_of(with));
  const auto of_without = g.backward({without}, {x, w}), of_with = g.backward({with}, {x, w});
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_EQ(elements_of(of_without[k]), elements_of(of_with[k]));
}

}  // namespace
}  // namespace mote
