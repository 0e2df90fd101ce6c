// SPDX-License-Identifier: Apache-2.0
// Tests graphs on a device whose work is done late: equal bits on several streams, work that is
// given and not waited for, failures.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "graphs/concrete/random_work.h"
#include "mote/runtime/context.h"
#include "runtime/expect_error.h"
#include "runtime/late_device.h"

namespace mote {
namespace {

using test::counting;
using test::expect_error;
using test::expect_same;
using test::f32;
using test::filled;
using test::Held;
using test::LateDevice;

const LateDevice& late() { return LateDevice::get(); }

Device late_device() {
  late();  // loads it
  return Device::find("late");
}

ContextOptions on_late(int workers) {
  ContextOptions options;
  options.backends.assign(late().backends().begin(), late().backends().end());
  options.workers = workers;
  return options;
}

/// A diamond on the device between copies to it and from it.
struct DeviceDiamond {
  DeviceDiamond() {
    const TensorForm there(DType::f32, {16}, {1}, device.dl());
    const auto make = [&](const char* name) {
      return graph.tensor(Tensor(DType::f32, {16}, device), name);
    };
    const GraphTensor a = make("a"), b = make("b"), c = make("c"), d = make("d");
    graph.copy(graph.constant(counting({16})), a, {.name = "in"});
    graph.add(Command("neg"), {a}, {b}, {.name = "left"});
    graph.add(Command("add"), {a, a}, {c}, {.name = "right"});
    graph.add(Command("add"), {b, c}, {d}, {.name = "join"});
    graph.copy(d, graph.tensor(y, "y"), {.name = "out"});
    graph.find_order();
  }
  bool is_right() const {
    for (std::int64_t k = 0; k < 16; ++k)
      if (y.real_at({k}) != static_cast<double>(k)) return false;
    return true;
  }

  Device device = late_device();
  Context context{on_late(2)};
  Graph graph;
  Tensor y = filled({16}, -1);
};

TEST(GraphDevice, RunsOnStreamsOfTheDevice) {
  const int live = (late(), late().live());
  {
    DeviceDiamond d;
    for (int streams = 1; streams <= 3; ++streams) {
      d.graph.prepare({.context = &d.context, .streams = streams});
      fill(d.y, -1);
      d.graph.run();
      EXPECT_TRUE(d.is_right()) << streams;
      EXPECT_EQ(d.graph.statistics().streams, streams == 1 ? 1U : 2U);
    }
  }
  EXPECT_EQ(late().live(), live);
}

TEST(GraphDevice, ARunGivenToAStreamIsNotWaitedFor) {
  DeviceDiamond d;
  d.graph.prepare({.context = &d.context, .streams = 2});
  for (const bool there : {true, false}) {
    Stream stream = there ? Stream(d.context, d.device) : Stream(d.context);
    fill(d.y, -1);
    {
      Held held;
      d.graph.run(stream);
      EXPECT_FALSE(stream.is_idle());
      EXPECT_EQ(d.y.real_at({3}), -1);
    }
    stream.synchronize();
    EXPECT_TRUE(d.is_right());
  }
}

TEST(GraphDevice, TheCallersStreamHoldsTheGraphsStreams) {
  DeviceDiamond d;
  d.graph.prepare({.context = &d.context, .streams = 2});
  Stream stream(d.context, d.device);
  Tensor x(DType::f32, {16}, d.device);
  for (const auto hold : {LateDevice::Hold::oldest, LateDevice::Hold::all}) {
    Held held(hold);
    copy(filled({16}, 2), x, stream);
    d.graph.run(stream);
    held.open();
    stream.synchronize();
    EXPECT_TRUE(d.is_right());
  }
}

TEST(GraphDevice, RandomGraphsGiveTheBitsOfSerialCalls) {
  const Device device = late_device();
  Context context(on_late(4));
  for (unsigned seed = 0; seed < 25; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::RandomWork work(seed, 20, false, device, late().backends());
    const std::vector<Tensor> expected = work.serial();
    for (int streams = 1; streams <= 4; ++streams) {
      work.graph.prepare({.context = &context, .streams = streams});
      expect_same(work.run([&] { work.graph.run(); }), expected);
      Stream stream(context, device);
      expect_same(work.run([&] {
        work.graph.run(stream);
        work.graph.run(stream);
        stream.synchronize();
        work.reset();
        work.graph.run(stream);
        stream.synchronize();
      }),
                  expected);
    }
  }
}

// C5: whatever streams of the device are faster, and however many there are, the bits are those of
// serial calls; no wait follows from other waits.
TEST(GraphDevice, RandomDelaysOnAnyNumberOfStreamsChangeNoBit) {
  const Device device = late_device();
  Context context(on_late(4));
  std::size_t waits = 0;
  for (unsigned seed = 200; seed < 220; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::RandomWork work(seed, 20, false, device, late().backends());
    const std::vector<Tensor> expected = work.serial();
    const test::Delayed delayed(seed);
    for (int streams = 1; streams <= 4; ++streams) {
      work.graph.prepare({.context = &context, .streams = streams});
      EXPECT_FALSE(redundancy(work.graph.schedule()));
      waits += work.graph.statistics().waits;
      for (int again = 0; again < 2; ++again)
        expect_same(work.run([&] { work.graph.run(); }), expected);
      Stream stream(context, device);
      expect_same(work.run([&] {
        work.graph.run(stream);
        stream.synchronize();
      }),
                  expected);
    }
  }
  EXPECT_GT(waits, 100U);
}

TEST(GraphDevice, AFailureOfTheDeviceIsToldAndTheGraphRunsAgain) {
  DeviceDiamond d;
  for (int streams = 1; streams <= 2; ++streams)
    for (int task = 0; task < 5; ++task) {
      d.graph.prepare({.context = &d.context, .streams = streams});
      late().fail(task);
      const std::string where = streams == 1 ? "0 'in' (copy) to node 4 'out' (copy): " : "";
      expect_error(MOTE_FAILED, "graph: on the stream of node " + where, [&] { d.graph.run(); });
      fill(d.y, -1);
      d.graph.run();
      EXPECT_TRUE(d.is_right());
      Stream stream(d.context, d.device);
      late().fail(task);
      d.graph.run(stream);
      expect_error(MOTE_FAILED, "the task fails", [&] { stream.synchronize(); });
      fill(d.y, -1);
      d.graph.run(stream);
      stream.synchronize();
      EXPECT_TRUE(d.is_right());
    }
  late().fail(-1);
}

/// The error names the nodes that may have failed by what they are called in the graph.
TEST(GraphDevice, AFailureNamesTheNodesUnderWay) {
  DeviceDiamond d;
  d.graph.prepare({.context = &d.context, .streams = 1});
  late().fail(1);  // task 0 is the copy
  expect_error(MOTE_FAILED, "node 1 'left' (neg)", [&] { d.graph.run(); });
  late().fail(-1);
  d.graph.run();
  EXPECT_TRUE(d.is_right());
}

TEST(GraphDevice, FunctionsRunOnTheHostInTheirPlace) {
  DeviceDiamond d;
  bool is_done = false;
  const GraphTensor again = d.graph.tensor(Tensor(DType::f32, {16}, d.device));
  const GraphNode f = d.graph.call([&](auto, auto) { is_done = d.is_right(); }, {}, {});
  d.graph.order(d.graph.nodes()[4], f);
  const GraphNode copied = d.graph.copy(d.graph.constant(filled({16}, 1)), again);
  d.graph.order(f, copied);
  d.graph.prepare({.context = &d.context, .streams = 2});
  d.graph.run();
  EXPECT_TRUE(is_done);
}

TEST(GraphDevice, PlaceholdersMoveBetweenRuns) {
  DeviceDiamond made;
  Graph g;
  const GraphTensor x = g.placeholder({DType::f32, {16}, {1}, made.device.dl()}, "x");
  const GraphTensor y = g.placeholder(f32({16}), "y");
  const GraphTensor t = g.intermediate(Tensor(DType::f32, {16}, made.device), "t");
  g.add(Command("neg"), {x}, {t});
  g.copy(t, y);
  g.find_order();
  g.prepare({.context = &made.context});
  Stream stream(made.context);
  std::vector<Tensor> results;
  for (int k = 0; k < 5; ++k) {
    const Tensor in(DType::f32, {16}, made.device);
    copy(filled({16}, k), in);
    results.push_back(filled({16}, 0));
    g.bind(x, in);
    g.bind(y, results.back());
    g.run(stream);
  }
  stream.synchronize();
  for (int k = 0; k < 5; ++k) EXPECT_EQ(results[static_cast<std::size_t>(k)].real_at({9}), -k);
  expect_error(MOTE_INVALID, "'x' must be f32[16]", [&] { g.bind(x, results[0]); });
}

}  // namespace
}  // namespace mote
