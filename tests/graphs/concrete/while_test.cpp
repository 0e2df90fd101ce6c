// SPDX-License-Identifier: Apache-2.0
// Tests loops of the concrete graph: where it is asked, what is carried, limits, cancelling, parts,
// streams, nests.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "graphs/concrete/counting.h"
#include "mote/graph/graph.h"
#include "mote/graph/picture.h"
#include "runtime/expect_error.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using test::counting;
using test::expect_error;
using test::f32;
using test::filled;
using test::same_bits;

Tensor integer(std::int64_t value) {
  Tensor x(DType::i64, AxisList{});
  x.set({}, value);
  return x;
}

/// A loop that goes on while its counter is below n.
WhileLoop below(std::int64_t n) {
  return {.function = [n](LoopCounters counters, std::span<const Tensor>) {
    return counters.back() < n;
  }};
}

/// y becomes y * x in each iteration.
Graph product_body(GraphTensor& x, GraphTensor& y) {
  Graph body;
  x = body.placeholder(f32({2}), "x");
  y = body.placeholder(f32({2}), "y");
  body.add(Command("mul"), {y, x}, {y}, {.name = "product"});
  return body;
}

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

TEST(While, ALimitIsAnErrorWithNodeAndCount) {
  Graph g;
  Graph body;
  WhileLoop loop{.function = [](LoopCounters, std::span<const Tensor>) { return true; },
                 .limit = 1000};
  g.add_while(std::move(body), loop, {}, {.name = "forever"});
  expect_error(MOTE_FAILED,
               "graph: node 0 'forever' (while), iteration 1000: its condition holds after 1000 "
               "iterations, and its limit is 1000",
               [&] { g.run(); });
}

TEST(While, AnotherThreadEndsALoopWithoutEnd) {
  for (const bool is_empty : {true, false}) {
    Graph g;
    Graph body;
    std::atomic<std::int64_t> iterations{0};
    if (!is_empty) body.call([](auto, auto) {}, {}, {});
    WhileLoop loop{.function = [&](LoopCounters counters, std::span<const Tensor>) {
      iterations = counters[0];
      return true;
    }};
    g.add_while(std::move(body), loop, {}, {.name = "forever"});
    std::thread stopper([&] {
      while (iterations < 1000) std::this_thread::yield();
      g.cancel();
    });
    try {
      g.run();
      ADD_FAILURE() << "it ended by itself";
    } catch (const StatusError& e) {
      EXPECT_NE(std::string(e.what()).find("node 0 'forever' (while), iteration "),
                std::string::npos)
          << e.what();
      EXPECT_NE(std::string(e.what()).find("cancelled"), std::string::npos) << e.what();
    }
    stopper.join();
  }
}

TEST(While, AnErrorNamesTheLoopsAndTheGraphRunsAgain) {
  Graph g;
  bool fails = true;
  Graph inner;
  inner.call(
      [&](auto, auto) {
        if (fails && loop_counters()[0] == 1 && loop_counters()[1] == 2)
          throw std::runtime_error("no more");
      },
      {}, {}, {.name = "work"});
  Graph body;
  body.add_while(std::move(inner), below(4), {}, {.name = "inner"});
  g.add_while(std::move(body), below(2), {}, {.name = "outer"});
  expect_error(MOTE_FAILED,
               "graph: node 0 'outer' (while), iteration 1: node 0 'inner' (while), iteration 2: "
               "node 0 'work' (function): no more",
               [&] { g.run(); });
  fails = false;
  g.run();
}

TEST(While, AConditionThatThrowsNamesTheLoop) {
  Graph g;
  bool fails = true;
  WhileLoop loop{.function = [&](LoopCounters counters, std::span<const Tensor>) {
    if (fails && counters[0] == 3) throw std::runtime_error("undecided");
    return counters[0] < 5;
  }};
  g.add_while(Graph(), loop, {}, {.name = "asks"});
  expect_error(MOTE_FAILED, "graph: node 0 'asks' (while), iteration 3: undecided",
               [&] { g.run(); });
  fails = false;
  g.run();
}

TEST(While, APartRunsWithItsLoops) {
  Graph g;
  std::string log;
  const auto say = [&](const std::string& what) {
    return [&log, what](auto, auto) { log += what; };
  };
  Graph body;
  body.call(say("b"), {}, {});
  const GraphNode before = g.call(say("a"), {}, {});
  const GraphNode loop = g.add_while(std::move(body), below(2), {});
  const GraphNode after = g.call(say("c"), {}, {});
  g.order(before, loop);
  g.order(loop, after);
  g.run(g.part({loop}, {loop}));
  EXPECT_EQ(log, "bb");
  log.clear();
  g.run(g.part({loop}, {}));
  EXPECT_EQ(log, "bbc");
  log.clear();
  g.run();
  EXPECT_EQ(log, "abbc");
}

TEST(While, StreamsGiveTheSameBits) {
  for (const int streams : {1, 2, 4}) {
    Context context({.workers = 4});
    Graph g;
    const GraphTensor x = g.constant(counting({64}, 1), "x");
    std::vector<GraphTensor> sums;
    Graph body;
    const GraphTensor bx = body.placeholder(f32({64}));
    std::vector<OuterTensor> links = {{x, bx}};
    for (int k = 0; k < 4; ++k) {
      sums.push_back(g.tensor(filled({64}, k), "sum"));
      const GraphTensor sum = body.placeholder(f32({64}));
      links.push_back({sums.back(), sum});
      body.add(Command("add"), {sum, bx}, {sum});
      body.add(Command("mul"), {sum, bx}, {sum});
    }
    body.find_order();
    g.add_while(std::move(body), below(3), links);
    const GraphTensor other = g.tensor(Tensor(DType::f32, {64}));
    g.add(Command("add"), {x, x}, {other});
    const GraphTensor total = g.tensor(Tensor(DType::f32, {64}));
    g.add(Command("add"), {sums[3], other}, {total});
    g.find_order();
    g.prepare({.context = &context, .streams = streams});
    g.run();
    for (std::int64_t i = 0; i < 64; ++i) {
      const auto value = static_cast<float>(i + 1);
      float expected = 3;
      for (int c = 0; c < 3; ++c) expected = (expected + value) * value;
      EXPECT_EQ(static_cast<float>(g.memory(total).real_at({i})), expected + (value + value));
    }
    Stream stream(context);
    const Tensor before = g.memory(total);
    g.run(stream);  // the sums go on from where they are
    stream.synchronize();
    EXPECT_GT(g.memory(total).real_at({63}), 0);
  }
}

TEST(While, AnIterationTakesNothingFromTheHeap) {
  Graph g;
  const GraphTensor a = g.tensor(filled({3}, 1)), b = g.tensor(filled({3}, 1));
  Graph body;
  const GraphTensor ia = body.placeholder(f32({3})), ib = body.placeholder(f32({3}));
  const GraphTensor x = body.choice({.cycle = {ia, ib}}), y = body.choice({.cycle = {ib, ia}});
  body.add(Command("add"), {x, x}, {y});
  const Tensor counter = integer(0);
  const GraphTensor count = body.tensor(counter);
  WhileLoop loop{.function =
                     [](LoopCounters, std::span<const Tensor> reads) {
                       return *static_cast<const std::int64_t*>(reads[0].data()) < 1000;
                     },
                 .reads = {count},
                 .counter = count};
  const GraphNode node = g.add_while(std::move(body), loop, {{a, ia}, {b, ib}});
  g.choice({.cycle = {a, b}, .by = node});
  g.run();
  const int before = test::heap_allocations();
  g.run();
  EXPECT_EQ(test::heap_allocations(), before);
}

TEST(While, AutotuneMeasuresItsNodesOnCopies) {
  Context context;
  Graph g;
  const Tensor x = filled({2}, 3), y = filled({2}, 1);
  const GraphTensor gx = g.constant(x), gy = g.tensor(y);
  GraphTensor bx, by;
  Graph body = product_body(bx, by);
  g.add_while(std::move(body), below(2), {{gx, bx}, {gy, by}});
  g.prepare({.context = &context});
  EXPECT_EQ(g.autotune({}), 1U);
  EXPECT_EQ(y.real_at({0}), 1);
  g.run();
  EXPECT_EQ(y.real_at({0}), 9);
}

TEST(While, PicturesAndTracesShowTheBody) {
  Graph g;
  const GraphTensor gx = g.constant(filled({2}, 3)), gy = g.tensor(filled({2}, 1));
  GraphTensor bx, by;
  Graph body = product_body(bx, by);
  g.add_while(std::move(body), below(2), {{gx, bx}, {gy, by}}, {.name = "power"});
  const std::string dot = to_dot(g);
  EXPECT_NE(dot.find("body of node 0 'power' (while)"), std::string::npos) << dot;
  EXPECT_NE(dot.find("s1n0 [label=\"0 'product' mul"), std::string::npos) << dot;
  GraphTrace trace;
  g.trace_to(&trace);
  g.run();
  ASSERT_EQ(trace.runs.size(), 1U);
  EXPECT_EQ(trace.runs[0].inner.size(), 2U);
  EXPECT_EQ(trace.runs[0].inner[1].counters, std::vector<std::int64_t>{1});
  EXPECT_GE(trace.runs[0].spans[0].end, trace.runs[0].inner[1].span.end);
  EXPECT_NE(to_trace_json(g, trace).find("\"iteration\": [1]"), std::string::npos);
}

TEST(While, FindOrderSeesWhatABodyUses) {
  Graph g;
  const Tensor shared = filled({2}, 1);
  Graph body;
  const GraphTensor y = body.tensor(shared), x = body.constant(filled({2}, 2));
  body.add(Command("mul"), {y, x}, {y});
  const GraphTensor outside = g.tensor(shared);
  const GraphNode first = g.fill(outside, 5);
  const GraphNode loop = g.add_while(std::move(body), below(3), {});
  g.find_order();
  EXPECT_EQ(g.nodes(g.part({first}, {loop})).size(), 2U);
  g.run();
  EXPECT_EQ(shared.real_at({0}), 40);
}

TEST(While, MistakesAreErrorsInWords) {
  Graph g;
  const GraphTensor x = g.tensor(filled({2}, 1), "x");
  const GraphTensor c = g.constant(filled({2}, 1), "c");
  expect_error(MOTE_INVALID, "a condition or a function, got neither",
               [&] { g.add_while(Graph(), {}, {}); });
  {
    Graph body;
    const GraphTensor y = body.tensor(filled({2}, 1), "y");
    expect_error(MOTE_INVALID, "must be a bool or an integer of one element, got 'y' f32[2]",
                 [&] { g.add_while(std::move(body), {.condition = y}, {}); });
  }
  {
    Graph body;
    body.placeholder(f32({2}), "y");
    expect_error(MOTE_INVALID, "stands for no tensor",
                 [&] { g.add_while(std::move(body), below(1), {}); });
  }
  {
    Graph body;
    const GraphTensor y = body.placeholder(f32({3}), "y");
    expect_error(MOTE_INVALID, "another form", [&] {
      g.add_while(std::move(body), below(1), {{x, y}});
    });
  }
  {
    Graph body;
    const GraphTensor y = body.placeholder(f32({2}), "y");
    body.fill(y, 1);
    expect_error(MOTE_INVALID, "writes the constant", [&] {
      g.add_while(std::move(body), below(1), {{c, y}});
    });
  }
  {
    Graph body;
    const GraphTensor y = body.tensor(filled({2}, 1), "y");
    expect_error(MOTE_INVALID, "no placeholder", [&] {
      g.add_while(std::move(body), below(1), {{x, y}});
    });
  }
  EXPECT_EQ(g.nodes().size(), 0U);
}

}  // namespace
}  // namespace mote
