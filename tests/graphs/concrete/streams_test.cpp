// SPDX-License-Identifier: Apache-2.0
// Tests runs on several streams: equal bits for any number of them and any order, parts that share
// streams, errors, cancelling, threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <future>
#include <random>
#include <string>
#include <thread>

#include "graphs/concrete/random_work.h"
#include "mote/runtime/context.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;
using test::expect_same;
using test::filled;
using test::RandomWork;

/// Returns the problem's nodes in a random order that its edges allow.
std::vector<std::uint32_t> random_order(const ScheduleProblem& p, std::mt19937& random) {
  std::vector<std::uint32_t> order;
  std::vector<bool> is_done(p.node_count());
  while (order.size() < p.node_count()) {
    std::vector<std::uint32_t> ready;
    for (std::uint32_t n = 0; n < p.node_count(); ++n) {
      bool all = !is_done[n];
      for (std::size_t e = p.begin[n]; e < p.begin[n + 1]; ++e)
        all = all && is_done[p.predecessors[e]];
      if (all) ready.push_back(n);
    }
    order.push_back(ready[random() % ready.size()]);
    is_done[order.back()] = true;
  }
  return order;
}

TEST(GraphStreams, AnyOrderOnAnyNumberOfStreamsGivesEqualBits) {
  Context context({.workers = 4});
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWork work(seed);
    const std::vector<Tensor> expected = work.serial();
    std::mt19937 random(seed);
    ScheduleProblem problem = work.graph.schedule_problem();
    for (int streams = 1; streams <= 4; ++streams) {
      work.graph.prepare({.context = &context, .streams = streams});
      expect_same(work.run([&] { work.graph.run(); }), expected);
      problem.order = random_order(problem, random);
      const StreamSchedule s = schedule(problem, streams);
      EXPECT_FALSE(redundancy(s));
      work.graph.prepare(s, {.context = &context, .streams = streams});
      ASSERT_EQ(work.graph.schedule(), s);
      expect_same(work.run([&] { work.graph.run(); }), expected);
      Stream stream(context);
      expect_same(work.run([&] {
        for (int k = 0; k < 2; ++k) {
          stream.enqueue([&] { work.reset(); });
          work.graph.run(stream);
        }
        stream.synchronize();
      }),
                  expected);
    }
  }
}

TEST(GraphStreams, PartsGiveTheBitsOfTheirNodes) {
  Context context({.workers = 4});
  for (unsigned seed = 100; seed < 140; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWork work(seed);
    const std::vector<GraphNode> nodes = work.graph.nodes();
    std::mt19937 random(seed);
    work.graph.prepare({.context = &context, .streams = 1 + static_cast<int>(seed % 4)});
    for (int k = 0; k < 4; ++k) {
      std::vector<GraphNode> sources, destinations;
      for (const GraphNode& n : nodes) {
        if (random() % 8 == 0) sources.push_back(n);
        if (random() % 8 == 0) destinations.push_back(n);
      }
      const GraphPart part = work.graph.part(sources, destinations);
      const std::vector<Tensor> expected = work.serial(work.graph.nodes(part));
      expect_same(work.run([&] { work.graph.run(part); }), expected);
    }
  }
}

TEST(GraphStreams, NodesWithoutAnOrderRunAtOnce) {
  Context context({.workers = 2});
  std::barrier both(2);
  Graph g;
  for (int k = 0; k < 2; ++k) g.call([&](auto, auto) { both.arrive_and_wait(); }, {}, {});
  g.prepare({.context = &context, .streams = 2});
  g.run();  // hangs if one waits for the other
  EXPECT_EQ(g.statistics().streams, 2U);
  EXPECT_EQ(g.statistics().waits, 0U);
}

/// Two parts without a path between them, and a third that follows both.
TEST(GraphStreams, PartsOnSharedStreamsJoinWhatTheyFollow) {
  Context context({.workers = 4});
  for (int round = 0; round < 20; ++round) {
    std::promise<void> open;
    const std::shared_future<void> opened = open.get_future().share();
    std::atomic<int> done = 0;
    std::atomic<int> seen = -1;
    std::atomic<bool> second_began = false;
    Graph g;
    std::vector<GraphNode> a, b;
    const auto add = [&](std::vector<GraphNode>& to, const NodeFunction& f) {
      to.push_back(g.call(f, {}, {}));
    };
    const GraphNode first = g.call([&](auto, auto) { opened.wait(); }, {}, {});
    const GraphNode second = g.call([&](auto, auto) { second_began = true; }, {}, {});
    for (int k = 0; k < 3; ++k) {
      add(a, [&](auto, auto) { ++done; });
      add(b, [&](auto, auto) { ++done; });
    }
    for (const GraphNode& n : a) g.order(first, n);
    for (const GraphNode& n : b) g.order(second, n);
    const GraphNode last = g.call([&](auto, auto) { seen = done.load(); }, {}, {});
    for (const GraphNode& n : a) g.order(n, last);
    for (const GraphNode& n : b) g.order(n, last);
    g.prepare({.context = &context, .streams = 1 + round % 4});
    const GraphPart of_a = g.part(std::span(&first, 1), a);
    const GraphPart of_b = g.part(std::span(&second, 1), b);
    const GraphPart join = g.part({last}, {last});
    Stream one(context), two(context), three(context);
    g.run(of_a, one);
    if (round % 4 == 0) {  // without streams of the graph's own, nothing holds the second part
      g.run(of_b, two);
      two.synchronize();
      EXPECT_TRUE(second_began);
      EXPECT_EQ(done, 3);
    } else {
      g.run(of_b, two);
    }
    g.run(join, three);
    EXPECT_EQ(seen, -1);
    open.set_value();
    three.synchronize();
    EXPECT_EQ(seen, 6);
  }
}

/// A graph with a node that fails when it is told to, in the midst of random work.
struct Failing {
  explicit Failing(unsigned seed) : work(seed) {
    node = work.graph.call(
        [this](auto, auto) {
          if (fails) throw std::runtime_error("it was told to");
        },
        {}, {}, {.name = "weak"});
    const std::vector<GraphNode> nodes = work.graph.nodes();
    work.graph.order(nodes[nodes.size() / 2], node);
    after = work.graph.call([this](auto, auto) { ++runs_after; }, {}, {});
    work.graph.order(node, after);
  }
  RandomWork work;
  std::atomic<bool> fails = false;
  std::atomic<int> runs_after = 0;
  GraphNode node, after;
};

TEST(GraphStreams, ANodeThatFailsIsNamedAndTheGraphRunsAgain) {
  Context context({.workers = 4});
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Failing f(seed);
    Graph& g = f.work.graph;
    g.prepare({.context = &context, .streams = 1 + static_cast<int>(seed % 4)});
    const std::vector<Tensor> expected = f.work.run([&] { g.run(); });
    const std::string text = "graph: " + g.describe(f.node) + ": it was told to";
    EXPECT_EQ(text, "graph: node 24 'weak' (function): it was told to");
    f.runs_after = 0;
    f.fails = true;
    expect_error(MOTE_FAILED, text, [&] { g.run(); });
    Stream stream(context);
    g.run(stream);
    std::atomic<bool> skipped = true;
    stream.enqueue([&] { skipped = false; });
    expect_error(MOTE_FAILED, text, [&] { stream.synchronize(); });
    EXPECT_TRUE(skipped);
    EXPECT_EQ(f.runs_after, 0);
    f.fails = false;
    expect_same(f.work.run([&] {
      g.run(stream);
      stream.synchronize();
    }),
                expected);
    expect_same(f.work.run([&] { g.run(); }), expected);
    EXPECT_EQ(f.runs_after, 2);
  }
}

TEST(GraphStreams, AnErrorOfTheCallersStreamDoesNotStay) {
  Context context({.workers = 3});
  RandomWork work(3);
  const std::vector<Tensor> expected = work.serial();
  work.graph.prepare({.context = &context, .streams = 3});
  Stream stream(context);
  stream.enqueue([] { throw StatusError(MOTE_FAILED, "before: it fails"); });
  work.graph.run(stream);  // is skipped, on all streams
  expect_error(MOTE_FAILED, "before: it fails", [&] { stream.synchronize(); });
  expect_same(work.run([&] {
    work.graph.run(stream);
    stream.synchronize();
  }),
              expected);
  expect_same(work.run([&] { work.graph.run(); }), expected);
}

TEST(GraphStreams, CancelEndsTheRunBeforeTheNextNode) {
  Context context({.workers = 3});
  for (int streams = 1; streams <= 3; ++streams) {
    std::promise<void> began;
    std::promise<void> open;
    std::atomic<int> runs = 0;
    std::atomic<bool> waits = true;
    Graph g;
    const GraphNode a = g.call(
        [&](auto, auto) {
          if (!waits) return;
          began.set_value();
          open.get_future().wait();
        },
        {}, {});
    for (int k = 0; k < 3; ++k)
      g.order(a, g.call([&](auto, auto) { ++runs; }, {}, {}, {.name = "next"}));
    g.prepare({.context = &context, .streams = streams});
    g.cancel();  // no run is under way: nothing happens
    std::thread other([&] {
      began.get_future().wait();
      g.cancel();
      open.set_value();
    });
    expect_error(MOTE_FAILED, "graph: cancelled before node ", [&] { g.run(); });
    other.join();
    EXPECT_EQ(runs, 0);
    waits = false;
    g.run();
    EXPECT_EQ(runs, 3);
  }
}

TEST(GraphStreams, CancelEndsARunOfAStream) {
  Context context({.workers = 3});
  std::promise<void> open;
  std::atomic<int> runs = 0;
  Graph g;
  for (int k = 0; k < 4; ++k) g.call([&](auto, auto) { ++runs; }, {}, {});
  g.prepare({.context = &context, .streams = 2});
  Stream stream(context);
  stream.enqueue([future = open.get_future().share()] { future.wait(); });
  g.run(stream);
  g.cancel();
  open.set_value();
  expect_error(MOTE_FAILED, "graph: cancelled before node ", [&] { stream.synchronize(); });
  EXPECT_EQ(runs, 0);
  g.run(stream);
  stream.synchronize();
  EXPECT_EQ(runs, 4);
}

TEST(GraphStreams, ASecondThreadIsRefusedAndACopyIsNot) {
  std::promise<void> began;
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  std::atomic<bool> waits = true;
  Graph g;
  const GraphTensor x = g.tensor(filled({4}, 1), "x");
  g.call(
      [&](auto, auto) {
        if (!waits.exchange(false)) return;
        began.set_value();
        opened.wait();
      },
      {}, {x});
  Graph copy = g;
  std::thread runs([&] { g.run(); });
  began.get_future().wait();
  const std::string text = ": another call uses the graph";
  expect_error(MOTE_INVALID, "graph: run" + text, [&] { g.run(); });
  expect_error(MOTE_INVALID, "graph: fill" + text, [&] { g.fill(x, 1); });
  expect_error(MOTE_INVALID, "graph: prepare" + text, [&] { g.prepare(); });
  copy.run();
  open.set_value();
  runs.join();
  g.call([&](auto, auto) { g.run(); }, {}, {}, {.name = "around"});
  expect_error(MOTE_INVALID, "'around' (function): graph: run" + text, [&] { g.run(); });
  g.prepare();
}

TEST(GraphStreams, CopiesRunInTwoThreads) {
  Context context({.workers = 4});
  Graph g;
  const GraphTensor x = g.placeholder(test::f32({64}), "x");
  GraphTensor last = x;
  for (int k = 0; k < 20; ++k) {
    const GraphTensor y = g.placeholder(test::f32({64}), "y");
    g.add(Command("neg"), {last}, {y});
    g.add(Command("add"), {y, x}, {y});
    last = y;
  }
  g.find_order();
  const auto run = [&](Graph graph, double value) {
    std::vector<Tensor> memory;
    for (std::uint32_t k = 0; k <= 20; ++k) {
      memory.push_back(filled({64}, value));
      graph.bind({x.graph, k}, memory.back());
    }
    graph.prepare({.context = &context, .streams = 2});
    for (int k = 0; k < 50; ++k) graph.run();
    EXPECT_EQ(memory.back().real_at({63}), value);
  };
  std::thread one(run, g, 3.0);
  std::thread two(run, g, 4.0);
  one.join();
  two.join();
}

TEST(GraphStreams, SeveralStreamsNeedAContextAndACallerThatMayWait) {
  Graph g;
  for (int k = 0; k < 2; ++k) g.call([](auto, auto) {}, {}, {});
  g.prepare({.streams = 2});
  expect_error(MOTE_INVALID, "graph: run: several streams, or a device, need a context",
               [&] { g.run(); });
  expect_error(MOTE_INVALID, "schedule: 1..1024 streams", [&] { g.prepare({.streams = 0}); });
  Context context({.workers = 2});
  g.prepare({.context = &context, .streams = 2});
  Stream stream(context);
  stream.enqueue([&] { g.run(); });
  expect_error(MOTE_INVALID, "must not wait", [&] { stream.synchronize(); });
  g.run();
}

TEST(GraphStreams, ASeventyThousandFoldJoinRuns) {
  Context context({.workers = 2});
  std::atomic<int> done = 0;
  int seen = 0;
  Graph g;
  std::vector<GraphNode> many;
  for (int k = 0; k < 70000; ++k) many.push_back(g.call([&](auto, auto) { ++done; }, {}, {}));
  const GraphNode last = g.call([&](auto, auto) { seen = done; }, {}, {});
  for (const GraphNode& n : many) g.order(n, last);
  for (const int streams : {1, 3}) {
    done = 0;
    g.prepare({.context = &context, .streams = streams});
    g.run();
    EXPECT_EQ(seen, 70000);
  }
  EXPECT_EQ(g.statistics().waits, 2U);
}

}  // namespace
}  // namespace mote
