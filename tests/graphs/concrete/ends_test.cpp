// SPDX-License-Identifier: Apache-2.0
// Tests runs that do not end well, or in one thread: nodes that fail, cancelling, a second thread.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "graphs/concrete/random_work.h"
#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;
using test::expect_same;
using test::filled;
using test::RandomWork;

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

TEST(GraphEnds, ANodeThatFailsIsNamedAndTheGraphRunsAgain) {
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

TEST(GraphEnds, AnErrorOfTheCallersStreamDoesNotStay) {
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

TEST(GraphEnds, CancelEndsTheRunBeforeTheNextNode) {
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

TEST(GraphEnds, CancelEndsARunOfAStream) {
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

TEST(GraphEnds, ASecondThreadIsRefusedAndACopyIsNot) {
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

TEST(GraphEnds, CopiesRunInTwoThreads) {
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

}  // namespace
}  // namespace mote
