// SPDX-License-Identifier: Apache-2.0
// Tests the comparison behind `mote graph check` on graphs with a caller's code that breaks its
// contract, which nothing but a comparison finds.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "graph/settings.h"
#include "mote/base/error.h"
#include "mote/runtime/tensor.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/pass.h"

namespace mote::tool {
namespace {

std::optional<GraphDifference> checked(const SymbolicGraph& graph, const Tensor& x,
                                       const std::vector<GraphSetting>& settings) {
  Context context;
  GraphReference reference;
  reference.inputs = {{graph.find("x"), x}};
  reference.outputs = evaluate(graph, reference.inputs, graph.outputs(), {.context = &context});
  return check_graph(graph, reference, settings, context, [](std::size_t) {});
}

Tensor ramp(const AxisList& shape) {
  const Tensor x(DType::f32, shape);
  const Tensor flat = x.reshape({x.element_count()});
  for (std::int64_t k = 0; k < flat.extent(0); ++k) flat.set({k}, static_cast<double>(k) + 0.5);
  return x;
}

/// The graph c = drift(relu(x)) + x.
SymbolicGraph drifting(NamedFunction drift) {
  SymbolicGraph g("drifting");
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  const TensorSymbol a = g.add("relu", {x});
  g.rename(a, "a");
  const TensorSymbol b = g.tensor({DType::f32, {2, 3}}, "b");
  g.call(std::move(drift), std::vector{a}, std::vector{b});
  const TensorSymbol c = g.add("add", {b, x});
  g.rename(c, "c");
  g.set_outputs({c});
  return g;
}

TEST(GraphCheck, ADifferenceNamesTheNodeThatComputesItFirst) {
  int calls = 0;
  const SymbolicGraph g = drifting(
      {.name = "drift", .run = [&calls](std::span<const Tensor> in, std::span<const Tensor> out) {
         copy(in[0], out[0]);
         out[0].set({1, 2}, ++calls);
       }});
  const auto found = checked(g, ramp({2, 3}), graph_settings(2));
  ASSERT_TRUE(found.has_value());
  // The outputs differ in the second call; all values are compared in the third and the fourth.
  EXPECT_EQ(found->setting, "1 stream, in place, planned, order least");
  EXPECT_EQ(found->symbol, "b");
  EXPECT_NE(found->node.find("drift"), std::string::npos) << found->node;
  EXPECT_EQ(found->what, "element [1,2]: expected 3, got 4; 1 of 6 differ");
}

TEST(GraphCheck, ADifferenceThatDoesNotComeAgainNamesTheOutput) {
  int calls = 0;
  const SymbolicGraph g = drifting(
      {.name = "drift", .run = [&calls](std::span<const Tensor> in, std::span<const Tensor> out) {
         copy(in[0], out[0]);
         if (++calls == 3) out[0].set({0, 1}, 7);
       }});
  const auto found = checked(g, ramp({2, 3}), graph_settings(1));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->setting, graph_settings(1)[1].text);
  EXPECT_EQ(found->symbol, "c");
  EXPECT_NE(found->node.find("add"), std::string::npos) << found->node;
  EXPECT_EQ(found->what, "element [0,1]: expected 3, got 8.5; 1 of 6 differ");
}

TEST(GraphCheck, ASettingThatFailsIsNamed) {
  int calls = 0;
  const SymbolicGraph g = drifting(
      {.name = "drift", .run = [&calls](std::span<const Tensor> in, std::span<const Tensor> out) {
         copy(in[0], out[0]);
         if (++calls == 3) throw Error("drift: the third call");
       }});
  const auto found = checked(g, ramp({2, 3}), graph_settings(1));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->setting, graph_settings(1)[1].text);
  EXPECT_EQ(found->symbol, "");
  EXPECT_NE(found->what.find("drift: the third call"), std::string::npos) << found->what;
}

/// The nodes run for seed 5 alone, then for none.
TEST(GraphCheck, InputsForWhichNodesCannotRunAreLeftOut) {
  int calls = 0, wanted = 3;
  const SymbolicGraph g = drifting(
      {.name = "drift", .run = [&](std::span<const Tensor> in, std::span<const Tensor> out) {
         copy(in[0], out[0]);
         if (++calls != wanted) throw Error("drift: not this one");
       }});
  Context context;
  const GraphReference reference = graph_reference(g, "", 3, context);
  EXPECT_EQ(reference.seed, 5U);
  EXPECT_EQ(reference.outputs.size(), 1U);
  ASSERT_EQ(reference.refused.size(), 2U);
  EXPECT_TRUE(reference.refused[1].starts_with("seed 4: ")) << reference.refused[1];
  wanted = 0;
  try {
    graph_reference(g, "", 3, context);
    FAIL() << "no seed has outputs";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("seed 3: ")) << what;
    EXPECT_NE(what.find("9 more seeds"), std::string::npos) << what;
  }
}

TEST(GraphCheck, AGraphThatKeepsItsContractPassesInAllSettings) {
  const SymbolicGraph g = drifting(
      {.name = "drift", .run = [](std::span<const Tensor> in, std::span<const Tensor> out) {
         copy(in[0], out[0]);
       }});
  const std::vector<GraphSetting> settings = graph_settings(3);
  EXPECT_EQ(settings.size(), 3 * 11 + 1 + default_passes().size());
  const auto found = checked(g, ramp({2, 3}), settings);
  EXPECT_FALSE(found.has_value()) << found->what;
}

/// A function that reads a tensor which the graph does not know it reads is right as long as that
/// tensor's memory is not given to another.
TEST(GraphCheck, AReadThatTheGraphDoesNotKnowIsFoundWhereMemoryIsShared) {
  SymbolicGraph g("hidden");
  const AxisList shape = {4, 4};
  const TensorSymbol x = g.input("x", {DType::f32, shape});
  const TensorSymbol h = g.add("neg", {x});
  const TensorSymbol k = g.tensor({DType::f32, shape}, "k"), y = g.tensor({DType::f32, shape}, "y");
  Tensor kept;
  g.call({.name = "keep",
          .run =
              [&kept](std::span<const Tensor> in, std::span<const Tensor> out) {
                kept = in[0];
                copy(in[0], out[0]);
              }},
         std::vector{h}, std::vector{k});
  const TensorSymbol m = g.add("matmul", {k, x});
  g.call({.name = "late",
          .run = [&kept](std::span<const Tensor>,
                         std::span<const Tensor> out) { copy(kept, out[0]); }},
         std::vector{m}, std::vector{y});
  g.set_outputs({y});
  std::vector<GraphSetting> settings = graph_settings(1);
  const auto found = checked(g, ramp(shape), settings);
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(found->setting.find("planned"), std::string::npos) << found->setting;
  EXPECT_EQ(found->symbol, "y");
  EXPECT_NE(found->node.find("late"), std::string::npos) << found->node;

  std::erase_if(settings, [](const GraphSetting& setting) {
    return setting.options.memory != MemoryMode::separate;
  });
  ASSERT_FALSE(settings.empty());
  EXPECT_TRUE(checked(g, ramp(shape), settings).has_value());  // its memory is poisoned at its end
  for (GraphSetting& setting : settings) setting.options.poison = false;
  const auto separate = checked(g, ramp(shape), settings);
  EXPECT_FALSE(separate.has_value()) << separate->what;
}

}  // namespace
}  // namespace mote::tool
