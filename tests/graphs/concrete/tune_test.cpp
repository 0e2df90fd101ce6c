// SPDX-License-Identifier: Apache-2.0
// Tests autotune of a graph: the fastest kernel is taken, nothing live is written, the tuning file
// keeps what was measured, results of kernels of equal contract stay equal.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "graphs/concrete/counting.h"
#include "graphs/concrete/random_work.h"
#include "mote/runtime/context.h"
#include "mote/tuning/tuning_file.h"
#include "runtime/expect_error.h"
#include "runtime/fake_backend.h"

namespace mote {
namespace {

using test::expect_error;
using test::expect_same;
using test::FakeBackend;
using test::filled;
using test::same_bits;

/// Computes neg, slowly.
mote_status slow_neg(const mote_call* call) {
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  const auto* x = static_cast<const float*>(call->inputs[0]->data);
  auto* y = static_cast<float*>(call->outputs[0]->data);
  for (std::int64_t k = 0; k < 8; ++k) y[k] = -x[k];
  return MOTE_OK;
}

TEST(GraphTune, TakesTheFastestKernelAndPreparesAgain) {
  FakeBackend<1> slow("neg", "slow");
  slow.on_run = slow_neg;
  Context context({.backends = {&slow.backend}});
  Graph g;
  const GraphTensor x = g.tensor(test::counting({8}), "x");
  const GraphTensor y = g.tensor(filled({8}, 7), "y");
  g.add(Command("neg"), {x}, {y}, {.name = "first"});
  g.fill(x, 3);
  g.find_order();
  expect_error(MOTE_INVALID, "graph: autotune: it must be prepared with a context",
               [&] { g.autotune(); });
  g.prepare({.context = &context});
  EXPECT_TRUE(g.schedule_problem().weights.empty());
  EXPECT_EQ(g.autotune({.rounds = 3, .seconds = 1}), 1U);
  EXPECT_TRUE(same_bits(g.memory(x), test::counting({8})));
  EXPECT_TRUE(same_bits(g.memory(y), filled({8}, 7)));
  const int runs = slow.runs;
  EXPECT_GT(runs, 0);
  g.run();
  EXPECT_EQ(slow.runs, runs) << "the slow kernel still runs";
  EXPECT_EQ(g.memory(y).real_at({5}), -5);
  ASSERT_EQ(g.schedule_problem().weights.size(), 2U);
  EXPECT_GT(g.schedule_problem().weights[0], 0);
  EXPECT_EQ(g.schedule_problem().weights[1], 0);
  const std::string file = testing::TempDir() + "mote_graph_tuning_" + std::to_string(getpid());
  save_tuning(context, file);
  Context later({.backends = {&slow.backend}});
  load_tuning(later, file);
  std::filesystem::remove(file);
  Graph again = g;
  again.prepare({.context = &later});
  again.run();
  EXPECT_EQ(slow.runs, runs);
}

/// A step of sgd in place gives another result each time: it must not run on the live tensors.
TEST(GraphTune, NeverWritesLiveTensors) {
  Context context;
  Graph g;
  const GraphTensor w = g.tensor(test::counting({64}), "w");
  const GraphTensor d = g.constant(filled({64}, 0.5), "d");
  g.add(Command("sub"), {w, d}, {w}, {.name = "step"});
  g.find_order();
  g.prepare({.context = &context});
  const Tensor before = clone(g.memory(w));
  g.autotune({.rounds = 5});
  EXPECT_TRUE(same_bits(g.memory(w), before));
  g.run();
  EXPECT_EQ(g.memory(w).real_at({10}), 9.5);
}

TEST(GraphTune, LeavesBitsEqual) {
  Context context({.workers = 2});
  for (unsigned seed = 0; seed < 10; ++seed) {
    test::RandomWork work(seed, 24, false);
    const std::vector<Tensor> expected = work.serial();
    work.graph.prepare({.context = &context, .streams = 1 + static_cast<int>(seed % 3)});
    work.reset();
    EXPECT_GT(work.graph.autotune({.rounds = 1, .seconds = 0}), 0U);
    expect_same(work.run([&] { work.graph.run(); }), expected);
  }
}

TEST(GraphTune, NamesTheNodeThatCannotBeMeasured) {
  Context context;
  Graph g;
  const GraphTensor x = g.placeholder(test::f32({2}), "x");
  g.add(Command("neg"), {x}, {x}, {.name = "h"});
  g.prepare({.context = &context});
  expect_error(MOTE_INVALID, "graph: node 0 'h' (neg) needs the placeholder 'x' f32[2]",
               [&] { g.autotune(); });
}

}  // namespace
}  // namespace mote
