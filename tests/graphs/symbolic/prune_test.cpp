// SPDX-License-Identifier: Apache-2.0
// The pass prune.
#include <gtest/gtest.h>

#include <optional>

#include "pass_case.h"

namespace mote {
namespace {

using test::apply_and_compare;
using test::node_total;

TEST(Prune, RemovesNodesAndSymbolsThatNoOutputNeeds) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol unused = g.input("unused", {DType::f32, {4}});
  const TensorSymbol y = g.add("neg", {x});
  g.add("relu", {g.slice(g.add("sin", {unused}), 0, 0, 2)});
  g.constant("c", Tensor(DType::f32, {3}));
  g.slice(y, 0, 0, 1);
  g.set_outputs({y});
  EXPECT_EQ(apply_and_compare(g, {"prune"}), "prune: 2 nodes removed, 5 symbols removed");
  EXPECT_EQ(node_total(g), 1U);
  EXPECT_TRUE(g.has("unused"));  // the caller may bind it
  EXPECT_FALSE(g.has("c"));
}

TEST(Prune, KeepsTheWritersOfThePartsThatAreRead) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  const TensorSymbol p = g.tensor({DType::f32, {6}});
  for (const int begin : {0, 2, 4})
    g.write(Command("neg", {}), std::vector{x}, std::vector{g.slice(p, 0, begin, 2)});
  g.set_outputs({g.slice(p, 0, 1, 2)});
  EXPECT_EQ(apply_and_compare(g, {"prune"}), "prune: 1 node removed, 1 symbol removed");
  EXPECT_TRUE(g.nodes()[2].removed);
}

TEST(Prune, KeepsTheOrderThatLedThroughARemovedNode) {
  // a before dead1, dead1 before dead2 by data, dead2 before b: so a stays before b.
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const NodeSymbol b = g.producer(g.add("neg", {x}));
  const NodeSymbol a = g.producer(g.add("sin", {x}));
  const TensorSymbol h = g.add("cos", {x});
  const NodeSymbol dead2 = g.producer(g.add("relu", {h}));
  g.order(a, g.producer(h));
  g.order(dead2, b);
  g.set_outputs({g.output(a, 0), g.output(b, 0)});
  EXPECT_EQ(topological_order(g), (std::vector<std::uint32_t>{1, 2, 3, 0}));
  apply_and_compare(g, {"prune"});
  EXPECT_EQ(node_total(g), 2U);
  EXPECT_EQ(g.info(b).after, (std::vector<std::uint32_t>{a.index}));
  EXPECT_EQ(topological_order(g), (std::vector<std::uint32_t>{1, 0}));
}

TEST(Prune, AnOrderAloneKeepsNoNode) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const NodeSymbol dead = g.producer(g.add("sin", {x}));
  const TensorSymbol y = g.add("neg", {x});
  g.order(dead, g.producer(y));
  g.set_outputs({y});
  apply_and_compare(g, {"prune"});
  EXPECT_EQ(node_total(g), 1U);
  EXPECT_TRUE(g.info(g.producer(y)).after.empty());
}

TEST(Prune, KeepsFunctionsThatWriteNothingAndWhatTheyNeed) {
  SymbolicGraph g;
  int calls = 0;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol h = g.add("sin", {x});
  const TensorSymbol unread = g.tensor({DType::f32, {4}});
  g.call({"print", [&](auto, auto) { ++calls; }}, std::vector{h}, {});
  g.call({"compute", [](auto, auto) {}}, std::vector{h}, std::vector{unread});
  g.set_outputs({g.add("neg", {x})});
  EXPECT_EQ(apply_and_compare(g, {"prune"}), "prune: 1 node removed, 1 symbol removed");
  EXPECT_EQ(node_total(g), 3U);
}

/// y, row_mean, row_inv_std = layer_norm_with_statistics(x, gamma, beta); the last two are
/// optional.
NodeSymbol layer_norm_in(SymbolicGraph& g) {
  const TensorSymbol x = g.input("x", {DType::f32, {4, 6}});
  const TensorSymbol gamma = g.input("gamma", {DType::f32, {6}});
  const TensorSymbol beta = g.input("beta", {DType::f32, {6}});
  return g.add_node(Command("layer_norm_with_statistics", {}), std::vector{x, gamma, beta});
}

TEST(Prune, LeavesOutUnreadOptionalOutputs) {
  SymbolicGraph g;
  const NodeSymbol node = layer_norm_in(g);
  g.set_outputs({g.output(node, 0)});
  EXPECT_EQ(apply_and_compare(g, {"prune"}), "prune: nothing");
  EXPECT_EQ(apply_and_compare(g, {"prune"}, {.inexact = true}),
            "prune: 2 outputs left out, 2 symbols removed");
  EXPECT_FALSE(g.output(node, 1));
}

TEST(Prune, KeepsOptionalOutputsThatAreReadAsAView) {
  SymbolicGraph g;
  const NodeSymbol node = layer_norm_in(g);
  g.set_outputs({g.slice(g.output(node, 1), 0, 1, 1)});
  EXPECT_EQ(apply_and_compare(g, {"prune"}, {.inexact = true}),
            "prune: 1 output left out, 1 symbol removed");
  EXPECT_TRUE(g.output(node, 0));  // it is not optional
  EXPECT_TRUE(g.output(node, 1));
  EXPECT_FALSE(g.output(node, 2));
}

TEST(Prune, KeepsOneOutput) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 2}});
  const NodeSymbol node = g.add_node(Command("mul.grad", {}), std::vector{x, x, x});
  // It is needed because a function asks for it, though all that it writes is optional.
  g.call({"look", [](auto, auto) {}}, std::vector{g.output(node, 1)}, {});
  g.set_outputs({g.add("neg", {x})});
  EXPECT_EQ(apply_and_compare(g, {"prune"}, {.inexact = true}),
            "prune: 1 output left out, 1 symbol removed");
  EXPECT_TRUE(g.output(node, 1));
}

/// Leaving an output out of these ops changes no bit of the others: the kernel skips what it does
/// not store. Others round otherwise (lerp.grad), so that it is done only if that is allowed.
TEST(Prune, LeavesTheBitsOfOtherOutputs) {
  const auto form = [](AxisList shape) { return TensorForm{DType::f32, shape}; };
  struct Case {
    Command command;
    std::vector<std::optional<TensorForm>> inputs;
  };
  const std::vector<Case> cases = {
      {Command("batch_norm_training", {}),
       {form({2, 3, 8}), form({3}), form({3}), form({3}), form({3})}},
      {Command("layer_norm_with_statistics", {}), {form({4, 6}), form({6}), form({6})}},
      {Command("matmul.grad", {}), {form({3, 5}), form({3, 4}), form({4, 5})}},
      {Command("div.grad", {}), {form({3, 5}), form({3, 5}), form({3, 5})}},
      {Command("conv2d.grad", {}), {form({1, 2, 3, 3}), form({1, 2, 4, 4}), form({2, 2, 2, 2})}},
      {Command("attention.grad", {}),
       {form({1, 2, 3, 4}),
        form({1, 2, 3, 4}),
        form({1, 2, 5, 4}),
        form({1, 2, 5, 4}),
        {},
        form({1, 2, 3, 4})}},
      {Command("lstm_cell.grad", {}),
       {form({2, 4}), form({2, 4}), form({2, 3}), form({2, 4}), form({2, 4}), form({4, 4, 3}),
        form({4, 4, 4}), form({4, 4})}},
  };
  for (const Case& c : cases) {
    const std::size_t count = static_cast<std::size_t>(c.command.definition().output_count);
    for (std::size_t asked = 0; asked < count; ++asked) {
      SymbolicGraph g;
      std::vector<TensorSymbol> inputs;
      for (const std::optional<TensorForm>& of : c.inputs)
        inputs.push_back(of ? g.input("x" + std::to_string(inputs.size()), *of) : TensorSymbol{});
      const NodeSymbol node = g.add_node(c.command, inputs);
      if (!g.output(node, asked)) continue;
      g.set_outputs({g.output(node, asked)});
      SCOPED_TRACE(to_string(c.command) + " output " + std::to_string(asked));
      apply_and_compare(g, {"prune"}, {.inexact = true});
    }
  }
}

TEST(Prune, WithoutOutputsLeavesAll) {
  SymbolicGraph g;
  g.add("neg", {g.input("x", {DType::f32, {4}})});
  EXPECT_EQ(apply_and_compare(g, {"prune"}), "prune: nothing");
}

TEST(Prune, KeepsRecomputedAndInPlaceNodesThatAreNeeded) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol y = g.add("neg", {x});
  const TensorSymbol again = g.add("neg", {x});
  g.mark_recomputed(g.producer(again), 1);
  g.set_outputs({g.add("add", {y, again})});
  EXPECT_EQ(apply_and_compare(g, {"prune"}), "prune: nothing");
}

}  // namespace
}  // namespace mote
