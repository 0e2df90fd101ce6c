// SPDX-License-Identifier: Apache-2.0
// Tests loops with checkpoints inside each other: the gradient is built in steps that are
// proportional to the depth, and has the bits of the one without checkpoints.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

using namespace test;

/// y = x·w, whose gradient counts how often it is built.
NamedFunction counted_product(int& built) {
  return {.name = "product",
          .run =
              [](std::span<const Tensor> in, std::span<const Tensor> out) {
                out[0].set({}, in[0].real_at({}) * in[1].real_at({}));
              },
          .gradient =
              [&built](SymbolicGraph& graph, const FunctionCall& call) {
                ++built;
                return Symbols{graph.add("mul", {call.gradients[0], call.inputs[1]}),
                               graph.add("mul", {call.gradients[0], call.inputs[0]})};
              }};
}

/// Returns a body of so many loops inside each other, each of `trips` iterations: x <- x·w, by a
/// function if its gradients are counted.
SymbolicGraph loops_inside(int depth, std::int64_t trips, std::int64_t checkpoints, int* built) {
  SymbolicGraph body("depth" + std::to_string(depth));
  const TensorSymbol x = body.input("x", {DType::f64, {}});
  const TensorSymbol w = body.input("w", {DType::f64, {}});
  const TensorSymbol count = body.input("c", {DType::i64, {}});
  TensorSymbol next;
  if (depth == 1 && built == nullptr) {
    next = body.add("mul", {x, w});
  } else if (depth == 1) {
    next = body.tensor({DType::f64, {}});
    body.call(counted_product(*built), Symbols{x, w}, Symbols{next});
  } else {
    const NodeSymbol loop =
        body.add_while(loops_inside(depth - 1, trips, checkpoints, built), {x, w},
                       {.has_counter = true, .checkpoints = checkpoints});
    next = body.add("tanh", {body.output(loop, 0)});
  }
  body.set_outputs({next, body.add("sub", {body.constant({}, integer(trips)), count})});
  return body;
}

/// Returns the gradient of nested loops with respect to x and w.
SymbolicGraph gradient_of_nest(int depth, std::int64_t trips, std::int64_t checkpoints,
                               int* built = nullptr) {
  SymbolicGraph g("nest");
  const TensorSymbol x = g.input("x", {DType::f64, {}}), w = g.input("w", {DType::f64, {}});
  const NodeSymbol loop = g.add_while(loops_inside(depth, trips, checkpoints, built), {x, w},
                                      {.has_counter = true, .checkpoints = checkpoints});
  g.set_outputs(gradient(g, Symbols{g.output(loop, 0)}, Symbols{x, w}));
  return g;
}

/// The number of nodes of the graph and of all graphs in it.
std::size_t all_nodes(const SymbolicGraph& graph) {
  std::size_t count = 0;
  for (const NodeInfo& node : graph.nodes()) {
    if (node.removed) continue;
    ++count;
    if (node.kind == NodeKind::control)
      for (const SymbolicGraph& inside : node.control->graphs) count += all_nodes(inside);
  }
  return count;
}

TEST(NestedCheckpoints, AGradientIsBuiltInStepsByTheDepth) {
  for (const std::int64_t checkpoints : {kKeepEach, kKeepSquareRoot}) {
    std::size_t before = 0;
    for (const int depth : {1, 2, 4, 8, 16, 32}) {
      int built = 0;
      const std::size_t nodes = all_nodes(gradient_of_nest(depth, 2, checkpoints, &built));
      // The innermost gradient is tried once for the whole, and built once for it; with checkpoints
      // each loop asks once what parts of it begin with.
      EXPECT_LE(built, checkpoints == kKeepEach ? 2 : depth + 2) << depth;
      // A part of each loop with checkpoints holds a copy of the loops inside it.
      if (before > 0) {
        EXPECT_LE(nodes, (checkpoints == kKeepEach ? 2 : 4) * before) << depth;
      }
      before = nodes;
    }
  }
}

TEST(NestedCheckpoints, HaveTheBitsOfTheLoopsWithoutThem) {
  Tensor x(DType::f64, AxisList{}), w(DType::f64, AxisList{});
  x.set({}, 0.75);
  w.set({}, 1.25);
  const Inputs inputs = {{"x", x}, {"w", w}};
  for (const int depth : {2, 3, 4}) {
    const Numbers expected = values_of(gradient_of_nest(depth, 3, kKeepEach), inputs);
    EXPECT_NE(expected[0], 0);
    for (const std::int64_t checkpoints : {kKeepSquareRoot, std::int64_t{1}, std::int64_t{2}})
      EXPECT_EQ(values_of(gradient_of_nest(depth, 3, checkpoints), inputs), expected)
          << depth << ", " << checkpoints;
  }
}

}  // namespace
}  // namespace mote
