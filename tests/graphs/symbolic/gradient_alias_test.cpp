// SPDX-License-Identifier: Apache-2.0
// Gradients through views (S5): zeros only where the slices that are read leave gaps, sums where
// they overlap; slices that are written.
#include <gtest/gtest.h>

#include <algorithm>

#include "gradient_support.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

/// A graph with one input x of this shape.
struct WithInput {
  explicit WithInput(const AxisList& shape) : x(g.input("x", {DType::f64, shape})) {}

  TensorSymbol square(TensorSymbol t) { return g.add("mul", {t, t}); }
  /// Returns the gradient of the sum of f, after the graph was verified.
  Numbers gradient_of(std::initializer_list<TensorSymbol> f, const Numbers& at) {
    before = g.symbol_count();
    const TensorSymbol gx = gradient(g, f, {x})[0];
    verify(g);
    kind = g.info(g.root(gx)).kind;
    return numbers(evaluate(g, {{x, real(at, g.form(x).shape)}}, {gx})[0]);
  }
  std::size_t new_zeros() const {
    return static_cast<std::size_t>(
        std::count_if(g.symbols().begin() + static_cast<std::ptrdiff_t>(before), g.symbols().end(),
                      [](const SymbolInfo& s) { return s.kind == SymbolOrigin::zeros; }));
  }
  std::size_t nodes_of(const std::string& op) const {
    return static_cast<std::size_t>(std::ranges::count_if(g.nodes(), [&](const NodeInfo& n) {
      return n.command && n.command->definition().name == op;
    }));
  }

  SymbolicGraph g;
  TensorSymbol x;
  std::size_t before = 0;
  SymbolOrigin kind = SymbolOrigin::input;
};

TEST(AliasGradient, IsNotZeroFilledWhereSlicesTile) {
  WithInput t({4});
  const TensorSymbol a = t.square(t.g.slice(t.x, 0, 0, 1));
  const TensorSymbol b = t.square(t.g.slice(t.x, 0, 1, 3));
  EXPECT_EQ(t.gradient_of({a, b}, {1, 2, 3, 4}), (Numbers{2, 4, 6, 8}));
  EXPECT_EQ(t.new_zeros(), 0U);
  EXPECT_EQ(t.kind, SymbolOrigin::tensor);
}

TEST(AliasGradient, IsZeroFilledWhereSlicesLeaveGaps) {
  WithInput t({4});
  const TensorSymbol a = t.square(t.g.slice(t.x, 0, 0, 1));
  const TensorSymbol b = t.square(t.g.slice(t.x, 0, 2, 2));
  EXPECT_EQ(t.gradient_of({a, b}, {1, 2, 3, 4}), (Numbers{2, 0, 6, 8}));
  EXPECT_EQ(t.new_zeros(), 1U);
  EXPECT_EQ(t.kind, SymbolOrigin::zeros);
}

TEST(AliasGradient, IsWrittenToItsSliceByTheGradientNode) {
  WithInput t({2, 3});
  const TensorSymbol f = t.g.add("tanh", {t.g.select(t.x, 1, 1)});
  t.gradient_of({f}, {0, 0, 0, 0, 0, 0});
  for (const NodeInfo& node : t.g.nodes()) EXPECT_NE(node.kind, NodeKind::copy);
}

TEST(AliasGradient, OfOverlappingSlicesIsAdded) {
  WithInput t({4});
  const TensorSymbol a = t.square(t.g.slice(t.x, 0, 0, 3));
  const TensorSymbol b = t.g.add("neg", {t.g.slice(t.x, 0, 1, 3)});
  EXPECT_EQ(t.gradient_of({a, b}, {1, 2, 3, 4}), (Numbers{2, 3, 5, -1}));
  EXPECT_EQ(t.new_zeros(), 2U);
  EXPECT_EQ(t.nodes_of("add"), 2U);  // one in the first slice, which is read twice; one of both
}

TEST(AliasGradient, OfAWholeAndItsSliceIsAdded) {
  WithInput t({3});
  const TensorSymbol a = t.square(t.x);
  const TensorSymbol b = t.square(t.g.slice(t.x, 0, 1, 1));
  EXPECT_EQ(t.gradient_of({a, b}, {1, 2, 3}), (Numbers{2, 8, 6}));
  EXPECT_EQ(t.new_zeros(), 1U);
}

TEST(AliasGradient, OfOneSliceReadTwiceIsAddedInItsPlace) {
  WithInput t({4});
  const TensorSymbol a = t.g.slice(t.x, 0, 1, 2);
  const TensorSymbol again = t.g.slice(t.x, 0, 1, 2);
  const TensorSymbol f = t.g.add("mul", {t.g.add("mul", {a, again}), a});
  EXPECT_EQ(t.gradient_of({f}, {1, 2, 3, 4}), (Numbers{0, 12, 27, 0}));
  EXPECT_EQ(t.new_zeros(), 1U);
}

TEST(AliasGradient, GoesThroughAliasesOfAliases) {
  WithInput t({4, 3});
  const TensorSymbol rows = t.g.slice(t.x, 0, 1, 2);
  const TensorSymbol part = t.g.select(t.g.permute(rows, {1, 0}), 0, 2);  // column 2 of rows 1, 2
  const TensorSymbol f = t.square(t.g.reshape(part, {2, 1}));
  EXPECT_EQ(t.gradient_of({f}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
            (Numbers{0, 0, 0, 0, 0, 12, 0, 0, 18, 0, 0, 0}));
}

TEST(AliasGradient, GoesThroughReshapesAndPermutationsWithoutZeros) {
  WithInput t({2, 3});
  const TensorSymbol a = t.g.reshape(t.g.permute(t.x, {1, 0}), {3, 2});
  const TensorSymbol f = t.g.add("matmul", {a, t.g.reshape(t.x, {2, 3})});
  // f = x^T x: the gradient of its sum is x(1 1^T) + x(1 1^T).
  EXPECT_EQ(t.gradient_of({f}, {1, 2, 3, 4, 5, 6}), (Numbers{12, 12, 12, 30, 30, 30}));
  EXPECT_EQ(t.new_zeros(), 0U);
}

TEST(AliasGradient, OfABroadcastIsSummed) {
  WithInput t({2, 1});
  const TensorSymbol wide = t.g.broadcast_to(t.x, {3, 2, 4});
  const TensorSymbol w = t.g.input("w", {DType::f64, {3, 2, 4}});
  const TensorSymbol f = t.g.add("mul", {wide, w});
  const TensorSymbol gx = gradient(t.g, {f}, {t.x})[0];
  Numbers weights(24);
  for (std::size_t k = 0; k < 24; ++k) weights[k] = static_cast<double>(k);
  const auto values =
      evaluate(t.g, {{t.x, real({1, 1}, {2, 1})}, {w, real(weights, {3, 2, 4})}}, {gx});
  EXPECT_EQ(values[0].shape(), (AxisList{2, 1}));
  EXPECT_EQ(numbers(values[0]), (Numbers{114, 162}));
}

TEST(AliasGradient, OfASliceOfABroadcastIsSummed) {
  WithInput t({3});
  const TensorSymbol wide = t.g.broadcast_to(t.g.slice(t.x, 0, 0, 2), {4, 2});
  const TensorSymbol f = t.square(t.g.slice(t.g.permute(wide, {1, 0}), 1, 1, 2));
  EXPECT_EQ(t.gradient_of({f}, {1, 2, 3}), (Numbers{4, 8, 0}));
}

TEST(AliasGradient, OfAViewThatIsAskedForIsItsPart) {
  WithInput t({4});
  const TensorSymbol middle = t.g.slice(t.x, 0, 1, 2);
  const TensorSymbol f = t.g.add("mul", {t.square(t.x), t.x});
  const TensorSymbol gm = gradient(t.g, {f}, {middle})[0];
  EXPECT_EQ(t.g.form(gm).shape, (AxisList{2}));
  EXPECT_EQ(numbers(evaluate(t.g, {{t.x, real({1, 2, 3, 4})}}, {gm})[0]), (Numbers{12, 27}));
}

TEST(AliasGradient, OfAViewThatIsTheResultIsItsPart) {
  WithInput t({4});
  const TensorSymbol f = t.g.slice(t.x, 0, 1, 2);
  EXPECT_EQ(t.gradient_of({f}, {1, 2, 3, 4}), (Numbers{0, 1, 1, 0}));
  const TensorSymbol y = t.square(t.x);
  EXPECT_EQ(t.gradient_of({t.g.slice(y, 0, 0, 2), y}, {1, 2, 3, 4}), (Numbers{4, 8, 6, 8}));
}

/// Two producers write slices of one tensor: their concatenation.
TensorSymbol concatenated(WithInput& t) {
  const TensorSymbol whole = t.g.tensor({DType::f64, {4}}, "whole");
  t.g.write(Command("neg", {}), std::vector{t.x}, std::vector{t.g.slice(whole, 0, 0, 2)});
  t.g.write(Command("mul", {}), std::vector{t.x, t.x}, std::vector{t.g.slice(whole, 0, 2, 2)});
  return whole;
}

TEST(AliasGradient, OfAConcatenationIsGivenToItsProducers) {
  WithInput t({2});
  const TensorSymbol whole = concatenated(t);
  EXPECT_EQ(t.gradient_of({t.square(whole)}, {1, 2}), (Numbers{2 + 4, 4 + 32}));
  EXPECT_EQ(t.new_zeros(), 0U);
}

TEST(AliasGradient, OfAConcatenationThatTwoReadIsSummedBeforeItIsCut) {
  WithInput t({2});
  const TensorSymbol whole = concatenated(t);
  const TensorSymbol a = t.square(whole);
  const TensorSymbol b = t.g.add("neg", {whole});
  EXPECT_EQ(t.gradient_of({a, b}, {1, 2}), (Numbers{2 + 1 + 4 - 2, 4 + 1 + 32 - 4}));
  // Three read the whole, and three x: two sums each, none of slices.
  EXPECT_EQ(t.nodes_of("add"), 4U);
}

TEST(AliasGradient, OfPartsIsReadBeforeAndAfterOtherPartsAreWritten) {
  // b is computed from a part of the tensor that it is then a part of.
  WithInput t({2});
  const TensorSymbol whole = t.g.tensor({DType::f64, {4}}, "whole");
  const TensorSymbol a = t.g.slice(whole, 0, 0, 2);
  t.g.write(Command("mul", {}), std::vector{t.x, t.x}, std::vector{a});
  t.g.write(Command("mul", {}), std::vector{a, a}, std::vector{t.g.slice(whole, 0, 2, 2)});
  // The sum of x^2 and x^4 and, of the first two elements, of x^4 again.
  const TensorSymbol b = t.square(t.g.slice(whole, 0, 0, 2));
  EXPECT_EQ(t.gradient_of({whole, b}, {1, 2}), (Numbers{2 + 4 + 4, 4 + 32 + 32}));
}

TEST(AliasGradient, OfAPartOfABroadcastIsThereBeforeOtherPartsAreWritten) {
  // The last element is computed of what views of a broadcast have of the others. Its gradient is
  // asked for before theirs comes.
  struct Case {
    std::vector<ViewStep> views;  ///< of the whole
    Numbers times;                ///< that they have each of the other elements
  };
  const ViewStep thrice{ViewKind::broadcast, {3, 5}}, front{ViewKind::slice, {1, 0, 4, 1}};
  const std::vector<Case> cases = {
      {{thrice, {ViewKind::slice, {1, 0, 2, 1}}}, {3, 3, 0, 0}},
      {{thrice, {ViewKind::select, {1, 3}}}, {0, 0, 0, 3}},
      {{thrice, {ViewKind::slice, {1, 3, 4, -1}}, {ViewKind::slice, {0, 2, 2, -1}}}, {2, 2, 2, 2}},
      {{thrice,
        {ViewKind::permute, {1, 0}},
        {ViewKind::slice, {0, 1, 2, 1}},
        {ViewKind::select, {1, 2}}},
       {0, 1, 1, 0}},
      {{thrice, front, {ViewKind::reshape, {3, 2, 2}}, {ViewKind::select, {2, 1}}}, {0, 3, 0, 3}},
      {{thrice,
        front,
        {ViewKind::select, {1, 0}},
        {ViewKind::broadcast, {2, 3}},
        {ViewKind::reshape, {6}},
        {ViewKind::slice, {0, 0, 5, 1}}},
       {5, 0, 0, 0}},
      {{thrice, front, {ViewKind::slice, {1, 0, 0, 1}}}, {0, 0, 0, 0}},
      {{thrice, {ViewKind::slice, {0, 0, 0, 1}}}, {0, 0, 0, 0}},
      {{{ViewKind::broadcast, {0, 5}}}, {0, 0, 0, 0}}};
  for (const Case& one : cases) {
    WithInput t({4});
    const TensorSymbol whole = t.g.tensor({DType::f64, {5}}, "whole");
    t.g.copy(t.x, t.g.slice(whole, 0, 0, 4));
    TensorSymbol part = whole;
    for (const ViewStep& view : one.views) part = t.g.view(part, view);
    const TensorSymbol squares = t.square(part);
    const TensorSymbol list = t.g.reshape(squares, {element_count(t.g.form(squares))});
    t.g.copy(t.g.add("sum axis=0", {list}), t.g.select(whole, 0, 4));
    const Numbers at = {1, 2, 3, 4};
    Numbers expected;
    for (std::size_t k = 0; k < 4; ++k) expected.push_back(1 + 2 * at[k] * one.times[k]);
    EXPECT_EQ(t.gradient_of({whole}, at), expected) << t.g.text(part);
  }
}

TEST(AliasGradient, OfSlicesOfZerosStopsAtTheGaps) {
  WithInput t({2});
  const TensorSymbol padded = t.g.zeros({DType::f64, {4}}, "padded");
  t.g.write(Command("mul", {}), std::vector{t.x, t.x}, std::vector{t.g.slice(padded, 0, 1, 2)});
  EXPECT_EQ(t.gradient_of({t.square(padded)}, {1, 2}), (Numbers{4, 32}));
}

TEST(AliasGradient, OfStepsAndOfNegativeStepsTile) {
  WithInput t({5});
  const TensorSymbol even = t.square(t.g.slice(t.x, 0, 0, 3, 2));
  const TensorSymbol odd = t.g.add("neg", {t.g.slice(t.x, 0, 3, 2, -2)});
  EXPECT_EQ(t.gradient_of({even, odd}, {1, 2, 3, 4, 5}), (Numbers{2, -1, 6, -1, 10}));
  EXPECT_EQ(t.new_zeros(), 0U);
}

TEST(AliasGradient, KeepsTheLayoutOfItsTensor) {
  WithInput t({1});
  const TensorSymbol y = t.g.input("y", {DType::f64, {2, 3}, {1, 2}});
  const TensorSymbol f = t.square(t.g.select(y, 0, 1));
  const TensorSymbol gy = gradient(t.g, {f}, {y})[0];
  EXPECT_EQ(t.g.form(gy).strides, (AxisList{1, 2}));
  EXPECT_EQ(numbers(evaluate(t.g, {{y, real({1, 2, 3, 4, 5, 6}, {2, 3})}}, {gy})[0]),
            (Numbers{0, 0, 0, 8, 10, 12}));
}

TEST(AliasGradient, OfManySlicesTakesOneTensor) {
  WithInput t({500});
  std::vector<TensorSymbol> f;
  for (int k = 0; k < 500; ++k) f.push_back(t.g.add("sqrt", {t.g.slice(t.x, 0, k, 1)}));
  t.before = t.g.symbol_count();
  const TensorSymbol gx = gradient(t.g, f, std::vector{t.x})[0];
  verify(t.g);
  Numbers at(500);
  for (std::size_t k = 0; k < 500; ++k) at[k] = static_cast<double>((k + 1) * (k + 1));
  const Numbers got = numbers(evaluate(t.g, {{t.x, real(at)}}, {gx})[0]);
  for (std::size_t k = 0; k < 500; ++k) EXPECT_EQ(got[k], 0.5 / static_cast<double>(k + 1));
  EXPECT_EQ(t.nodes_of("add") + t.new_zeros(), 0U);
}

TEST(AliasGradient, OfNoElementsIsZero) {
  WithInput t({3});
  const TensorSymbol none = t.g.add("neg", {t.g.slice(t.x, 0, 0, 0)});
  EXPECT_EQ(t.gradient_of({none}, {1, 2, 3}), (Numbers{0, 0, 0}));
}

}  // namespace
}  // namespace mote
