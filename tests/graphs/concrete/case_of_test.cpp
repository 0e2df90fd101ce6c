// SPDX-License-Identifier: Apache-2.0
// Tests branches of the concrete graph: indices, the branch that runs, results of several
// locations.
#include <gtest/gtest.h>

#include <vector>

#include "graphs/concrete/counting.h"
#include "mote/graph/graph.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;
using test::f32;
using test::filled;

/// A branch that fills its one tensor with a value.
GraphBranch filling(GraphTensor outer, double value) {
  Graph graph;
  const GraphTensor y = graph.placeholder(f32({2}));
  graph.fill(y, value);
  return {std::move(graph), {{outer, y}}};
}

TEST(CaseOf, RunsTheBranchOfItsIndexOrNone) {
  Graph g;
  const GraphTensor y = g.tensor(filled({2}, -1), "y");
  std::vector<GraphBranch> branches;
  for (const double value : {10.0, 11.0, 12.0}) branches.push_back(filling(y, value));
  std::int64_t index = 0;
  g.add_case_of(std::move(branches),
                {.function = [&](LoopCounters, std::span<const Tensor>) { return index; }},
                {.name = "which"});
  for (const std::int64_t k : {2, 0, 1}) {
    index = k;
    g.run();
    EXPECT_EQ(g.memory(y).real_at({0}), 10.0 + static_cast<double>(k));
  }
  g.memory(y).set({0}, 7.0);
  index = -3;
  g.run();
  EXPECT_EQ(g.memory(y).real_at({0}), 7);
  index = 3;
  expect_error(MOTE_INVALID,
               "graph: node 0 'which' (case..of): there is no branch 3, it has 3",
               [&] { g.run(); });
}

TEST(CaseOf, ABoolIsAnIndexAndOnlyItsBranchTouchesMemory) {
  Graph g;
  const Tensor flag(DType::boolean, AxisList{});
  const GraphTensor index = g.tensor(flag, "flag");
  const GraphTensor y = g.tensor(filled({2}, -1), "y"), z = g.tensor(filled({2}, -1), "z");
  std::vector<GraphBranch> branches;
  branches.push_back(filling(y, 1));
  branches.push_back(filling(z, 2));
  g.add_case_of(std::move(branches), {.index = index});
  flag.set({}, std::int64_t{1});
  g.run();
  EXPECT_EQ(g.memory(y).real_at({0}), -1);
  EXPECT_EQ(g.memory(z).real_at({0}), 2);
  flag.set({}, std::int64_t{0});
  g.run();
  EXPECT_EQ(g.memory(y).real_at({0}), 1);
}

TEST(CaseOf, AChoiceIsWhereTheBranchWrote) {
  Graph g;
  const GraphTensor x = g.constant(filled({2}, 5), "x");
  const GraphTensor y = g.tensor(filled({2}, -1), "y"), z = g.tensor(filled({2}, -1), "z");
  std::vector<GraphBranch> branches;
  branches.push_back(filling(y, 1));
  branches.push_back(filling(z, 2));
  std::int64_t index = 0;
  const GraphNode which =
      g.add_case_of(std::move(branches),
                    {.function = [&](LoopCounters, std::span<const Tensor>) { return index; }});
  const GraphTensor phi = g.choice({.first = {x, y, z}, .by = which}, "phi");
  const GraphTensor out = g.tensor(Tensor(DType::f32, {2}), "out");
  g.add(Command("add"), {phi, phi}, {out});
  g.find_order();
  const double expected[] = {10, 2, 4};
  for (const std::int64_t k : {-1, 0, 1, 0, -1}) {
    index = k;
    g.run();
    EXPECT_EQ(g.memory(out).real_at({1}), expected[k + 1]);
  }
}

TEST(CaseOf, ChoicesNestThreeDeepInLoops) {
  // In iteration c, branch c % 3 runs; the sum of what it gives, which is in another location each
  // time.
  Graph body;
  std::vector<GraphTensor> locations, inner;
  Graph g;
  std::vector<OuterTensor> links;
  for (int k = 0; k < 3; ++k) {
    locations.push_back(g.tensor(filled({2}, 0)));
    inner.push_back(body.placeholder(f32({2})));
    links.push_back({locations.back(), inner.back()});
  }
  const GraphTensor sum = g.tensor(filled({2}, 0));
  const GraphTensor inner_sum = body.placeholder(f32({2}));
  links.push_back({sum, inner_sum});
  std::vector<GraphBranch> branches;
  for (int k = 0; k < 3; ++k)
    branches.push_back(filling(inner[static_cast<std::size_t>(k)], 1 << (4 * k)));
  const GraphNode which = body.add_case_of(
      std::move(branches),
      {.function = [](LoopCounters c, std::span<const Tensor>) { return c[0] % 3; }});
  const GraphTensor one =
      body.choice({.first = {inner[0], inner[0], inner[1], inner[2]}, .by = which});
  const GraphTensor two = body.choice({.cycle = {one}});
  const GraphTensor three = body.choice({.cycle = {two, one}});
  const GraphNode add = body.add(Command("add"), {inner_sum, three}, {inner_sum});
  body.order(which, add);
  WhileLoop loop{.function = [](LoopCounters c, std::span<const Tensor>) { return c[0] < 7; }};
  g.add_while(std::move(body), loop, links);
  g.run();
  EXPECT_EQ(g.memory(sum).real_at({0}), 3 * 1 + 2 * 16 + 2 * 256);
}

}  // namespace
}  // namespace mote
