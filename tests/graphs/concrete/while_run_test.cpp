// SPDX-License-Identifier: Apache-2.0
// Tests how loops of the concrete graph run: limits, cancelling, errors, parts, streams, the heap,
// pictures.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <set>
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
using test::counting;
using test::expect_error;
using test::f32;
using test::filled;
using test::integer;
using test::product_body;

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

/// What functions keep for a run goes when that ends, also in a graph without loops.
TEST(While, EachRunHasAnOwnerAndEnds) {
  std::vector<std::uint64_t> owners, around, ended;
  const auto note = [&](auto, auto) {
    owners.push_back(loop_owner());
    around.push_back(loop_owner_around());
    at_end_of(loop_owner(), [&ended, owner = loop_owner()] { ended.push_back(owner); });
  };
  Graph inner;
  inner.call(note, {}, {});
  Graph outer;
  outer.call(note, {}, {});
  outer.call([&](auto, auto) { inner.run(); }, {}, {});
  for (int k = 0; k < 2; ++k) outer.run();
  ASSERT_EQ(owners.size(), 4U);
  EXPECT_EQ(around, (std::vector<std::uint64_t>{0, owners[0], 0, owners[2]}));
  EXPECT_EQ(ended, (std::vector<std::uint64_t>{owners[1], owners[0], owners[3], owners[2]}));
  EXPECT_EQ(std::set(owners.begin(), owners.end()).size(), 4U);
  EXPECT_EQ(loop_owner(), 0U);
}

TEST(While, FunctionsOnSeveralStreamsHaveTheRunsOwner) {
  std::array<std::vector<std::uint64_t>, 2> owners;
  Graph graph;
  for (std::vector<std::uint64_t>& list : owners)
    graph.call([&list](auto, auto) { list.push_back(loop_owner()); }, {}, {});
  Context context;
  graph.prepare({.context = &context, .streams = 2});
  for (int k = 0; k < 2; ++k) graph.run();
  EXPECT_EQ(owners[0], owners[1]);
  EXPECT_NE(owners[0][0], owners[0][1]);
  EXPECT_NE(owners[0][0], 0U);
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

/// The condition sees what this iteration has evaluated, whichever stream computed it, and late; a
/// stream goes on after a condition that throws.
TEST(While, AConditionSeesItsIterationOnSeveralStreams) {
  for (const int streams : {1, 2, 4}) {
    Context context({.workers = 4});
    Graph g;
    Graph body;
    std::vector<GraphNode> evaluated;
    std::vector<GraphTensor> seen;
    for (int k = 0; k < 4; ++k) {
      seen.push_back(body.tensor(integer(-1)));
      evaluated.push_back(body.call(
          [k](auto, std::span<const Tensor> writes) {
            std::this_thread::sleep_for(std::chrono::microseconds(50 * k));
            writes[0].set({}, 10 * loop_counters()[0] + k);
          },
          {}, {seen.back()}));
    }
    std::atomic<int> rest{0};
    const GraphNode last = body.call([&rest](auto, auto) { ++rest; }, {seen[3]}, {});
    body.order(evaluated[3], last);
    bool fails = true, is_right = true;
    WhileLoop loop{.function =
                       [&](LoopCounters counters, std::span<const Tensor> reads) {
                         for (std::int64_t k = 0; k < 4; ++k)
                           is_right = is_right && reads[static_cast<std::size_t>(k)].integer_at(
                                                      {}) == 10 * counters[0] + k;
                         if (fails && counters[0] == 3) throw std::runtime_error("undecided");
                         return counters[0] < 7;
                       },
                   .reads = seen,
                   .evaluated = evaluated};
    g.add_while(std::move(body), loop, {}, {.name = "asks"});
    g.prepare({.context = &context, .streams = streams});
    Stream stream(context);
    g.run(stream);
    expect_error(MOTE_FAILED, "'asks' (while), iteration 3: undecided",
                 [&] { stream.synchronize(); });
    fails = false;
    for (int run = 0; run < 5; ++run) {
      rest = 0;
      g.run(stream);
      stream.synchronize();
      EXPECT_EQ(rest, 7);
    }
    EXPECT_TRUE(is_right) << streams;
  }
}

}  // namespace
}  // namespace mote
