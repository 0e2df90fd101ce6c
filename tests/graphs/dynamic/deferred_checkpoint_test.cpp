// SPDX-License-Identifier: Apache-2.0
// Tests checkpoints whose way forward and way back are computed as one graph: the same bits, less
// memory, and no work but the checkpointed steps twice.
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <vector>

#include "graphs/compile/numbered.h"
#include "graphs/dynamic/modes.h"
#include "mote/dynamic/dynamic_graph.h"

namespace mote {
namespace {

using test::bits;
using test::numbered;

struct Measured {
  std::vector<std::byte> gradient;
  std::size_t bytes = 0;  ///< planned, and of values that gradients read
  std::size_t computed_again = 0;
};

/// How a chain of layers is cut into checkpoints, and what is looked at before the gradient.
struct Chain {
  int segments;
  int layers;  ///< in each segment
  bool is_checkpointed;
  bool looks_first = false;
};

/// y = tanh(x w) in each layer; x has 64 rows.
Measured gradient_of(const Chain& chain, bool is_deferred = true) {
  Context context;
  DynamicGraph g(context, {.deferred = is_deferred});
  const Variable x = g.variable(numbered(TensorForm(DType::f32, {64, 16}), 1));
  const Variable w = g.variable(numbered(TensorForm(DType::f32, {16, 16}), 2));
  const auto segment = [&](std::span<const Variable> in) {
    Variable h = in[0];
    for (int k = 0; k < chain.layers; ++k) h = g.run("tanh", {g.run("matmul", {h, w})});
    return std::vector{h};
  };
  Variable y = x;
  for (int k = 0; k < chain.segments; ++k) {
    const std::vector<Variable> in{y};
    y = (chain.is_checkpointed ? g.checkpoint(segment, in) : segment(in))[0];
  }
  if (chain.looks_first) (void)y.value();
  const Variable gradient = g.backward({y}, {x})[0];
  Measured measured;
  measured.gradient = bits(gradient.value());
  const DynamicStatistics statistics = g.statistics();
  measured.bytes = statistics.compiled_bytes + statistics.saved_bytes;
  measured.computed_again = statistics.computed_again;
  return measured;
}

TEST(DeferredCheckpoint, KeepsTheEndsOfSegmentsAndOneSegment) {
  constexpr std::size_t kValue = 64 * 16 * 4;
  for (const int n : {2, 4, 8}) {
    const Measured plain = gradient_of({n, n, false});
    const Measured kept = gradient_of({n, n, true});
    EXPECT_EQ(kept.gradient, plain.gradient) << n;
    const auto count = static_cast<std::size_t>(n);
    // The gradient of tanh reads its output: of n² layers all are kept, or the n ends of segments
    // and what one segment has between. Two values more are in use: a product and a gradient.
    EXPECT_GE(plain.bytes, (count * count - 1) * kValue) << n;
    EXPECT_LE(kept.bytes, (2 * count + 2) * kValue) << n;
    EXPECT_EQ(plain.computed_again, 0U);
    // The product and the tanh of each layer are computed again at most once.
    EXPECT_GT(kept.computed_again, 0U);
    EXPECT_LE(kept.computed_again, 2 * count * count) << n;
  }
}

TEST(DeferredCheckpoint, HasTheBitsOfTheEagerMode) {
  for (const bool looks_first : {false, true}) {
    const Measured eager = gradient_of({3, 4, true, looks_first}, false);
    EXPECT_EQ(gradient_of({3, 4, true, looks_first}).gradient, eager.gradient);
    EXPECT_EQ(gradient_of({3, 4, false, looks_first}).gradient, eager.gradient);
  }
}

/// What the checkpoint's function gave to a variable outside has memory, and is not computed again.
TEST(DeferredCheckpoint, WhatAVariableHasIsNotComputedAgain) {
  Context context;
  DynamicGraph g(context, {.deferred = true});
  const Variable x = g.variable(test::rising({3}, 1));
  Variable inside;
  const std::vector<Variable> given{x};
  const Variable y = g.checkpoint(
      [&](std::span<const Variable> in) {
        inside = in[0] * in[0];
        return std::vector{inside * inside};
      },
      given)[0];
  EXPECT_EQ(test::elements_of(g.backward({y}, {x})[0]), (std::vector<double>{4, 32, 108}));
  EXPECT_EQ(test::elements_of(inside), (std::vector<double>{1, 4, 9}));
  EXPECT_EQ(g.statistics().computed_again, 0U);
}

/// A second gradient goes through what the first one computes again.
TEST(DeferredCheckpoint, GradientsOfGradients) {
  const auto second = [](bool is_checkpointed) {
    Context context;
    DynamicGraph g(context, {.deferred = true});
    const Variable x = g.variable(test::rising({3}, 1));
    const auto cube = [](std::span<const Variable> in) {
      return std::vector{in[0] * in[0] * in[0]};
    };
    const std::vector<Variable> given{x};
    const Variable y = (is_checkpointed ? g.checkpoint(cube, given) : cube(given))[0];
    const Variable slope = g.backward({y}, {x}, {.is_traced = true})[0];
    return test::elements_of(g.backward({slope}, {x})[0]);
  };
  EXPECT_EQ(second(true), (std::vector<double>{6, 12, 18}));
  EXPECT_EQ(second(false), second(true));
}

}  // namespace
}  // namespace mote
