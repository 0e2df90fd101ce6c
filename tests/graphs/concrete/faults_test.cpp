// SPDX-License-Identifier: Apache-2.0
// Tests graphs without memory, each allocation failing once and from then on, and with every call
// misused.
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "graphs/concrete/counting.h"
#include "mote/graph/graph.h"
#include "mote/graph/picture.h"
#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "runtime/faults/failing_heap.h"
#include "runtime/faults/misuse.h"

namespace mote {
namespace {

using test::counting;
using test::expect_refused;
using test::f32;
using test::filled;
using test::same_bits;
using test::survive_each_allocation;

/// A diamond with a view and a placeholder, on up to two streams.
struct SmallGraph {
  SmallGraph() : x(counting({8})), y(filled({8}, 0)) {}

  void build() {
    graph = std::make_unique<Graph>();
    const GraphTensor in = graph->placeholder(f32({8}), "in");
    const GraphTensor a = graph->tensor(filled({8}, 0), "a");
    const GraphTensor b = graph->tensor(filled({8}, 0), "b");
    const GraphTensor out = graph->tensor(y, "out");
    graph->add(Command("neg"), {in}, {a}, {.name = "left"});
    graph->copy(in, b, {.name = "right"});
    graph->fill(graph->view(b, 0, f32({4})), 1);
    graph->add(Command("add"), {a, b}, {out}, {.name = "join"});
    graph->call([](auto reads, auto) { (void)reads.front(); }, {out}, {});
    graph->find_order();
    graph->bind(in, x);
  }
  void check() const {
    for (std::int64_t k = 0; k < 8; ++k) EXPECT_EQ(y.real_at({k}), k < 4 ? 1 - k : 0);
  }

  Tensor x, y;
  std::unique_ptr<Graph> graph;
};

TEST(GraphWithoutMemory, IsBuiltAndRunAgain) {
  survive_each_allocation([] { return SmallGraph(); },
                          [](SmallGraph& d) {
                            d.build();
                            d.graph->run();
                          },
                          [](SmallGraph& d) { d.check(); });
}

struct OnStreams : SmallGraph {
  OnStreams() { build(); }
  std::unique_ptr<Context> context = std::make_unique<Context>(ContextOptions{.workers = 2});
};

TEST(GraphWithoutMemory, RunsOnStreams) {
  survive_each_allocation(
      [] {
        auto d = std::make_unique<OnStreams>();
        d->context->workers();
        return d;
      },
      [](std::unique_ptr<OnStreams>& d) {
        d->graph->prepare({.context = d->context.get(), .streams = 2});
        d->graph->run();
        d->graph->bind({d->graph->nodes().front().graph, 0}, d->x);
        d->graph->run();
        Stream stream(*d->context);
        d->graph->run(stream);
        stream.synchronize();
      },
      [](std::unique_ptr<OnStreams>& d) {
        d->check();
        d->graph.reset();
      });
}

TEST(GraphWithoutMemory, IsCopiedDrawnAndCut) {
  survive_each_allocation(
      [] {
        SmallGraph d;
        d.build();
        return d;
      },
      [](SmallGraph& d) {
        Graph copy = *d.graph;
        const std::vector<GraphNode> nodes = copy.nodes();
        const GraphPart part = copy.part({nodes[1]}, {nodes[3]});
        GraphTrace trace;
        copy.trace_to(&trace);
        copy.run();
        copy.run(part);
        copy.trace_to(nullptr);
        EXPECT_GT(to_dot(copy).size(), 100U);
        EXPECT_GT(to_trace_json(copy, trace).size(), 100U);
        copy.remove(nodes[4]);
        d.graph->run();
      },
      [](SmallGraph& d) { d.check(); });
}

TEST(GraphMisuse, EveryCall) {
  Graph g;
  Graph other;
  const GraphTensor t = g.tensor(filled({4}, 1), "t");
  const GraphTensor p = g.placeholder(f32({4}), "p");
  const GraphTensor foreign = other.tensor(filled({4}, 1));
  const GraphTensor far{t.graph, 1000};
  const GraphNode n = g.fill(t, 1);
  const GraphNode removed = g.fill(t, 2);
  g.remove(removed);
  const GraphNode far_node{n.graph, 1000};
  const auto copied = [&](GraphTensor x) { return [&g, x, t] { g.copy(x, t); }; };
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  const Tensor nowhere = Tensor::over(nullptr, DType::f32, {4});
  std::vector<float> room(5);
  const Tensor skewed = Tensor::over(reinterpret_cast<char*>(room.data()) + 1, DType::f32, {4});
  Stream* none = nullptr;
  (void)none;
  expect_refused({
      {"tensor without memory", [&] { g.tensor(nowhere); }},
      {"constant without memory", [&] { g.constant(nowhere, "c"); }},
      {"skewed memory", [&] { g.intermediate(skewed); }},
      {"negative form",
       [&] {
         g.placeholder({DType::f32, {-1}});
       }},
      {"view of nothing", [&] { g.view({}, 0, f32({1})); }},
      {"view beyond", [&] { g.view(t, 4, f32({4})); }},
      {"view before", [&] { g.view(t, -4, f32({1})); }},
      {"view far beyond", [&] { g.view(t, kFar, f32({1})); }},
      {"view far before", [&] { g.view(t, std::numeric_limits<std::int64_t>::min(), f32({1})); }},
      {"skewed view", [&] { g.view(t, 2, f32({1})); }},
      {"view with far strides",
       [&] {
         g.view(t, 0, {DType::f32, {2}, {kFar / 8}});
       }},
      {"view on a device",
       [&] {
         g.view(t, 0, {DType::f32, {1}, {1}, {kDLCUDA, 0}});
       }},
      {"bind what is bound", [&] { g.bind(t, filled({4}, 1)); }},
      {"bind nothing", [&] { g.bind({}, filled({4}, 1)); }},
      {"bind nowhere", [&] { g.bind(p, nowhere); }},
      {"bind another form", [&] { g.bind(p, filled({5}, 1)); }},
      {"bind skewed memory", [&] { g.bind(p, skewed); }},
      {"memory of another's", [&] { (void)g.memory(foreign); }},
      {"copy another's", copied(foreign)},
      {"copy what is not there", copied(far)},
      {"copy nothing", copied({})},
      {"fill nothing", [&] { g.fill({}, 1.5); }},
      {"no function", [&] { g.call(nullptr, {t}, {}); }},
      {"function on nothing", [&] { g.call([](auto, auto) {}, {GraphTensor{}}, {}); }},
      {"command on another's", [&] { g.add(Command("neg"), {foreign}, {t}); }},
      {"remove twice", [&] { g.remove(removed); }},
      {"order of a removed node", [&] { g.order(n, removed); }},
      {"order of a far node", [&] { g.order(n, far_node); }},
      {"order with itself", [&] { g.order(n, n); }},
      {"describe a removed node", [&] { (void)g.describe(removed); }},
      {"describe a far tensor", [&] { (void)g.describe(far); }},
      {"part of a removed node", [&] { (void)g.part({removed}, {}); }},
      {"nodes of no part", [&] { (void)g.nodes(GraphPart{}); }},
      {"run another's part", [&] { g.run(other.part({}, {})); }},
      {"schedule of what is not prepared", [&] { (void)g.schedule(); }},
      {"a malformed schedule",
       [&] {
         StreamSchedule s;
         s.order = {7};
         g.prepare(s);
       }},
      {"a schedule of another problem", [&] { g.prepare(StreamSchedule{}); }},
      {"no streams", [&] { g.prepare({.streams = -1}); }},
      {"tune without a context", [&] { g.autotune(); }},
  });
  g.run();
  EXPECT_EQ(g.memory(t).real_at({3}), 1);
}

TEST(GraphMisuse, AfterAMove) {
  Graph g;
  const GraphTensor t = g.tensor(filled({4}, 1));
  const Graph moved = std::move(g);
  Context context;
  Stream stream(context);
  expect_refused({
      {"tensor", [&] { g.tensor(filled({4}, 1)); }},  // NOLINT(bugprone-use-after-move)
      {"view", [&] { g.view(t, 0, f32({1})); }},
      {"bind", [&] { g.bind(t, filled({4}, 1)); }},
      {"memory", [&] { (void)g.memory(t); }},
      {"fill", [&] { g.fill(t, 1); }},
      {"find_order", [&] { g.find_order(); }},
      {"nodes", [&] { (void)g.nodes(); }},
      {"problem", [&] { (void)g.schedule_problem(); }},
      {"prepare", [&] { g.prepare(); }},
      {"run", [&] { g.run(); }},
      {"run in a stream", [&] { g.run(stream); }},
      {"cancel", [&] { g.cancel(); }},
      {"autotune", [&] { g.autotune(); }},
      {"trace", [&] { g.trace_to(nullptr); }},
      {"statistics", [&] { (void)g.statistics(); }},
      {"copy", [&] { const Graph copy = g; }},
      {"picture", [&] { (void)to_dot(g); }},
      {"trace as text", [&] { (void)to_trace_json(g, {}); }},
  });
}

TEST(GraphMisuse, AScheduleDoesNotOutliveAChange) {
  Graph g;
  const GraphTensor t = g.tensor(filled({4}, 1));
  g.fill(t, 1);
  g.prepare(schedule(g.schedule_problem(), 1));
  g.run();
  g.fill(t, 2);
  expect_refused({{"run", [&] { g.run(); }}});
  g.prepare();
  g.run();
}

/// Placeholders are memory of their own for find_order(), so memory that they share is refused
/// where it would matter.
TEST(GraphMisuse, SharedMemoryOfPlaceholders) {
  Graph g;
  const GraphTensor x = g.placeholder(f32({4}), "x");
  const GraphTensor y = g.placeholder(f32({4}), "y");
  const GraphTensor z = g.placeholder(f32({4}), "z");
  g.copy(x, y, {.name = "first"});
  g.copy(x, z, {.name = "second"});
  g.find_order();
  const Tensor memory = counting({12});
  const auto part = [&](std::int64_t from) { return memory.slice(0, from, 4); };
  g.bind(x, part(0));
  g.bind(y, part(4));
  g.bind(z, part(8));
  Context context;
  g.prepare({.context = &context, .streams = 2});
  g.run();
  g.bind(z, part(3));  // what the second node writes overlaps what the first reads and writes
  try {
    g.run();
    ADD_FAILURE() << "no error";
  } catch (const StatusError& e) {
    EXPECT_STREQ(e.what(),
                 "graph: node 0 'first' (copy) and node 1 'second' (copy) have no order, but 'x' "
                 "f32[4] and 'z' f32[4] are bound to memory that they share");
  }
  g.prepare({.context = &context, .streams = 1});  // now they have one
  g.run();
  g.bind(z, part(8));
  g.prepare({.context = &context, .streams = 2});
  g.run();
}

}  // namespace
}  // namespace mote
