// SPDX-License-Identifier: Apache-2.0
// Numbers that the caller gives: orders, kinds, positions. Wrong ones are refused.
#include <gtest/gtest.h>

#include <limits>

#include "graphs/symbolic/error_of.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/in_place.h"
#include "mote/symbolic/order.h"
#include "mote/symbolic/sequence.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::error_of;
using Numbers = std::vector<std::uint32_t>;

void expect_refused(const std::string& what, const std::function<void()>& call) {
  const std::string error = error_of(call);
  EXPECT_NE(error.find(what), std::string::npos) << "got: " << error;
}

struct Chain {
  SymbolicGraph g{"chain"};
  TensorSymbol x = g.input("x", {DType::f32, {4}});
  TensorSymbol y = g.add("relu", {x});
  TensorSymbol z = g.add("exp", {y});
  Context context;

  Chain() { g.set_outputs({z}); }
};

TEST(Numbers, AnOrderHasEachNodeOnce) {
  Chain c;
  const std::vector<std::pair<Numbers, std::string>> wrong = {
      {{0, 1, 7}, "node 7 is not there, the graph has 2"},
      {{5, 6}, "node 5 is not there, the graph has 2"},
      {{0, 0}, "node 0 'y0' (relu) is there twice"},
      {{0}, "expected all 2 nodes, got 1"},
      {{}, "expected all 2 nodes, got 0"}};
  c.g.rename(c.y, "y0");
  for (const auto& [order, what] : wrong) {
    expect_refused("peak_bytes: the order is none of chain: " + what,
                   [&] { peak_bytes(c.g, order); });
    expect_refused("in_place_pairs: the order is none of chain: " + what,
                   [&] { in_place_pairs(c.g, order); });
  }
  c.g.set_outputs({c.y});
  c.g.remove(c.g.producer(c.z));
  expect_refused("node 1 was removed", [&] { peak_bytes(c.g, Numbers{0, 1}); });
  EXPECT_EQ(peak_bytes(c.g, Numbers{0}), 16U);
}

TEST(Numbers, PredecessorsAreThoseOfTheGraph) {
  Chain c;
  expect_refused("topological_order: expected the predecessors of 2 nodes, got 0",
                 [&] { topological_order(c.g, IndexLists()); });
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> beyond = {{1, 9}};
  expect_refused("topological_order: node 9 is not there",
                 [&] { topological_order(c.g, IndexLists(2, beyond)); });
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> lists = {{2, 0}};
  expect_refused("there is no list 2 of 2", [&] { IndexLists(2, lists); });
}

TEST(Numbers, KindsAreThoseThatThereAre) {
  Chain c;
  const auto compiled = [&](const CompileOptions& options) { compile(c.g, options, c.context); };
  expect_refused("evaluation order 99 is none",
                 [&] { evaluation_order(c.g, static_cast<EvaluationOrder>(99)); });
  expect_refused("evaluation order 99 is none",
                 [&] { compiled({.order = static_cast<EvaluationOrder>(99)}); });
  expect_refused("compile: memory mode 99 is none",
                 [&] { compiled({.memory = static_cast<MemoryMode>(99)}); });
  expect_refused("checkpoint: policy 99 is none", [&] {
    checkpoint(c.g, std::vector{c.z}, {.policy = static_cast<CheckpointPolicy>(99)});
  });
  const TensorSymbol s = c.g.input("s", {DType::f32, {2, 3, 4}});
  expect_refused("expected a cell of 0 to 2, got 99",
                 [&] { sequence(c.g, static_cast<Cell>(99), s, {{}}); });
  expect_refused("expected a direction of 0 to 2, got 99", [&] {
    sequence(c.g, Cell::rnn, s, {{}}, {.direction = static_cast<Direction>(99)});
  });
  EXPECT_THROW(compiled({.plan = {.planner = static_cast<MemoryPlanner>(99)}}), Error);
  EXPECT_THROW(compiled({.plan = {.effort = static_cast<MemoryEffort>(99)}}), Error);
}

TEST(Numbers, AnInputHasOneLargestForm) {
  Chain c;
  const TensorForm few(DType::f32, {8}), more(DType::f32, {9});
  expect_refused("compile: x has two largest forms: f32[8] and f32[9]", [&] {
    compile(c.g, {.largest = {{c.x, few}, {c.x, more}}}, c.context);
  });
  SymbolicGraph later("later");
  const TensorSymbol x = later.input("x", DType::f32);
  later.set_outputs({later.add("exp", {x})});
  expect_refused("compile: x has two largest forms: f32[8] and f32[9]", [&] {
    compile(later, {.largest = {{x, few}, {x, more}}}, c.context);
  });
}

TEST(Numbers, GraphsOfALoopAreCounted) {
  SymbolicGraph g = parse_graph(
      "graph g(x f32[2], n i64[]) -> (y)\n"
      "  y = while (x, n) {\n"
      "    graph body(x f32[2], n i64[]) -> (x, n)\n"
      "  }\n");
  const NodeSymbol loop = g.producer(g.outputs()[0]);
  const NodeInfo node = g.info(loop);
  expect_refused("it has 1 graphs, asked for 3", [&] { input_count(*node.control, 3); });
  expect_refused("it has 1 graphs, asked for 3", [&] { first_input(node, 3); });
  expect_refused("it has no graphs", [&] { result_count(ControlInfo{}); });
  expect_refused("is no loop and no case..of", [&] { first_input(NodeInfo{}, 0); });
  expect_refused("has no graphs", [&] { g.set_control(loop, nullptr); });
  expect_refused("has no graphs",
                 [&] { g.grow_control(loop, nullptr, std::vector<TensorSymbol>{}); });
  expect_refused("value 5 of", [&] { g.shrink_control(loop, node.control, std::vector{5UL}); });
  const NodeSymbol copied = g.copy(g.find("x"), g.tensor({DType::f32, {2}}));
  expect_refused("is no loop and no case..of", [&] { g.set_control(copied, node.control); });
  expect_refused("is no loop and no case..of", [&] {
    g.grow_control(copied, node.control, std::vector{g.find("x"), g.find("n")});
  });
  const SymbolicGraph other = parse_graph(
      "graph h(x f32[2], n i64[]) -> (y, k)\n"
      "  y, k = while (x, n) {\n"
      "    graph body(x f32[2], n i64[]) -> (x, n, n)\n"
      "  }\n");
  const auto two = other.info(other.producer(other.outputs()[0])).control;
  expect_refused("expected 1 values, got 2", [&] { g.set_control(loop, two); });
  CaseBranch none{SymbolicGraph("none"), {}};
  none.graph = nullptr;
  expect_refused("branch 0 has no graph", [&] { g.add_case_of(g.find("n"), {none}); });
}

TEST(Numbers, StepsOfAnyNumberOfSlotsEnd) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(binomial_steps(3, kMost), binomial_steps(3, 3));
  EXPECT_EQ(binomial_steps(10, 10), 19U);
  EXPECT_EQ(binomial_steps(10, kMost - 1), 19U);
  EXPECT_EQ(binomial_steps(std::uint64_t{1} << 40, kMost), (std::uint64_t{1} << 41) - 1);
  EXPECT_EQ(binomial_steps(kMost, kMost), kMost);  // as many as a number holds
  EXPECT_EQ(binomial_steps(4, 0), 10U);            // 4 + 3 + 2 + 1
}

}  // namespace
}  // namespace mote
