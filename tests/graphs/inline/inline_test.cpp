// SPDX-License-Identifier: Apache-2.0
// A graph as one program: the values and gradients of several graphs, names, and reasons why there
// is no program.
#include <gtest/gtest.h>

#include "inlined_checks.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

TEST(InlinedGraph, ComputesLinearLayersExactly) {
  InlinedCase c;
  const TensorSymbol x = c.whole("x", {3, 4}, 1);
  const TensorSymbol h = c.g.add(
      "relu",
      {c.g.add("add", {c.g.add("matmul", {x, c.whole("w", {4, 5}, 2)}), c.whole("b", {5}, 3)})});
  const TensorSymbol y = c.g.add("matmul", {h, c.whole("v", {5, 4}, 4)});
  c.of = {c.g.add("add", {x, y}), h};
  expect_values(c, Agreement::exact);
  expect_gradients(c, Agreement::exact);
}

TEST(InlinedGraph, ComputesCrossEntropyOfLinearLayers) {
  InlinedCase c;
  const TensorSymbol x = c.spread("x", {3, 4}, -1, 1, 1);
  const TensorSymbol h = c.g.add("tanh", {c.g.add("matmul", {x, c.spread("w", {4, 5}, -1, 1, 2)})});
  const TensorSymbol z = c.g.add("add", {h, c.spread("b", {5}, -1, 1, 3)});
  c.of = {c.g.add("cross_entropy", {z, c.integers("t", DType::i64, {3}, {4, 0, 2})})};
  expect_values(c, Agreement::bounded);
  expect_gradients(c, Agreement::bounded);
}

TEST(InlinedGraph, ComputesConvolutionAndBatchNorm) {
  InlinedCase c;
  const TensorSymbol x = c.spread("x", {2, 2, 4, 4}, -1, 1, 1);
  const TensorSymbol y =
      c.g.add("conv2d pads0=1 pads1=1",
              {x, c.spread("w", {3, 2, 3, 3}, -1, 1, 2), c.spread("b", {3}, -1, 1, 3)});
  const TensorSymbol z =
      c.g.add("batch_norm", {y, c.spread("gamma", {3}, 0.5, 2, 4), c.spread("beta", {3}, -1, 1, 5),
                             c.spread("mean", {3}, -1, 1, 6), c.spread("var", {3}, 0.5, 2, 7)});
  c.of = {c.g.add("avg_pool2d kernel0=2 kernel1=2", {z})};
  expect_values(c, Agreement::bounded);
  expect_gradients(c, Agreement::bounded);
}

// Elements are distinct: at a tie the gradient of a max pool, which is written by hand, goes to the
// first maximum, and that of its uops to all of them.
TEST(InlinedGraph, ComputesMaxPoolAndConvolutionExactly) {
  InlinedCase c;
  const TensorSymbol x = c.distinct("x", {2, 2, 5, 4}, 1);
  const TensorSymbol y = c.g.add("max_pool2d kernel0=3 kernel1=2 stride1=1", {x});
  const TensorSymbol z =
      c.g.add("conv2d pads0=1 stride1=2", {y, c.whole("w", {3, 2, 3, 2}, 2), c.whole("b", {3}, 3)});
  c.of = {c.g.add("sum axis=1", {y}), c.g.add("relu", {z})};
  expect_values(c, Agreement::exact);
  expect_gradients(c, Agreement::exact);
}

TEST(InlinedGraph, ComputesSoftmaxAlongAnyAxis) {
  InlinedCase c;
  const TensorSymbol x = c.spread("x", {2, 3, 4}, -2, 2, 1);
  const TensorSymbol y = c.g.add("softmax axis=1", {x});
  c.of = {c.g.add("log_softmax axis=0", {c.g.add("mul", {y, x})}), c.g.add("softmax", {x})};
  expect_values(c, Agreement::bounded);
  expect_gradients(c, Agreement::bounded);
}

TEST(InlinedGraph, ComputesLayerNormAndMatmulWithABatch) {
  InlinedCase c;
  const TensorSymbol x = c.spread("x", {2, 3, 4}, -2, 2, 1);
  const TensorSymbol y = c.g.add(
      "layer_norm", {x, c.spread("gamma", {4}, 0.5, 2, 2), c.spread("beta", {4}, -1, 1, 3)});
  c.of = {c.g.add("matmul", {y, c.spread("w", {4, 2}, -1, 1, 4)})};
  expect_values(c, Agreement::bounded);
  expect_gradients(c, Agreement::bounded);
}

TEST(InlinedGraph, ReadsViewsInPlace) {
  InlinedCase c;
  const TensorSymbol x = c.whole("x", {4, 6}, 1);
  const TensorSymbol columns = c.g.slice(x, 1, 1, 3, 2);
  const TensorSymbol back = c.g.slice(x, 0, 3, 4, -1);
  const TensorSymbol row = c.g.broadcast_to(c.g.select(x, 0, 2), {4, 6});
  const TensorSymbol pairs = c.g.reshape(c.g.reshape(x, {2, 2, 6}), {2, 4, 3});
  c.of = {c.g.add("mul", {columns, columns}), c.g.add("mul", {back, row}),
          c.g.add("neg", {c.g.permute(pairs, {2, 0, 1})}), c.g.reshape(x, {3, 8})};
  expect_values(c, Agreement::exact);
  expect_gradients(c, Agreement::exact);
}

TEST(InlinedGraph, PutsTogetherTensorsThatViewsWrite) {
  InlinedCase c;
  const TensorSymbol x = c.whole("x", {3, 4}, 1);
  const TensorSymbol tiled = c.g.tensor({DType::f64, {3, 4}}, "tiled");
  const TensorSymbol left = c.g.slice(tiled, 1, 0, 2), right = c.g.slice(tiled, 1, 2, 2);
  const TensorSymbol a = c.g.slice(x, 1, 0, 2);
  const TensorSymbol read_a[] = {a, a};
  c.g.write(Command("mul"), read_a, std::vector{left});
  // The other half depends on the first one.
  const TensorSymbol read_b[] = {left, c.g.slice(x, 1, 1, 2)};
  c.g.write(Command("add"), read_b, std::vector{right});
  const TensorSymbol gaps = c.g.zeros({DType::f64, {2, 5}}, "gaps");
  c.g.copy(c.g.slice(c.g.select(x, 0, 1), 0, 0, 3), c.g.slice(c.g.select(gaps, 0, 1), 0, 0, 3, 2));
  c.g.fill(c.g.slice(c.g.select(gaps, 0, 0), 0, 1, 2), 2.5);
  c.of = {c.g.add("neg", {tiled}), right, c.g.add("mul", {gaps, gaps}), gaps};
  expect_values(c, Agreement::exact);
  expect_gradients(c, Agreement::exact);
}

TEST(InlinedGraph, RoundsWhatNodesStore) {
  InlinedCase c;
  const TensorSymbol x = c.spread("x", {2, 3}, -2, 2, 1);
  const TensorSymbol narrow = c.g.convert(x, {DType::f32, {2, 3}});
  const TensorSymbol squared = c.g.add("mul", {narrow, narrow});
  c.of = {squared, c.g.convert(squared, {DType::f64, {2, 3}}),
          c.g.convert(c.g.convert(x, {DType::bf16, {2, 3}}), {DType::f64, {2, 3}}),
          c.g.convert(x, {DType::i32, {2, 3}})};
  expect_values(c, Agreement::exact);
}

// The indices of a convolution divide by its number of channels.
TEST(InlinedGraph, ComputesWithTensorsWithoutElements) {
  InlinedCase c;
  const TensorSymbol y =
      c.g.add("conv2d", {c.whole("x", {1, 0, 3, 3}, 1), c.whole("w", {2, 0, 2, 2}, 2)});
  const TensorSymbol z = c.g.add("matmul", {c.whole("a", {2, 0}, 3), c.whole("b", {0, 2}, 4)});
  c.of = {c.g.add("add", {y, z})};
  expect_values(c, Agreement::exact);
  expect_gradients(c, Agreement::exact);
}

TEST(InlinedGraph, HasConstantsAsNumbersOrInputs) {
  InlinedCase c;
  const TensorSymbol x = c.whole("x", {2, 3}, 1);
  Tensor three(DType::f64, {1}), row(DType::f64, {3});
  fill(three, 3.0);
  for (std::int64_t k = 0; k < 3; ++k) row.set({k}, static_cast<double>(k));
  const TensorSymbol scaled = c.g.add("mul", {x, c.g.constant("three", three)});
  const TensorSymbol rows = c.g.constant("row", row);
  c.of = {c.g.add("add", {scaled, rows})};
  expect_values(c, Agreement::exact);
  EXPECT_EQ(inlined(c.g, c.of).inputs, (std::vector{x, rows}));
  expect_gradients(c, Agreement::exact);
}

TEST(InlinedGraph, NamesWhatItReadsAndGives) {
  SymbolicGraph g("a graph");
  const TensorSymbol x1 = g.input("x1", {DType::f32, {2}});
  const TensorSymbol sum = g.input("sum", {DType::f32, {2}});
  const TensorSymbol unread = g.input("unread", {DType::f32, {2}});
  const TensorSymbol y = g.add("add", {x1, sum});
  g.add("neg", {unread});
  const GraphProgram p = inlined(g, {y, x1});
  EXPECT_EQ(p.inputs, (std::vector{x1, sum}));
  EXPECT_EQ(to_string(p.program).substr(0, 11), "op a_graph\n") << to_string(p.program);
  EXPECT_TRUE(find_input(p.program, "x1_"));
  EXPECT_TRUE(find_input(p.program, "sum_"));
  EXPECT_EQ(p.program.outputs[1].name, "x1__");
  EXPECT_TRUE(equal(parse_program(to_string(p.program)), p.program));
}

TEST(InlinedGraph, TakesTheFormulaOfANode) {
  SymbolicGraph g("g");
  const TensorSymbol x = g.input("x", {DType::f32, {1, 1, 3, 3}});
  const TensorSymbol y = g.add("conv2d pads0=1", {x, g.input("w", {DType::f32, {1, 1, 2, 2}})});
  const TensorSymbol outputs[] = {y};
  const auto with = [&](const std::string& form) {
    return program_of(g, outputs, {{g.producer(y).index, form}});
  };
  const Program direct = inlined(g, {y}).program;
  EXPECT_TRUE(equal(std::get<GraphProgram>(with("direct")).program, direct));
  EXPECT_FALSE(equal(std::get<GraphProgram>(with("padding_multiplied")).program, direct));
  EXPECT_NE(std::get<Reason>(with("none")).text.find("padding_multiplied"), std::string::npos);
}

TEST(InlinedGraph, SaysWhyThereIsNone) {
  SymbolicGraph g("g");
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  const TensorSymbol y = g.tensor({DType::f32, {2}}, "y");
  const TensorSymbol inputs[] = {x};
  const TensorSymbol outputs[] = {y};
  g.rename(g.call({"twice", [](auto, auto) {}}, inputs, outputs), "call");
  const auto none = program_of(g, {y});
  ASSERT_TRUE(std::holds_alternative<Reason>(none));
  EXPECT_NE(std::get<Reason>(none).text.find(
                "'call' (function twice): the code of a function is no program"),
            std::string::npos)
      << std::get<Reason>(none).text;
  EXPECT_TRUE(std::holds_alternative<GraphProgram>(program_of(g, {x})));

  TensorSymbol z = x;
  for (int k = 0; k < kMaxDepth; ++k) z = g.add("neg", {z});
  const auto deep = program_of(g, {z});
  ASSERT_TRUE(std::holds_alternative<Reason>(deep));
  EXPECT_NE(std::get<Reason>(deep).text.find("chain"), std::string::npos)
      << std::get<Reason>(deep).text;
  for (std::size_t k = 0; k < kMaxInlinedNodes; ++k) z = g.add("neg", {z});
  const auto large = program_of(g, {z});
  ASSERT_TRUE(std::holds_alternative<Reason>(large));
  EXPECT_EQ(std::get<Reason>(large).text, "g: 5096 nodes, at most 4096 become one program");
}

}  // namespace
}  // namespace mote
