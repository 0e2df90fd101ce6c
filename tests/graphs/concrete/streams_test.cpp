// SPDX-License-Identifier: Apache-2.0
// Tests runs on several streams: equal bits for any number of them and any order, parts that share
// streams.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <future>
#include <limits>
#include <random>
#include <string>
#include <thread>

#include "graphs/concrete/random_work.h"
#include "mote/runtime/context.h"
#include "runtime/expect_error.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using test::expect_error;
using test::expect_same;
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

/// Two chains of that many nodes each, which share no memory.
void add_chains(Graph& g, int nodes) {
  for (int chain = 0; chain < 2; ++chain) {
    GraphTensor x = g.tensor(test::filled({4}, 1));
    for (int k = 0; k < nodes; ++k) {
      const GraphTensor y = g.tensor(test::filled({4}, 0));
      g.add(Command("neg"), {x}, {y});
      x = y;
    }
  }
  g.find_order();
}

// C11: on several streams a run takes memory for what it gives to them, stretches of nodes and
// waits, and none for a node, however many there are.
TEST(GraphStreams, ARunTakesNothingFromTheHeapForANode) {
  Context context({.workers = 2});
  int of_few = 0;
  for (const int nodes : {20, 500}) {
    Graph g;
    add_chains(g, nodes);
    g.prepare({.context = &context, .streams = 2});
    ASSERT_EQ(g.statistics().streams, 2U);
    ASSERT_EQ(g.statistics().waits, 0U);
    for (int k = 0; k < 3; ++k) g.run();
    int least = std::numeric_limits<int>::max();  // workers take memory when they are behind
    for (int k = 0; k < 10; ++k) {
      const int before = test::heap_allocations();
      g.run();
      least = std::min(least, test::heap_allocations() - before);
    }
    if (nodes == 20) of_few = least;
    EXPECT_LE(least, of_few) << nodes << " nodes";
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
