// SPDX-License-Identifier: Apache-2.0
// The eight situations of vectors and slices that NNC's tests of its autograd describe
// (test/unit/nnc/autograd.vector.tests.c), with values in f64.
#include <gtest/gtest.h>

#include <algorithm>

#include "gradient_support.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "tiled_graph.h"

namespace mote {
namespace {

SymbolOrigin origin_of(const SymbolicGraph& g, TensorSymbol gradient) {
  return g.info(g.root(gradient)).kind;
}
std::string op_of(const SymbolicGraph& g, TensorSymbol symbol) {
  return to_string(*g.info(g.producer(symbol)).command);
}

TEST(VectorGradient, OfAWholeThatIsReadInPartsWithAnotherOfTheInput) {
  // y = x + [1 1.5], f = x1 + (y1 + y1^2) + exp(y2).
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol y = g.add("add", {x, g.constant("one", real({1, 1.5}))});
  const TensorSymbol y1 = g.slice(y, 0, 0, 1);
  const TensorSymbol u = g.add("add", {g.add("mul", {y1, y1}), y1});
  const TensorSymbol e = g.add("exp", {g.slice(y, 0, 1, 1)});
  const TensorSymbol f = g.add("add", {g.add("add", {g.slice(x, 0, 0, 1), u}), e});
  const TensorSymbol gx = gradient(g, {f}, {x})[0];
  verify(g);
  const std::vector<Tensor> values = evaluate(g, {{x, real({0.5, -1.25})}}, {gx, e});
  const Numbers got = numbers(values[0]);
  EXPECT_EQ(got[0], 2 + 2 * 1.5);
  EXPECT_EQ(got[1], numbers(values[1])[0]);
}

TEST(VectorGradient, OfPartsThatAreWrittenAndReadInParts) {
  // y1 = log(x1), y2 = x2^2, f = y1^2 + y1 y2.
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol y = g.tensor({DType::f64, {2}}, "y");
  const TensorSymbol x2 = g.slice(x, 0, 1, 1);
  const TensorSymbol y1 = g.slice(y, 0, 0, 1);
  const TensorSymbol y2 = g.slice(y, 0, 1, 1);
  g.write(Command("log", {}), std::vector{g.slice(x, 0, 0, 1)}, std::vector{y1});
  g.write(Command("mul", {}), std::vector{x2, x2}, std::vector{y2});
  const TensorSymbol f = g.add("add", {g.add("mul", {y1, y1}), g.add("mul", {y1, y2})});
  const TensorSymbol gx = gradient(g, {f}, {x})[0];
  verify(g);
  EXPECT_EQ(origin_of(g, gx), SymbolOrigin::tensor);
  const std::vector<Tensor> values = evaluate(g, {{x, real({0.5, -3})}}, {gx, y1});
  const Numbers got = numbers(values[0]);
  const double log = numbers(values[1])[0];
  EXPECT_EQ(got[0], (2 * log + 9) / 0.5);  // each step but the sum is exact
  EXPECT_EQ(got[1], -3 * log + -3 * log);
}

TEST(VectorGradient, OfAnUnreadElementIsZero) {
  // y1 = log(x1), f = y1^2 + y1. NNC leaves the other element undefined.
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol y = g.tensor({DType::f64, {2}}, "y");
  const TensorSymbol y1 = g.slice(y, 0, 0, 1);
  g.write(Command("log", {}), std::vector{g.slice(x, 0, 0, 1)}, std::vector{y1});
  const TensorSymbol f = g.add("add", {g.add("mul", {y1, y1}), y1});
  const TensorSymbol gx = gradient(g, {f}, {x})[0];
  verify(g);
  const std::vector<Tensor> values = evaluate(g, {{x, real({0.5, -13})}}, {gx, y1});
  const Numbers got = numbers(values[0]);
  EXPECT_EQ(got[0], (2 * numbers(values[1])[0] + 1) / 0.5);  // only the sum rounds
  EXPECT_EQ(got[1], 0);
}

TEST(VectorGradient, OfTilesNeedsNoZeros) {
  TiledGraph net(4);
  const auto grads = gradient(net.g, {net.d}, {net.w, net.b, net.c});
  verify(net.g);
  EXPECT_EQ(origin_of(net.g, grads[1]), SymbolOrigin::tensor);
  EXPECT_EQ(origin_of(net.g, grads[2]), SymbolOrigin::tensor);
}

TEST(VectorGradient, OfTilesThatLeaveGapsNeedsZerosWhereTheyAreRead) {
  TiledGraph net(2);
  const auto grads = gradient(net.g, {net.d}, {net.w, net.b, net.c});
  verify(net.g);
  EXPECT_EQ(origin_of(net.g, grads[1]), SymbolOrigin::zeros);
  EXPECT_EQ(origin_of(net.g, grads[2]), SymbolOrigin::tensor);
}

TEST(VectorGradient, OfTilesThatOverlapIsASum) {
  for (const bool through_copies : {false, true}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {DType::f64, {4}});
    const TensorSymbol b = g.add("mul", {x, x});
    std::vector<TensorSymbol> c;
    for (const int begin : {0, 1}) {
      c.push_back(g.add("relu", {g.slice(b, 0, begin, 3)}));
      if (through_copies) c.back() = g.convert(c.back(), {DType::f64, {3}});
    }
    const auto grads = gradient(g, c, std::vector{b, x});
    verify(g);
    EXPECT_EQ(op_of(g, grads[0]), "add");
    const auto values = evaluate(g, {{x, real({1, 2, 3, 4})}}, {grads[0], grads[1]});
    EXPECT_EQ(numbers(values[0]), (Numbers{1, 2, 2, 1}));
    EXPECT_EQ(numbers(values[1]), (Numbers{2, 8, 12, 8}));
  }
}

TEST(VectorGradient, OfAConcatenationIsSummedAndThenCut) {
  // Two critics read observation and action as one tensor.
  SymbolicGraph g;
  const TensorSymbol obs = g.input("obs", {DType::f64, {2, 2}});
  const TensorSymbol act = g.input("act", {DType::f64, {2, 1}});
  const TensorSymbol both = g.tensor({DType::f64, {2, 3}}, "obs_act");
  g.copy(obs, g.slice(both, 1, 0, 2));
  g.copy(act, g.slice(both, 1, 2, 1));
  std::vector<TensorSymbol> v;
  for (const char* w : {"w1", "w2"})
    v.push_back(g.add("matmul", {both, g.input(w, {DType::f64, {3, 1}})}));
  const auto grads = gradient(g, v, std::vector{obs, act});
  verify(g);
  const auto adds = std::ranges::count_if(
      g.nodes(), [](const NodeInfo& n) { return n.command && to_string(*n.command) == "add"; });
  EXPECT_EQ(adds, 1);
  EXPECT_EQ(g.root(grads[0]), g.root(grads[1]));  // both are parts of the one sum
  const auto values = evaluate(g,
                               {{obs, real({1, 2, 3, 4}, {2, 2})},
                                {act, real({5, 6}, {2, 1})},
                                {g.find("w1"), real({1, 2, 3}, {3, 1})},
                                {g.find("w2"), real({10, 20, 30}, {3, 1})}},
                               {grads[0], grads[1]});
  EXPECT_EQ(numbers(values[0]), (Numbers{11, 22, 11, 22}));
  EXPECT_EQ(numbers(values[1]), (Numbers{33, 33}));
}

/// Windows that lie in the padding whole have no element: the change of what they give is 0.
TEST(ForwardMode, OfAMaxPoolWithWindowsInThePadding) {
  for (const char* op : {"max_pool2d", "max_pool2d_with_indices"}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {DType::f64, {1, 1, 2, 2}});
    const TensorSymbol t = g.input("t", {DType::f64, {1, 1, 2, 2}});
    const std::string pool = std::string(op) + " kernel0=1 kernel1=2 pads0=1 pads2=1";
    const TensorSymbol y = g.add(pool, {x});
    const TensorSymbol change = jvp(g, {y}, {x}, {t})[0];
    verify(g);
    const auto values =
        evaluate(g, {{x, real({1, 2, 8, 4}, {1, 1, 2, 2})}, {t, real({3, 5, 7, 9}, {1, 1, 2, 2})}},
                 {change});
    EXPECT_EQ(numbers(values[0]), (Numbers{0, 5, 7, 0})) << op;
  }
  // Dilation leaves out the only element between two in the padding.
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {1, 1, 1, 3}});
  const TensorSymbol y = g.add("max_pool2d kernel0=2 kernel1=1 dilation0=2 pads0=1 pads2=1", {x});
  const TensorSymbol change = jvp(g, {y}, {x}, {x})[0];
  EXPECT_EQ(numbers(evaluate(g, {{x, real({1, 2, 3}, {1, 1, 1, 3})}}, {change})[0]),
            (Numbers{0, 0, 0}));
}

}  // namespace
}  // namespace mote
