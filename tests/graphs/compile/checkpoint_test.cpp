// SPDX-License-Identifier: Apache-2.0
// A checkpointed graph gives the same bits, keeps fewer bytes, and computes no more than it must.
#include "mote/symbolic/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "graphs/compile/numbered.h"
#include "graphs/symbolic/error_of.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

using test::bits;
using test::error_of;
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

/// Returns the least steps by trying every step after which a state may be kept next, for chains of
/// up to `most` steps: least[s][n] with s slots. The last step of a part runs with its way back.
std::vector<std::vector<std::uint64_t>> least_steps(std::uint64_t most, std::uint64_t slots) {
  std::vector<std::vector<std::uint64_t>> least(slots + 1,
                                                std::vector<std::uint64_t>(most + 1, ~0ULL));
  for (std::uint64_t s = 0; s <= slots; ++s)
    for (std::uint64_t n = 0; n <= most; ++n) {
      if (n <= 1) least[s][n] = n;
      if (s == 0) least[s][n] = n * (n + 1) / 2;  // each step from the start
      for (std::uint64_t m = 1; s > 0 && m < n; ++m)
        least[s][n] = std::min(least[s][n], m + least[s - 1][n - m] + least[s][m]);
    }
  return least;
}

TEST(Checkpoint, BinomialStepsAreTheLeastOfAllSchedules) {
  const auto least = least_steps(200, 20);
  for (std::uint64_t s = 0; s <= 20; ++s)
    for (std::uint64_t n = 0; n <= 200; ++n)
      ASSERT_EQ(binomial_steps(n, s), least[s][n]) << n << " steps, " << s << " slots";
}

TEST(Checkpoint, BinomialRunsExactlyTheStepsOfTheLeastSchedule) {
  const auto least = least_steps(200, 20);
  for (const int n : {2, 3, 7, 20, 64, 200})
    for (const int slots : {1, 2, 3, 5, 8, 20}) {
      if (slots >= n) continue;
      Chain chain(n);
      const CheckpointReport report = checkpoint(
          chain.g, std::vector{chain.loss}, {.policy = CheckpointPolicy::binomial, .slots = slots});
      EXPECT_EQ(report.copies + static_cast<std::size_t>(n),
                least[static_cast<std::size_t>(slots)][static_cast<std::size_t>(n)])
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

// A node of the way back reads two values and writes one, so that no checkpoint is tried: some have
// 10^8 nodes.
TEST(Checkpoint, ABudgetBelowWhatANodeReadsIsRefusedBeforeAnythingIsTried) {
  Chain chain(20000);
  const std::size_t value = kWidth * sizeof(float);
  const std::string least = std::to_string(3 * value);
  const CheckpointOptions options{.policy = CheckpointPolicy::budget, .budget = 3 * value - 1};
  EXPECT_NE(error_of([&] {
              checkpoint(chain.g, std::vector{chain.loss}, options);
            }).find("needs at least " + least + " bytes whatever is computed again, the budget is"),
            std::string::npos);
}

// With one slot, which needs least, an attempt has 2.6 million nodes: it is not made to see that it
// does not fit, and where it fits it is found.
TEST(Checkpoint, ABudgetThatNothingFitsIntoIsRefusedByOneAttempt) {
  const std::size_t value = kWidth * sizeof(float);
  const CheckpointOptions options{.policy = CheckpointPolicy::budget, .budget = 4 * value - 1};
  Chain chain(20000);
  EXPECT_NE(error_of([&] {
              checkpoint(chain.g, std::vector{chain.loss}, options);
            }).find("needs at least " + std::to_string(4 * value) + " bytes, the budget is"),
            std::string::npos);
  Chain few(300);
  const CheckpointReport report = checkpoint(
      few.g, std::vector{few.loss}, {.policy = CheckpointPolicy::budget, .budget = 4 * value});
  EXPECT_EQ(planned_values(few.g), 4U) << report.text;
}

/// Returns what checkpoint() says of a budget; what it throws, if it is refused.
std::string said_of(SymbolicGraph& g, TensorSymbol loss, std::size_t budget) {
  std::string text;
  const std::string error = error_of([&] {
    text = checkpoint(g, std::vector{loss}, {.policy = CheckpointPolicy::budget, .budget = budget})
               .text;
  });
  return error.empty() ? text : error;
}

std::size_t compiled_bytes(const SymbolicGraph& g) {
  Context context;
  return compile(g, {}, context).report().arena_bytes;
}

// The pass prune removes the node, and merge makes one chain of two.
TEST(Checkpoint, ABudgetIsOfThePlanThatPassesLeave) {
  Chain unread(16);
  unread.g.add("matmul",
               {unread.g.reshape(unread.x, {kWidth, 1}), unread.g.reshape(unread.x, {1, kWidth})});
  EXPECT_EQ(said_of(unread.g, unread.loss, compiled_bytes(unread.g)), "none: it fits as it is");

  SymbolicGraph twice("twice");
  const TensorSymbol x = twice.input("x", {DType::f32, {kWidth}});
  TensorSymbol a = x, b = x;
  for (int k = 0; k < 8; ++k) a = twice.add("tanh", {a});
  for (int k = 0; k < 8; ++k) b = twice.add("tanh", {b});
  const TensorSymbol loss = twice.add("mul", {a, b});
  twice.set_outputs({loss, gradient(twice, {loss}, {x})[0]});
  EXPECT_EQ(said_of(twice, loss, compiled_bytes(twice)), "none: it fits as it is");
}

// Equal chains become one, so that what an attempt keeps of all of them says nothing.
TEST(Checkpoint, ABudgetThatAnAttemptKeepsAfterPassesIsNotRefused) {
  const auto equal_chains = [](TensorSymbol& loss) {
    SymbolicGraph g("chains");
    const TensorSymbol x = g.input("x", {DType::f32, {kWidth}});
    for (int chain = 0; chain < 20; ++chain) {
      TensorSymbol y = x;
      for (int k = 0; k < 64; ++k) y = g.add("tanh", {y});
      loss = chain == 0 ? y : g.add("mul", {loss, y});
    }
    g.set_outputs({gradient(g, {loss}, {x})[0]});
    return g;
  };
  TensorSymbol loss;
  SymbolicGraph g = equal_chains(loss);
  checkpoint(g, std::vector{loss}, {.policy = CheckpointPolicy::square_root});
  const std::size_t budget = compiled_bytes(g);
  g = equal_chains(loss);
  ASSERT_LT(budget, compiled_bytes(g));
  const std::string said = said_of(g, loss, budget);
  EXPECT_EQ(said.find("needs at least"), std::string::npos) << said;
  EXPECT_LE(compiled_bytes(g), budget) << said;
}

// The pass merge makes one value of the terms of the way back and those of the way forward, so that
// more values are kept than without passes.
TEST(Checkpoint, ABudgetIsKeptWherePassesKeepMore) {
  constexpr int kTerms = 12;
  SymbolicGraph g("again");
  const TensorSymbol x = g.input("x", {DType::f32, {kWidth}});
  const auto term = [&](int k) {
    return g.add("leaky_relu alpha=0." + std::to_string(k + 1), {x});
  };
  TensorSymbol loss = x;
  for (int k = 0; k < kTerms; ++k) loss = g.add("add", {loss, term(k)});
  TensorSymbol back = loss;
  for (int k = kTerms; k-- > 0;) back = g.add("mul", {back, term(k)});
  g.set_outputs({loss, back});
  const std::size_t budget = compiled_bytes(g) / 2;
  ASSERT_LT(planned_values(g) * kWidth * sizeof(float), budget);
  const std::string said = said_of(g, loss, budget);
  EXPECT_TRUE(compiled_bytes(g) <= budget || said.find("needs at least") != std::string::npos)
      << said;
}

// A chain of products keeps no value for its way back: there is nothing to compute again.
TEST(Checkpoint, BinomialGoesPastLayersOfWhichTheWayBackReadsNothing) {
  SymbolicGraph g("products");
  const TensorSymbol first = g.input("x", {DType::f32, {4, 4}}), w = g.input("w", g.form(first));
  TensorSymbol x = first;
  for (int k = 0; k < 40; ++k) {
    if (k == 10) x = g.add("tanh", {x});
    x = g.add("matmul", {x, w});
  }
  const TensorSymbol gx = gradient(g, {x}, {first})[0];
  g.set_outputs({gx});
  const std::vector<TensorBinding> bindings = {{first, numbered(g, first)}, {w, numbered(g, w, 3)}};
  const std::vector<Tensor> expected = evaluate(g, bindings, std::vector{gx});
  const CheckpointReport report =
      checkpoint(g, std::vector{x}, {.policy = CheckpointPolicy::binomial, .slots = 1});
  EXPECT_LE(report.copies, 11U) << report.text;
  Context context;
  Executable run = compile(g, {}, context);
  run.run(bindings);
  EXPECT_EQ(bits(run.output(gx)), bits(expected[0]));
}

// No attempt changes the graph, so that none is planned: one with one slot would copy nodes n^1.5
// times if it copied what nothing reads.
TEST(Checkpoint, ABudgetBelowWhatNeedsNoCheckpointIsRefused) {
  SymbolicGraph g("products");
  const TensorSymbol first = g.input("x", {DType::f32, {4, 4}}), w = g.input("w", g.form(first));
  TensorSymbol x = first;
  for (int k = 0; k < 20000; ++k) x = g.add("matmul", {x, w});
  g.set_outputs({x, gradient(g, {x}, {first})[0]});
  const std::size_t planned = compiled_bytes(g);
  const std::string least = "needs at least " + std::to_string(planned) + " bytes, the budget is";
  EXPECT_NE(said_of(g, x, planned - 1).find(least), std::string::npos);
}

// The choice is the one that trying all of them would make. The fewest nodes are computed again
// where the fewest values beyond the budget are left out.
TEST(Checkpoint, ABudgetOnALongChainIsUsedWell) {
  constexpr int kLayers = 3000;
  const std::size_t value = kWidth * sizeof(float);
  for (const std::size_t values : {2000U, 500U, 150U}) {
    Chain chain(kLayers);
    const CheckpointReport report =
        checkpoint(chain.g, std::vector{chain.loss},
                   {.policy = CheckpointPolicy::budget, .budget = values * value});
    const std::size_t needed = planned_values(chain.g);
    EXPECT_LE(needed, values) << report.text;
    EXPECT_GT(needed, values / 2) << report.text;
    EXPECT_EQ(report.most_runs, 2U) << report.text;
    EXPECT_LE(report.copies, kLayers - values / 2) << report.text;
  }
}

/// Layers of tanh, dropout and a batch norm that takes its statistics from the batch.
struct Noisy {
  SymbolicGraph g{"noisy"};
  TensorSymbol x = g.input("x", {DType::f32, {4, 6, 3}});
  TensorSymbol gamma = g.input("gamma", {DType::f32, {6}});
  TensorSymbol beta = g.input("beta", {DType::f32, {6}});
  TensorSymbol loss;
  std::vector<TensorSymbol> statistics, next_statistics;

  explicit Noisy(int layers) {
    TensorSymbol h = x;
    for (int k = 0; k < layers; ++k) {
      for (const char* name : {"mean", "variance"})
        statistics.push_back(g.input(name + std::to_string(k), g.form(gamma)));
      const TensorSymbol pixels = g.reshape(g.add("tanh", {h}), {4, 6, 3, 1});
      h = g.add("dropout ratio=0.25 seed=" + std::to_string(k + 3), {pixels});
      h = g.reshape(h, {4, 6, 3});
      const std::vector<TensorSymbol> norm = {h, gamma, beta, statistics[statistics.size() - 2],
                                              statistics.back()};
      const NodeSymbol node = g.add_node(Command("batch_norm_training"), norm);
      next_statistics.insert(next_statistics.end(), {g.output(node, 1), g.output(node, 2)});
      h = g.output(node, 0);
    }
    loss = g.add("sum axis=1", {g.reshape(g.add("mul", {h, h}), {1, 72})});
    const std::vector<TensorSymbol> grads = gradient(g, {loss}, {x, gamma, beta});
    std::vector<TensorSymbol> outputs = {loss};
    outputs.insert(outputs.end(), grads.begin(), grads.end());
    outputs.insert(outputs.end(), next_statistics.begin(), next_statistics.end());
    g.set_outputs(outputs);
  }
  std::vector<TensorBinding> bindings() const {
    std::vector<TensorBinding> all;
    for (const TensorSymbol input : {x, gamma, beta}) all.emplace_back(input, numbered(g, input));
    for (std::size_t k = 0; k < statistics.size(); ++k)
      all.emplace_back(statistics[k], numbered(g, statistics[k], 2));
    for (std::size_t k = 1; k < statistics.size(); k += 2) fill(all[3 + k].second, 1);
    return all;
  }
  std::size_t recomputed(std::string_view op) const {
    return static_cast<std::size_t>(std::ranges::count_if(g.nodes(), [&](const NodeInfo& n) {
      return !n.removed && n.recomputed > 0 && n.command->definition().name == op;
    }));
  }
};

/// K1: the same numbers are drawn again, and running statistics follow from a batch once.
TEST(Checkpoint, DrawsTheSameNumbersAgainAndUpdatesStatisticsOnce) {
  for (const auto policy : {CheckpointPolicy::square_root, CheckpointPolicy::binomial}) {
    Noisy noisy(6);
    const std::vector<TensorSymbol> outputs = noisy.g.outputs();
    std::vector<TensorBinding> bindings = noisy.bindings();
    // Three steps, each with the statistics that the one before has left.
    std::vector<std::vector<std::byte>> expected;
    const auto next = [&](const std::vector<Tensor>& values) {
      for (std::size_t k = 0; k < noisy.statistics.size(); ++k)
        bindings[3 + k].second = clone(values[4 + k]);
    };
    for (int step = 0; step < 3; ++step) {
      const std::vector<Tensor> values = evaluate(noisy.g, bindings, outputs);
      for (const Tensor& value : values) expected.push_back(bits(value));
      next(values);
    }
    checkpoint(noisy.g, std::vector{noisy.loss}, {.policy = policy, .slots = 2});
    verify(noisy.g);
    EXPECT_GT(noisy.recomputed("dropout"), 2U);
    EXPECT_GT(noisy.recomputed("batch_norm_training"), 2U);
    Context context;
    for (const int streams : {1, 2}) {
      bindings = noisy.bindings();
      Executable run = compile(noisy.g, {.streams = streams, .poison = true}, context);
      std::size_t at = 0;
      for (int step = 0; step < 3; ++step) {
        run.run(bindings);
        std::vector<Tensor> values;
        for (const TensorSymbol output : outputs) {
          values.push_back(run.output(output));
          EXPECT_EQ(bits(values.back()), expected[at++]) << noisy.g.text(output);
        }
        next(values);
      }
    }
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
