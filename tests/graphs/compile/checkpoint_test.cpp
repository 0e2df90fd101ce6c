// SPDX-License-Identifier: Apache-2.0
// A checkpointed graph gives the same bits, keeps fewer bytes, and computes no more than it must.
#include "mote/symbolic/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graphs/compile/numbered.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"

namespace mote {
namespace {

using test::bits;
using test::numbered;

constexpr std::int64_t kWidth = 64;

/// A chain of n layers tanh, and its way back, which reads each layer's result.
struct Chain {
  SymbolicGraph g{"chain"};
  TensorSymbol x = g.input("x", {DType::f32, {kWidth}});
  TensorSymbol seed = g.input("seed", {DType::f32, {kWidth}});
  TensorSymbol loss;
  TensorSymbol gx;

  explicit Chain(int n) {
    std::vector<TensorSymbol> values = {x};
    for (int k = 1; k <= n; ++k) {
      values.push_back(g.add("tanh", {values.back()}));
      g.rename(values.back(), "h" + std::to_string(k));
    }
    loss = values.back();
    gx = seed;
    for (int k = n; k > 0; --k) gx = g.add("tanh.grad", {gx, values[static_cast<std::size_t>(k)]});
    g.set_outputs({gx});
  }
};

std::size_t planned_values(const SymbolicGraph& g) {
  Context context;
  return compile(g, {.passes = std::vector<std::string>{}}, context).report().arena_bytes /
         (kWidth * sizeof(float));
}

void expect_same_bits(Chain& chain, const CheckpointOptions& options) {
  const std::vector<TensorBinding> bindings = {{chain.x, numbered(chain.g, chain.x)},
                                               {chain.seed, numbered(chain.g, chain.seed, 5)}};
  const std::vector<Tensor> expected = evaluate(chain.g, bindings, std::vector{chain.gx});
  checkpoint(chain.g, std::vector{chain.loss}, options);
  verify(chain.g);
  Context context;
  for (const int streams : {1, 3}) {
    Executable run = compile(chain.g, {.streams = streams}, context);
    run.run(bindings);
    EXPECT_EQ(bits(run.output(chain.gx)), bits(expected[0]));
  }
}

TEST(Checkpoint, SquareRootKeepsTwoRootsOfNValuesAndRunsNoNodeMoreThanTwice) {
  for (const int n : {4, 16, 100, 400}) {
    Chain chain(n);
    const std::size_t before = planned_values(chain.g);
    const CheckpointReport report = checkpoint(chain.g, std::vector{chain.loss}, {});
    EXPECT_LE(report.most_runs, 2U);
    EXPECT_LE(report.copies, static_cast<std::size_t>(n));
    const auto roots = static_cast<std::size_t>(2 * std::sqrt(n) + 3);
    EXPECT_LE(planned_values(chain.g), roots) << n << " layers, " << before << " before";
  }
}

TEST(Checkpoint, BinomialRunsExactlyTheStepsOfTheLeastSchedule) {
  for (const int n : {2, 3, 7, 20, 64})
    for (const int slots : {1, 2, 3, 5, 8}) {
      if (slots >= n) continue;
      Chain chain(n);
      const CheckpointReport report = checkpoint(
          chain.g, std::vector{chain.loss}, {.policy = CheckpointPolicy::binomial, .slots = slots});
      EXPECT_EQ(report.copies + static_cast<std::size_t>(n),
                binomial_steps(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(slots)))
          << n << " layers, " << slots << " slots";
      EXPECT_LE(planned_values(chain.g), static_cast<std::size_t>(slots) + 4);
    }
}

TEST(Checkpoint, TheBitsStayTheSame) {
  Chain root(50);
  expect_same_bits(root, {});
  Chain binomial(50);
  expect_same_bits(binomial, {.policy = CheckpointPolicy::binomial, .slots = 3});
  Chain cheap(50);
  expect_same_bits(cheap, {.policy = CheckpointPolicy::cheap});
}

TEST(Checkpoint, ABudgetIsKeptOrTheLeastIsSaid) {
  Chain chain(64);
  const std::size_t value = kWidth * sizeof(float);
  std::size_t last = 0;
  for (const std::size_t values : {6U, 9U, 12U, 20U, 40U, 100U}) {
    Chain one(64);
    const CheckpointReport report =
        checkpoint(one.g, std::vector{one.loss},
                   {.policy = CheckpointPolicy::budget, .budget = values * value});
    const std::size_t needed = planned_values(one.g);
    EXPECT_LE(needed, values) << report.text;
    EXPECT_GE(needed, last) << report.text;
    last = needed;
  }
  try {
    checkpoint(chain.g, std::vector{chain.loss},
               {.policy = CheckpointPolicy::budget, .budget = value});
    FAIL() << "one value is not enough";
  } catch (const StatusError& e) {
    EXPECT_EQ(e.status(), MOTE_OUT_OF_MEMORY);
    EXPECT_NE(std::string(e.what()).find("needs at least"), std::string::npos);
  }
}

TEST(Checkpoint, TakesAWayBackInWhichLateValuesMeetEarlyOnes) {
  for (const auto policy : {CheckpointPolicy::square_root, CheckpointPolicy::binomial}) {
    Chain chain(12);
    // The gradient's own way back: its reader of the last layers needs what reads the first ones.
    const TensorSymbol early = chain.g.add("neg", {chain.g.find("h1")});
    chain.g.set_outputs({chain.g.add("mul", {chain.g.find("h11"), early})});
    chain.gx = chain.g.outputs()[0];
    expect_same_bits(chain, {.policy = policy, .slots = 2});
  }
}

}  // namespace
}  // namespace mote
