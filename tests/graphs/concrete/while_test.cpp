// SPDX-License-Identifier: Apache-2.0
// Tests loops of the concrete graph: where it is asked, what is carried, limits, cancelling, parts,
// streams, nests.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "graphs/concrete/loops.h"
#include "mote/graph/graph.h"
#include "mote/graph/picture.h"
#include "runtime/expect_error.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using test::below;
using test::expect_error;
using test::f32;
using test::filled;
using test::integer;
using test::product_body;

TEST(While, ComputesPowers) {
  for (const std::int64_t n : {0, 1, 2, 5}) {
    Graph g;
    const Tensor x = filled({2}, 3);
    const Tensor y = filled({2}, 1);
    const GraphTensor gx = g.constant(x, "x");
    const GraphTensor gy = g.tensor(y, "y");
    GraphTensor bx, by;
    Graph body = product_body(bx, by);
    g.add_while(std::move(body), below(n), {{gx, bx}, {gy, by}}, {.name = "power"});
    g.run();
    EXPECT_EQ(y.real_at({0}), std::pow(3.0, static_cast<double>(n)));
    EXPECT_EQ(g.statistics().sub_graphs, 1U);
  }
}

TEST(While, EvaluatedNodesRunOnceMoreThanTheRest) {
  Graph g;
  Graph body;
  std::string log;
  const GraphNode first =
      body.call([&](auto, auto) { log += "a" + std::to_string(loop_counters()[0]); }, {}, {});
  const GraphNode second =
      body.call([&](auto, auto) { log += "b" + std::to_string(loop_counters()[0]); }, {}, {});
  const GraphNode third =
      body.call([&](auto, auto) { log += "c" + std::to_string(loop_counters()[0]); }, {}, {});
  body.order(first, second);
  body.order(second, third);
  WhileLoop loop = below(2);
  loop.evaluated = {second};
  g.add_while(std::move(body), loop, {});
  g.run();
  EXPECT_EQ(log, "a0b0c0a1b1c1a2b2");
  log.clear();
  g.run();
  EXPECT_EQ(log, "a0b0c0a1b1c1a2b2");
  EXPECT_TRUE(loop_counters().empty());
}

/// With the first node evaluated the rest runs n times, with the last one all nodes n + 1 times.
TEST(While, TheFirstNodeOrTheLastMayBeEvaluated) {
  for (const bool is_last : {false, true})
    for (const std::int64_t n : {0, 1, 2}) {
      std::array<std::int64_t, 3> counts{};
      Graph body;
      std::vector<GraphNode> nodes;
      for (std::int64_t& count : counts) {
        nodes.push_back(body.call([&count](auto, auto) { ++count; }, {}, {}));
        if (nodes.size() > 1) body.order(nodes[nodes.size() - 2], nodes.back());
      }
      WhileLoop loop = below(n);
      loop.evaluated = {is_last ? nodes.back() : nodes.front()};
      Graph g;
      g.add_while(std::move(body), loop, {});
      g.run();
      const std::int64_t rest = is_last ? n + 1 : n;
      EXPECT_EQ(counts, (std::array<std::int64_t, 3>{n + 1, rest, rest})) << is_last << " " << n;
    }
}

TEST(While, ATensorIsTheCondition) {
  for (const DType dtype : {DType::boolean, DType::i64, DType::i32, DType::u8}) {
    Graph g;
    const Tensor counter = integer(0);
    const Tensor flag(dtype, AxisList{});
    const GraphTensor gy = g.tensor(filled({2}, 1), "y");
    const GraphTensor gx = g.constant(filled({2}, 2), "x");
    GraphTensor bx, by;
    Graph body = product_body(bx, by);
    const GraphTensor count = body.tensor(counter, "count");
    const GraphTensor go = body.tensor(flag, "go");
    body.call(
        [](std::span<const Tensor> reads, std::span<const Tensor> writes) {
          writes[0].set({}, std::int64_t{reads[0].integer_at({}) < 4 ? 1 : 0});
        },
        {count}, {go});
    body.find_order();
    g.add_while(std::move(body), {.condition = go, .counter = count}, {{gx, bx}, {gy, by}});
    g.run();
    EXPECT_EQ(g.memory(gy).real_at({1}), 16) << name(dtype);
  }
}

TEST(While, FourDeepWithAllCountersSeen) {
  // while in while in case..of in while
  std::vector<std::vector<std::int64_t>> seen;
  Graph innermost;
  innermost.call(
      [&](auto, auto) { seen.emplace_back(loop_counters().begin(), loop_counters().end()); }, {},
      {});
  Graph third;
  third.add_while(std::move(innermost), below(2), {});
  Graph branch = std::move(third);
  Graph second;
  std::vector<GraphBranch> branches;
  branches.push_back({std::move(branch)});
  second.add_case_of(std::move(branches), {.function = [](LoopCounters c, std::span<const Tensor>) {
                       return c[1] == 1 ? std::int64_t{0} : std::int64_t{-1};
                     }});
  Graph first;
  first.add_while(std::move(second), below(3), {});
  Graph g;
  g.add_while(std::move(first), below(2), {});
  g.run();
  const std::vector<std::vector<std::int64_t>> expected = {
      {0, 1, 0}, {0, 1, 1}, {1, 1, 0}, {1, 1, 1}};
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(g.statistics().sub_graphs, 4U);
}

TEST(While, NestsAsDeepAsMemoryAllows) {
  constexpr int kDepth = 20'000;
  std::size_t depth_seen = 0;
  Graph g;
  g.call([&](auto, auto) { depth_seen = loop_counters().size(); }, {}, {});
  for (int k = 0; k < kDepth; ++k) {
    Graph around;
    around.add_while(std::move(g), below(1), {});
    g = std::move(around);
  }
  g.run();
  EXPECT_EQ(depth_seen, static_cast<std::size_t>(kDepth));
  Graph copy = g;
  depth_seen = 0;
  copy.run();
  EXPECT_EQ(depth_seen, static_cast<std::size_t>(kDepth));
  EXPECT_GT(to_dot(copy).size(), static_cast<std::size_t>(kDepth));
}

TEST(While, CarriesByRotatingMemoryWithoutACopy) {
  // x[c + 1] = 2 x[c] where input and output must not share memory: two regions in turn
  for (const std::int64_t n : {0, 1, 2, 3, 4, 7}) {
    Graph g;
    const Tensor x0 = filled({3}, 1);
    const GraphTensor init = g.constant(x0, "x0");
    const GraphTensor a = g.tensor(Tensor(DType::f32, {3}), "a");
    const GraphTensor b = g.tensor(Tensor(DType::f32, {3}), "b");
    Graph body;
    const GraphTensor inner_init = body.placeholder(f32({3}), "x0");
    const GraphTensor inner_a = body.placeholder(f32({3}), "a");
    const GraphTensor inner_b = body.placeholder(f32({3}), "b");
    const GraphTensor x = body.choice({.first = {inner_init}, .cycle = {inner_a, inner_b}}, "x");
    const GraphTensor y = body.choice({.cycle = {inner_a, inner_b}}, "y");
    std::vector<std::pair<const void*, const void*>> locations;
    body.add(Command("add"), {x, x}, {y});
    body.call(
        [&](std::span<const Tensor> reads, std::span<const Tensor>) {
          locations.emplace_back(reads[0].data(), reads[1].data());
        },
        {x, y}, {});
    body.find_order();
    const GraphNode loop =
        g.add_while(std::move(body), below(n), {{init, inner_init}, {a, inner_a}, {b, inner_b}});
    const GraphTensor result = g.choice({.first = {init}, .cycle = {a, b}, .by = loop}, "result");
    const GraphTensor out = g.tensor(Tensor(DType::f32, {3}), "out");
    g.add(Command("add"), {result, result}, {out});
    g.find_order();
    for (int run = 0; run < 2; ++run) {
      locations.clear();
      g.run();
      EXPECT_EQ(g.memory(out).real_at({2}), std::pow(2.0, static_cast<double>(n + 1)));
      EXPECT_EQ(locations.size(), static_cast<std::size_t>(n));
      const void* at[] = {g.memory(a).data(), g.memory(b).data()};
      for (std::size_t c = 0; c < locations.size(); ++c) {
        EXPECT_EQ(locations[c].first, c == 0 ? x0.data() : at[(c - 1) % 2]);
        EXPECT_EQ(locations[c].second, at[c % 2]);
      }
      EXPECT_EQ(g.memory(result).data(), n == 0 ? x0.data() : at[(n - 1) % 2]);
    }
  }
}

TEST(While, RunsWithOtherMemoryAfterBind) {
  Graph g;
  const GraphTensor x = g.placeholder(f32({2}), "x");
  const GraphTensor y = g.placeholder(f32({2}), "y");
  GraphTensor bx, by;
  Graph body = product_body(bx, by);
  Graph outer;
  const GraphTensor ox = outer.placeholder(f32({2})), oy = outer.placeholder(f32({2}));
  outer.add_while(std::move(body), below(2), {{ox, bx}, {oy, by}});
  g.add_while(std::move(outer), below(2), {{x, ox}, {y, oy}});
  g.prepare();
  expect_error(MOTE_INVALID, "needs the placeholder", [&] { g.run(); });
  for (double base : {2.0, 3.0}) {
    const Tensor result = filled({2}, 1);
    g.bind(x, filled({2}, base));
    g.bind(y, result);
    g.run();
    EXPECT_EQ(result.real_at({0}), std::pow(base, 4));
  }
}

/// Once each iteration has run, flag 0 is 0 or flag 1 is 1: the inner branch says which one counts.
TEST(While, ABranchOfTheBodyChoosesTheCondition) {
  Graph g;
  Graph body, none, some;
  const Tensor counter = integer(0);
  const GraphTensor count = body.tensor(counter, "count");
  const GraphTensor stop = body.constant(integer(0)), go = body.constant(integer(1));
  std::string log;
  none.call([&](auto, auto) { log += "n"; }, {}, {});
  some.call([&](auto, auto) { log += "s"; }, {}, {});
  std::vector<GraphBranch> branches;
  branches.push_back({.graph = std::move(none)});
  branches.push_back({.graph = std::move(some)});
  const GraphNode which =
      body.add_case_of(std::move(branches), {.function =
                                                 [](LoopCounters, std::span<const Tensor> reads) {
                                                   return reads[0].integer_at({}) < 3 ? 1 : 0;
                                                 },
                                             .reads = {count}});
  const GraphTensor chosen = body.choice({.first = {stop, stop, go}, .by = which}, "chosen");
  const GraphTensor again = body.choice({.cycle = {chosen}}, "again");
  body.call([&](auto, auto) { log += "b"; }, {}, {});
  g.add_while(std::move(body), {.condition = again, .counter = count, .limit = 9}, {});
  for (int run = 0; run < 2; ++run) {
    log.clear();
    g.run();
    EXPECT_EQ(log, "sbsbsbn");
  }
}

}  // namespace
}  // namespace mote
