// SPDX-License-Identifier: Apache-2.0
// A plug-in's ops in planned memory and in checkpoints: every setting gives the bits of the nodes
// run one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "graphs/compile/numbered.h"
#include "graphs/plugin/exact_library.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

using test::bits;
using test::exact_context;

constexpr std::int64_t kWidth = 96;

/// A chain of n layers h = cube(h) / 4 + x and the gradient of what fold_pairs makes of its end.
struct Layers {
  SymbolicGraph g{"layers"};
  TensorSymbol x;
  TensorSymbol y;
  TensorSymbol gx;

  explicit Layers(int n) {
    exact_context();
    x = g.input("x", {DType::f32, {2, kWidth}});
    const TensorSymbol seed = g.input("seed", {DType::f32, {2, kWidth / 2}});
    const Tensor quarter(DType::f32, AxisList{});
    fill(quarter, 0.25);
    const TensorSymbol scale = g.constant("quarter", quarter);
    TensorSymbol h = x;
    for (int k = 0; k < n; ++k) h = g.add("add", {g.add("mul", {g.add("cube", {h}), scale}), x});
    y = g.add("fold_pairs weight=0.5", {h});
    gx = gradient(g, {y}, {x}, {seed}).front();
    g.set_outputs({gx});
  }

  std::vector<TensorBinding> bindings() const {
    std::vector<TensorBinding> all;
    for (std::uint32_t k = 0; k < g.symbol_count(); ++k)
      if (g.symbols()[k].kind == SymbolOrigin::input)
        all.emplace_back(g.at(k), test::numbered(g, g.at(k), k));
    return all;
  }
  std::vector<std::byte> expected() const {
    const auto all = bindings();
    return bits(evaluate(g, all, std::vector{gx}, {.context = &exact_context()}).front());
  }
  /// Returns how many nodes of the op are computed again.
  std::size_t copies_of(std::string_view op) const {
    return static_cast<std::size_t>(std::ranges::count_if(g.nodes(), [&](const NodeInfo& node) {
      return !node.removed && node.recomputed != 0 && node.command != nullptr &&
             node.command->definition().name == op;
    }));
  }
};

std::size_t planned_bytes(const SymbolicGraph& g) {
  return compile(g, {}, exact_context()).report().arena_bytes;
}

TEST(PluginMemory, EverySettingGivesTheBitsOfTheNodesOneByOne) {
  Layers layers(6);
  const std::vector<std::byte> expected = layers.expected();
  ASSERT_TRUE(std::ranges::any_of(expected, [](std::byte b) { return b != std::byte{0}; }));
  for (const int streams : {1, 3})
    for (const bool in_place : {true, false})
      for (const MemoryMode memory : {MemoryMode::planned, MemoryMode::separate}) {
        Executable run = compile(
            layers.g, {.streams = streams, .in_place = in_place, .memory = memory, .poison = true},
            exact_context());
        run.run(layers.bindings());
        EXPECT_EQ(bits(run.output(layers.gx)), expected);
        EXPECT_EQ(run.report().in_place_pairs > 0, in_place && memory == MemoryMode::planned);
      }
}

TEST(PluginMemory, PairsThatTheOpPromisesAreTaken) {
  exact_context();
  SymbolicGraph g("chain");
  const TensorSymbol x = g.input("x", {DType::f32, {kWidth}});
  TensorSymbol h = x;
  for (int k = 0; k < 4; ++k) h = g.add("cube", {h});
  g.set_outputs({g.add("fold_pairs", {g.reshape(h, {1, kWidth})})});
  const auto values_of = [&](bool in_place) {
    const Executable run = compile(g, {.in_place = in_place}, exact_context());
    return run.report().arena_bytes / (kWidth / 2 * sizeof(float));
  };
  // In place there are the result and one tensor of twice its size, else two of these.
  EXPECT_EQ(values_of(true), 3U);
  EXPECT_EQ(values_of(false), 4U);
}

TEST(PluginCheckpoint, TheBitsStayTheSame) {
  const std::vector<std::byte> expected = Layers(30).expected();
  const std::size_t before = planned_bytes(Layers(30).g);
  const CheckpointOptions all[] = {
      {.policy = CheckpointPolicy::square_root},
      {.policy = CheckpointPolicy::binomial, .slots = 3},
      {.policy = CheckpointPolicy::budget, .budget = before / 2},
  };
  for (const CheckpointOptions& options : all) {
    Layers layers(30);
    const CheckpointReport report = checkpoint(layers.g, std::vector{layers.y}, options);
    verify(layers.g);
    EXPECT_GT(layers.copies_of("cube"), 0U) << report.text;
    EXPECT_LT(planned_bytes(layers.g), before) << report.text;
    for (const int streams : {1, 2}) {
      Executable run = compile(layers.g, {.streams = streams, .poison = true}, exact_context());
      run.run(layers.bindings());
      EXPECT_EQ(bits(run.output(layers.gx)), expected) << report.text;
    }
  }
}

TEST(PluginCheckpoint, CheapMeansElementWiseAlsoForAPluginsOp) {
  exact_context();
  SymbolicGraph g("cheap");
  const TensorSymbol x = g.input("x", {DType::f32, {4, 64}});
  // The way back reads each cube and its square; fold_pairs is not element-wise.
  TensorSymbol y = x;
  for (int k = 0; k < 4; ++k) {
    const TensorSymbol cubed = g.add("cube", {g.add("fold_pairs", {y})});
    y = g.add("concat axis=1", {g.add("mul", {cubed, cubed}), cubed});
  }
  g.set_outputs({gradient(g, {y}, {x}).front()});
  const CheckpointReport report =
      checkpoint(g, std::vector{y}, {.policy = CheckpointPolicy::cheap});
  std::set<std::string> again;
  for (const NodeInfo& node : g.nodes())
    if (!node.removed && node.recomputed != 0) again.insert(node.command->definition().name);
  EXPECT_EQ(again, std::set<std::string>({"cube"})) << report.text;
}

}  // namespace
}  // namespace mote
