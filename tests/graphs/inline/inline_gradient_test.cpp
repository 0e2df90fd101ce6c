// SPDX-License-Identifier: Apache-2.0
// Gradients of graphs that are more than one op on its own axes, against those of uops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "graphs/symbolic/tiled_graph.h"
#include "inlined_checks.h"
#include "mote/runtime/command.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

TEST(InlinedGradient, TakesMoreAxesThanTheOpHas) {
  InlinedCase c;
  const TensorSymbol x = c.spread("x", {2, 3, 4}, -2, 2, 1);
  const TensorSymbol gamma = c.spread("gamma", {4}, -3, 3, 2);
  const TensorSymbol beta = c.spread("beta", {4}, -1, 2, 3);
  c.of = {c.g.add("layer_norm", {x, gamma, beta})};
  expect_gradients(c, Agreement::bounded);
}

TEST(InlinedGradient, OfAnOpWithSeveralOutputsTakesThoseThatCome) {
  for (int used = 1; used < 8; ++used) {
    InlinedCase c;
    const TensorSymbol x = c.spread("x", {3, 4}, -2, 2, 1);
    const NodeSymbol node = c.g.add_node(Command("layer_norm_with_statistics", {}),
                                         std::vector{x, TensorSymbol{}, TensorSymbol{}});
    std::vector<TensorSymbol> parts;
    for (std::size_t k = 0; k < 3; ++k)
      if ((used >> k & 1) != 0)
        parts.push_back(
            c.g.add("sum axis=0", {c.g.add("mul", {c.g.output(node, k), c.g.output(node, k)})}));
    TensorSymbol f = parts.front();
    for (std::size_t k = 1; k < parts.size(); ++k) f = c.g.add("add", {f, parts[k]});
    c.of = {f};
    SCOPED_TRACE(used);
    expect_gradients(c, Agreement::bounded);
  }
}

TEST(InlinedGradient, OfAConvolutionWhoseKernelMultipliesItsPadding) {
  // The weights of the first columns meet nothing but padding: NaN by the kernel's formula
  // (padding_multiplied), a number by the definition.
  const auto padded = [] {
    InlinedCase c;
    const TensorSymbol x = c.spread("x", {1, 2, 2, 1}, -1, 1, 1);
    const TensorSymbol w = c.spread("w", {3, 2, 3, 4}, -1, 1, 2);
    for (std::int64_t k = 0; k < 3; ++k)
      c.bindings[1].second.set({0, 0, 0, k}, -std::numeric_limits<double>::infinity());
    c.of = {c.g.add("conv2d pads1=3 pads2=3", {x, w})};
    return c;
  };
  InlinedCase reverse = padded();
  expect_gradients(reverse, Agreement::where_bounded);
  InlinedCase forward = padded();
  EXPECT_TRUE(expect_forward_mode(forward));
}

TEST(InlinedGradient, OfTilesIsExact) {
  for (const int tiles : {2, 4}) {
    TiledGraph net(tiles);
    InlinedCase values;
    values.distinct("image", {1, 1, 4, 4}, 1);
    values.whole("w", {2, 1, 1, 1}, 2);
    InlinedCase c;
    c.bindings = {{net.image, values.bindings[0].second}, {net.w, values.bindings[1].second}};
    c.wrt = {net.image, net.w};
    c.of = {net.d};
    c.g = std::move(net.g);
    SCOPED_TRACE(tiles);
    expect_gradients(c, Agreement::exact);
  }
}

/// NNC's loop z = log(x y), x <- z, five times, and u = v z, at x = 1, y = 3.2, v = 0.22: JAX's
/// forward mode says that du/dy is 0.18960059 in f32, the graph's both modes must say so too. The
/// judge is the bound of the same steps without a loop.
TEST(InlinedGradient, OfALoopOfLogarithmsIsThatOfJax) {
  const auto value = [](double number) {
    Tensor t(DType::f32, AxisList{});
    t.set({}, number);
    return t;
  };
  const auto bindings_of = [&](const SymbolicGraph& g) {
    return std::vector<TensorBinding>{{g.find("x"), value(1)},
                                      {g.find("y"), value(3.2)},
                                      {g.find("v"), value(0.22)},
                                      {g.find("one"), value(1)}};
  };
  const std::string head = "(x f32[], y f32[], v f32[], one f32[]) -> (u)\n";
  std::string steps = "graph steps" + head;
  for (int k = 0; k < 5; ++k)
    steps += fmt::format("  p{0} = mul({1}, y)\n  z{0} = log(p{0})\n", k,
                         k == 0 ? "x" : fmt::format("z{}", k - 1));
  InlinedCase judge;
  judge.g = parse_graph(steps + "  u = mul(v, z4)\n");
  judge.bindings = bindings_of(judge.g);
  const auto gradient_in = [](SymbolicGraph& g) {
    const std::vector<TensorSymbol> u = {g.find("u")}, y = {g.find("y")}, one = {g.find("one")};
    return std::vector{gradient(g, u, y, one).front(), jvp(g, u, y, one).front()};
  };
  judge.of = {gradient_in(judge.g).front()};

  SymbolicGraph loop = parse_graph("graph loop" + head + R"(  z = while (x, y) counter {
    graph step(x f32[], y f32[], t i64[]) -> (z, left)
      five = constant i64[] [5]
      left = sub(five, t)
      p = mul(x, y)
      z = log(p)
  }
  u = mul(v, z)
)");
  const std::vector<TensorSymbol> both = gradient_in(loop);
  for (const Tensor& got : evaluate(loop, bindings_of(loop), both)) expect_in_bound(judge, {got});
  expect_in_bound(judge, {value(0.18960059)});
}

}  // namespace
}  // namespace mote
