// SPDX-License-Identifier: Apache-2.0
// Checkpoints and gradients of gradients: of a graph that holds both, before the second gradient is
// asked for, and both times; and checkpoints of graphs that have some already.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "graphs/compile/numbered.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/pass.h"

namespace mote {
namespace {

using test::bits;
using test::numbered;

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kColumns = 32;

const CheckpointOptions kSquareRoot{.policy = CheckpointPolicy::square_root};
const CheckpointOptions kBinomial{.policy = CheckpointPolicy::binomial, .slots = 2};
const CheckpointOptions kCheap{.policy = CheckpointPolicy::cheap};

std::size_t planned_bytes(const SymbolicGraph& g) {
  Context context;
  return compile(g, {}, context).report().arena_bytes;
}

std::size_t recomputed_nodes(const SymbolicGraph& g) {
  return static_cast<std::size_t>(std::ranges::count_if(
      g.nodes(), [](const NodeInfo& node) { return !node.removed && node.recomputed != 0; }));
}

/// n layers, their loss, its gradient gw along v, and the gradient of <gw, v>.
struct Twice {
  SymbolicGraph g{"twice"};
  TensorSymbol w = g.input("w", {DType::f32, {kColumns, kColumns}});
  TensorSymbol v = g.input("v", {DType::f32, {kColumns, kColumns}});
  TensorSymbol x = g.input("x", {DType::f32, {kRows, kColumns}});
  TensorSymbol loss;
  TensorSymbol along;  ///< <gw, v>

  using Layer = std::function<TensorSymbol(SymbolicGraph&, TensorSymbol product)>;
  using Step = std::function<void(Twice&)>;
  static void nothing(Twice&) {}

  /// A layer is of h w. `between` runs when the first gradient is there, `after` when both are.
  Twice(int n, const Layer& layer, const Step& between, const Step& after) {
    TensorSymbol h = x;
    for (int k = 0; k < n; ++k) h = layer(g, g.add("matmul", {h, w}));
    loss = g.add("sum", {g.reshape(h, {1, kRows * kColumns})});
    const TensorSymbol gw = gradient(g, {loss}, {w}).front();
    g.set_outputs({gw});
    between(*this);
    along = g.add("sum", {g.reshape(g.add("mul", {gw, v}), {1, kColumns * kColumns})});
    g.set_outputs({gw, gradient(g, {along}, {w}).front()});
    after(*this);
    verify(g);
  }

  /// Returns the bits of both gradients, of the compiled graph.
  std::vector<std::vector<std::byte>> results(const std::vector<TensorBinding>& bindings,
                                              int streams = 1) const {
    Context context;
    Executable run = compile(g, {.streams = streams, .poison = true}, context);
    run.run(bindings);
    return {bits(run.output(g.outputs()[0])), bits(run.output(g.outputs()[1]))};
  }
};

Twice::Step of_loss(const CheckpointOptions& options) {
  return [options](Twice& t) { checkpoint(t.g, std::vector{t.loss}, options); };
}
Twice::Step of_gradient(const CheckpointOptions& options) {
  return [options](Twice& t) { checkpoint(t.g, std::vector{t.along}, options); };
}

TensorSymbol bent(SymbolicGraph& g, TensorSymbol product) { return g.add("tanh", {product}); }

TEST(CheckpointOrders, AGraphWithBothGradientsKeepsItsBitsAndNeedsLess) {
  const auto bindings = [](const Twice& t) {
    return std::vector<TensorBinding>{
        {t.w, numbered(t.g, t.w)}, {t.v, numbered(t.g, t.v, 3)}, {t.x, numbered(t.g, t.x, 5)}};
  };
  const Twice plain(16, bent, Twice::nothing, Twice::nothing);
  const auto expected = plain.results(bindings(plain));
  for (const CheckpointOptions& options : {kSquareRoot, kBinomial, kCheap}) {
    const Twice t(16, bent, Twice::nothing, of_gradient(options));
    EXPECT_GT(recomputed_nodes(t.g), 0U);
    if (options.policy != CheckpointPolicy::cheap)
      EXPECT_LT(planned_bytes(t.g), planned_bytes(plain.g));
    for (const int streams : {1, 3}) EXPECT_EQ(t.results(bindings(t), streams), expected);
    const Twice of_first(16, bent, Twice::nothing, of_loss(options));
    EXPECT_EQ(of_first.results(bindings(of_first)), expected);
  }
}

/// Numbers that are small integers in every layer, so that sums are exact in any order: w is a
/// permutation with an element more, v and x are signs.
std::vector<TensorBinding> exact_bindings(const Twice& t) {
  const Tensor w(DType::f32, {kColumns, kColumns}), v(DType::f32, {kColumns, kColumns});
  const Tensor x(DType::f32, {kRows, kColumns});
  for (std::int64_t i = 0; i < kColumns; ++i)
    for (std::int64_t j = 0; j < kColumns; ++j) {
      w.set({i, j}, j == (i + 3) % kColumns || (i == 2 && j == 7) ? (i % 2 == 0 ? 1 : -1) : 0);
      v.set({i, j}, static_cast<double>((i * 5 + j * 3) % 3 - 1));
    }
  for (std::int64_t i = 0; i < kRows; ++i)
    for (std::int64_t j = 0; j < kColumns; ++j)
      x.set({i, j}, static_cast<double>((i * 7 + j) % 3 - 1));
  return {{t.w, w}, {t.v, v}, {t.x, x}};
}

TensorSymbol straight(SymbolicGraph& g, TensorSymbol product) {
  return g.add("neg", {g.add("relu", {product})});
}

TEST(CheckpointOrders, TheSecondGradientGoesThroughSegmentsThatAreComputedAgain) {
  const Twice plain(12, straight, Twice::nothing, Twice::nothing);
  const auto expected = plain.results(exact_bindings(plain));
  ASSERT_TRUE(std::ranges::any_of(expected[1], [](std::byte b) { return b != std::byte{0}; }));
  const CheckpointOptions policies[] = {kSquareRoot, kBinomial, kCheap};
  for (const CheckpointOptions& first : policies) {
    const Twice once(12, straight, of_loss(first), Twice::nothing);
    EXPECT_GT(recomputed_nodes(once.g), 0U);
    EXPECT_EQ(once.results(exact_bindings(once)), expected);
    for (const CheckpointOptions& second : policies)
      for (const auto& of : {of_loss, of_gradient}) {
        const Twice both(12, straight, of_loss(first), of(second));
        for (const int streams : {1, 2})
          EXPECT_EQ(both.results(exact_bindings(both), streams), expected);
      }
  }
  // The values of the first gradient's segments that the second one reads are computed again in
  // their turn.
  const Twice once(12, straight, of_loss(kSquareRoot), Twice::nothing);
  const Twice both(12, straight, of_loss(kSquareRoot), of_gradient(kSquareRoot));
  EXPECT_GT(recomputed_nodes(both.g), recomputed_nodes(once.g));
  EXPECT_LT(planned_bytes(both.g), planned_bytes(once.g));
}

/// A chain of n layers tanh and its gradient.
struct Nested {
  SymbolicGraph g{"nested"};
  TensorSymbol x = g.input("x", {DType::f32, {64}});
  TensorSymbol seed = g.input("seed", {DType::f32, {64}});
  std::vector<TensorSymbol> layers;
  TensorSymbol gx;

  explicit Nested(int n) {
    layers.push_back(x);
    for (int k = 0; k < n; ++k) layers.push_back(g.add("tanh", {layers.back()}));
    gx = gradient(g, {layers.back()}, {x}, {seed}).front();
    g.set_outputs({gx});
  }
  CheckpointReport checkpoint(const CheckpointOptions& options) {
    return mote::checkpoint(g, std::vector{layers.back()}, options);
  }
  std::vector<TensorBinding> bindings() const {
    return {{x, numbered(g, x)}, {seed, numbered(g, seed, 5)}};
  }
  std::vector<std::byte> result(int streams) const {
    Context context;
    Executable run = compile(g, {.streams = streams, .poison = true}, context);
    run.run(bindings());
    return bits(run.output(gx));
  }
};

TEST(CheckpointNested, ACheckpointInsideACheckpointKeepsTheBits) {
  const std::vector<std::byte> expected = Nested(60).result(1);
  const CheckpointOptions policies[] = {kSquareRoot, kBinomial, kCheap};
  for (const CheckpointOptions& outer : policies)
    for (const CheckpointOptions& inner : policies) {
      Nested n(60);
      n.checkpoint(outer);
      const std::size_t once = recomputed_nodes(n.g);
      n.checkpoint(inner);
      verify(n.g);
      EXPECT_GE(recomputed_nodes(n.g), once);
      for (const int streams : {1, 3}) EXPECT_EQ(n.result(streams), expected);
      // Copies without a reader go; merging and folding undo no other.
      apply_passes(n.g, std::vector<std::string>{"prune"});
      const std::size_t both = recomputed_nodes(n.g);
      apply_passes(n.g, default_passes());
      EXPECT_EQ(recomputed_nodes(n.g), both);
    }
}

TEST(CheckpointNested, TheInnerOneKeepsFewerOfTheStatesBetweenSegments) {
  Nested n(400);
  n.checkpoint(kSquareRoot);
  const std::size_t once = planned_bytes(n.g);
  const CheckpointReport report = n.checkpoint(kSquareRoot);
  EXPECT_GT(report.copies, 0U);
  EXPECT_LT(planned_bytes(n.g), once);
}

TEST(CheckpointNested, WhatIsSwitchedOffInsideIsNeverComputedAgain) {
  for (const CheckpointOptions& policy : {kSquareRoot, kCheap}) {
    Nested n(60);
    CheckpointOptions options = policy;
    for (int k = 20; k < 40; ++k) options.keep.push_back(n.layers[static_cast<std::size_t>(k)]);
    n.checkpoint(options);
    n.checkpoint(options);
    EXPECT_GT(recomputed_nodes(n.g), 0U);
    // A copy of a layer's node reads what stands for the layer before.
    for (const NodeInfo& node : n.g.nodes())
      if (node.recomputed != 0)
        for (int k = 19; k < 39; ++k)
          EXPECT_NE(node.inputs[0], n.layers[static_cast<std::size_t>(k)].index) << k;
    EXPECT_EQ(n.result(1), Nested(60).result(1));
  }
}

}  // namespace
}  // namespace mote
