// SPDX-License-Identifier: Apache-2.0
// Tests which values stay: counts after each free and detach, blocks that are used again, values
// that only gradients need.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "codegen/random/rng.h"
#include "graphs/dynamic/modes.h"
#include "graphs/symbolic/error_of.h"
#include "mote/dynamic/dynamic_graph.h"

namespace mote {
namespace {

using test::all_of;
using test::elements_of;
using test::rising;
using Numbers = std::vector<double>;

struct Kept : testing::Test {
  Context context;
  DynamicGraph g{context};

  /// "variables values steps", and the bytes that only gradients need.
  std::string counts() const {
    const DynamicStatistics now = g.statistics();
    return std::to_string(now.variables) + " " + std::to_string(now.values) + " " +
           std::to_string(now.steps) + ", " + std::to_string(now.saved_bytes);
  }
};

TEST_F(Kept, CountsAfterEachFree) {
  Variable x = g.variable(rising({4}));
  EXPECT_EQ(counts(), "1 1 0, 0");
  Variable a = x * x;  // its gradient reads x
  EXPECT_EQ(counts(), "2 2 1, 0");
  Variable b = g.run("tanh", {a});  // its gradient reads b
  EXPECT_EQ(counts(), "3 3 2, 0");
  Variable c = b + b;  // its gradient reads nothing
  EXPECT_EQ(counts(), "4 4 3, 0");
  a = {};  // it is a link between b and x, and has no memory any more
  EXPECT_EQ(counts(), "3 4 3, 0");
  b = {};  // the gradient of tanh reads it
  EXPECT_EQ(counts(), "2 4 3, 32");
  x = {};  // nothing that c came from has a name: no gradient can be asked for
  EXPECT_EQ(counts(), "1 1 0, 0");
  c = {};
  EXPECT_EQ(counts(), "0 0 0, 0");
}

TEST_F(Kept, SaysWhyMemoryIsKept) {
  const Variable x = g.variable(rising({2, 3}));
  Variable y;
  {
    const Variable h = x * 2.0;
    y = g.run("tanh", {h * x});
  }
  std::vector<std::string> lines;
  for (const KeptMemory& one : g.memory())
    lines.push_back(one.form + " " + std::to_string(one.bytes) + ": " + one.reason);
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "f64[2,3] 48: a variable has it", "f64[2,3] 48: the gradient of mul reads it",
                "f64[] 8: the gradient of mul reads it", "f64[2,3] 48: a variable has it"}));
}

TEST_F(Kept, CountsAfterEachDetach) {
  const Variable x = g.variable(rising({4}));
  Variable a = x * x;
  Variable d = a.detach();
  EXPECT_EQ(counts(), "3 3 1, 0");
  a = {};
  EXPECT_EQ(counts(), "2 2 0, 0");
  d = d.detach();
  EXPECT_EQ(counts(), "2 2 0, 0");
  Variable view = d.slice(0, 0, 2);
  d = {};  // the view has it
  EXPECT_EQ(counts(), "3 3 0, 0");
  view = {};
  EXPECT_EQ(counts(), "1 1 0, 0");
}

TEST_F(Kept, ViewsOfTracedValuesAreSteps) {
  Variable x = g.variable(rising({4}));
  Variable part = x.slice(0, 0, 2);
  EXPECT_EQ(counts(), "2 2 1, 0");
  Variable y = part * part;
  part = {};  // the gradient of mul reads it; it has memory of x
  EXPECT_EQ(counts(), "2 3 2, 0");
  x = {};
  EXPECT_EQ(counts(), "1 1 0, 0");
  y = {};
  EXPECT_EQ(counts(), "0 0 0, 0");
}

TEST_F(Kept, AnOutputThatOnlyTheGradientReads) {
  // The gradient of max_pool2d reads the indices, which no variable has any more.
  const Variable x = g.variable(rising({1, 2, 2, 1}));
  Variable y = g.run("max_pool2d_with_indices kernel0=2 kernel1=2 stride0=2 stride1=2",
                     {x.permute({0, 3, 1, 2})});
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{0, 0, 0, 1}));
  // dropout's gradient reads its mask, and not x.
  Variable c = g.constant(rising({1, 2, 2, 1}, 1));
  Variable h = x + c;
  Variable dropped = g.run("dropout seed=3", {h});
  const Variable first = g.backward({dropped}, {x})[0];
  h = {};
  c = {};  // so that nothing can be computed again
  EXPECT_EQ(elements_of(g.backward({dropped}, {x})[0]), elements_of(first));
}

TEST_F(Kept, OnlyTheShapeOfWhatIsGoneIsNeeded) {
  // The gradient of sum needs the shape of what was summed.
  const Variable w = g.variable(rising({3}));
  Variable c = g.constant(rising({3}));
  Variable h = w + c;
  const Variable y = g.run("sum axis=0", {h});
  h = {};
  c = {};
  EXPECT_EQ(g.statistics().saved_bytes, 0U);
  EXPECT_EQ(elements_of(g.backward({y}, {w})[0]), (Numbers{1, 1, 1}));
}

TEST_F(Kept, AFreedBlockIsUsedFirst) {
  const Tensor given = all_of({1000}, 1);
  const Variable x = g.constant(given);
  Variable large = x * 2;
  const void* block = large.value().data();
  large = {};
  EXPECT_GE(g.statistics().free_bytes, 8000U);
  Variable smaller = x.slice(0, 0, 600) * 2;
  EXPECT_EQ(smaller.value().data(), block);
  smaller = {};
  g.trim();
  EXPECT_EQ(g.statistics().free_bytes, 0U);
}

TEST_F(Kept, FreesInRandomOrderLeaveNothing) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    test::Rng rng(seed);
    std::vector<Variable> all{g.variable(rising({3}))};
    for (int k = 0; k < 30; ++k) {
      const Variable& x = rng.pick(all);
      const Variable& y = rng.pick(all);
      all.push_back(rng.chance(20) ? x.slice(0, 0, 3) : rng.chance(50) ? x * y : x + y);
      if (rng.chance(20)) all.push_back(all.back().detach());
    }
    rng.shuffle(all);
    while (!all.empty()) all.pop_back();
    EXPECT_EQ(counts(), "0 0 0, 0") << "seed " << seed;
  }
}

TEST_F(Kept, AChainIsFreedWithoutRecursion) {
  const Variable x = g.variable(all_of({}, 1));
  Variable y = x;
  for (int k = 0; k < 200000; ++k) y = y + y;
  EXPECT_EQ(g.statistics().steps, 200000U);
  y = {};
  EXPECT_EQ(counts(), "1 1 0, 0");
}

TEST_F(Kept, ALongTraceOfWhatHasNoNameIsForgottenOnItsWay) {
  const Tensor tensor = rising({4});
  Variable y;
  {
    const Variable x = g.variable(tensor);
    y = x * x;
  }
  EXPECT_GT(tensor.owners(), 1);
  for (int k = 0; k < 200; ++k) y = g.run("tanh", {y});
  EXPECT_EQ(tensor.owners(), 1);
}

TEST_F(Kept, WhatADroppedValueIsComputedFromStaysWithoutAName) {
  std::size_t computed_again = 0;
  for (int layers = 1; layers <= 6; ++layers) {
    DynamicGraph small(context, {.saved_bytes = 1});
    const auto chain = [&](Variable x) {
      for (int k = 0; k < layers; ++k) x = small.run("tanh", {x + x});
      return x;
    };
    const Variable w = small.variable(rising({4}));
    const Variable y =
        chain(small.variable(rising({4}))) * w;  // its gradient reads the chain's end
    const Variable other = w + w;                // values are dropped before this
    (void)small.statistics();
    const Numbers gradient = elements_of(small.backward({y}, {w})[0]);
    EXPECT_EQ(gradient, elements_of(chain(small.constant(rising({4}))))) << layers << " layers";
    computed_again += small.statistics().computed_again;
  }
  EXPECT_GT(computed_again, 0U);
}

TEST_F(Kept, WhatACheckpointComputesAgainStaysWithoutAName) {
  const Variable w = g.variable(rising({4}));
  const auto product = [&](std::span<const Variable> in) {
    return std::vector{g.run("tanh", {in[0] + in[0]}) * w};
  };
  const Variable y = g.checkpoint(product, std::vector{g.variable(rising({4}))})[0];
  (void)g.statistics();
  const Variable doubled = g.constant(rising({4})) * 2;
  EXPECT_EQ(elements_of(g.backward({y}, {w})[0]), elements_of(g.run("tanh", {doubled})));
}

struct KeptInBothModes : test::InBothModes {};
INSTANTIATE_TEST_SUITE_P(Modes, KeptInBothModes, testing::Bool(), test::mode_name);

TEST_P(KeptInBothModes, ACheckpointOfWhatIsNotTraced) {
  // h is a constant that is computed within the checkpoint, and that the gradient reads.
  const Variable x = g.variable(rising({3})), c = g.constant(rising({3}, 1));
  Variable y;
  (void)g.checkpoint(
      [&](std::span<const Variable>) {
        const Variable h = c * c;
        y = x * h;
        return std::vector{y};
      },
      {});
  (void)y.value();
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{1, 4, 9}));
}

TEST_P(KeptInBothModes, ACheckpointComputesFromTheValuesThatItHad) {
  Variable x = g.variable(rising({3}, 1));
  Variable y;
  (void)g.checkpoint(
      [&](std::span<const Variable>) {
        Variable h = x * x;
        h = h * h;
        y = h * x;
        return std::vector{y};
      },
      {});
  const Variable wrt = x.slice(0, 0, 3);  // the gradient with respect to it is 0
  const Variable old = g.backward({y}, {x})[0];
  x += 1;
  EXPECT_EQ(elements_of(old), (Numbers{5, 80, 405}));
  EXPECT_EQ(elements_of(g.backward({y}, {wrt})[0]), (Numbers{0, 0, 0}));
}

TEST_P(KeptInBothModes, ALimitOfWhatIsKeptForGradients) {
  DynamicGraph limited(context, {.deferred = is_deferred(), .saved_bytes = 200});
  const auto gradient_of = [&](DynamicGraph& graph) {
    const Variable x = graph.variable(rising({10}, 1));
    Variable y = x;
    for (int k = 0; k < 12; ++k) {
      y = graph.run("tanh", {y});
      (void)y.value();
    }
    return elements_of(graph.backward({y}, {x})[0]);
  };
  EXPECT_EQ(gradient_of(limited), gradient_of(g));
  EXPECT_GT(limited.statistics().computed_again, 0U);
}

TEST_P(KeptInBothModes, MemoisationKnowsVersionsDtypesAndLayouts) {
  DynamicGraph memo(context, {.deferred = is_deferred(), .memo_bytes = 1000});
  Variable x = memo.constant(rising({2, 2}));
  const auto hits = [&] { return memo.statistics().memo_hits; };
  const Variable first = memo.run("neg", {x});
  EXPECT_EQ(elements_of(memo.run("neg", {x})), (Numbers{0, -1, -2, -3}));
  EXPECT_EQ(hits(), 1U);
  EXPECT_EQ(elements_of(memo.run("abs", {x})), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(elements_of(memo.run("neg", {x.permute({1, 0})})), (Numbers{0, -2, -1, -3}));
  EXPECT_EQ(elements_of(memo.run("neg", {memo.convert(x, {DType::f32, {2, 2}})})),
            (Numbers{0, -1, -2, -3}));
  EXPECT_EQ(hits(), 1U);
  x += 1;
  EXPECT_EQ(elements_of(memo.run("neg", {x})), (Numbers{-1, -2, -3, -4}));
  EXPECT_EQ(hits(), 1U);
  const Variable y = memo.run("sum axis=0", {x}), z = memo.run("sum axis=1", {x});
  EXPECT_EQ(elements_of(y), (Numbers{4, 6}));
  EXPECT_EQ(elements_of(z), (Numbers{3, 7}));
  // No more bytes than the limit are kept, the latest.
  for (int k = 0; k < 100; ++k) (void)(memo.constant(rising({2, 2}, k)) * x).value();
  EXPECT_LE(memo.statistics().memo_bytes, 1000U);
}

TEST_P(KeptInBothModes, MemoisationForgetsTheLeastRecentlyUsed) {
  constexpr std::size_t kResult = 4 * sizeof(double);
  DynamicGraph memo(context, {.deferred = is_deferred(), .memo_bytes = 2 * kResult});
  const Variable x = memo.constant(rising({4}));
  const auto is_found = [&](const char* command) {
    const std::size_t before = memo.statistics().memo_hits;
    (void)memo.run(command, {x}).value();
    return memo.statistics().memo_hits > before;
  };
  EXPECT_FALSE(is_found("neg"));
  EXPECT_FALSE(is_found("abs"));
  EXPECT_TRUE(is_found("neg"));
  EXPECT_FALSE(is_found("exp"));  // in the place of abs
  EXPECT_TRUE(is_found("neg"));
  EXPECT_TRUE(is_found("exp"));
  EXPECT_FALSE(is_found("abs"));
}

/// A result would keep what it was computed from, which no equal command can name any more.
TEST_P(KeptInBothModes, MemoisationKeepsNothingThatNoCommandCanName) {
  DynamicGraph memo(context, {.deferred = is_deferred(), .memo_bytes = 1000});
  const Variable x = memo.variable(all_of({1, 1000}, 1)), one = memo.variable(all_of({1000, 1}, 1));
  for (int k = 0; k < 20; ++k) {
    const Variable h = x * (1.0 + k);
    EXPECT_EQ(elements_of(memo.run("matmul", {h, one})), (Numbers{1000.0 * (1 + k)}));
  }
  EXPECT_LE(memo.statistics().saved_bytes, 1000U);
  // What is still named is found, also as the result of an equal command.
  const auto hits = memo.statistics().memo_hits;
  const Variable small = memo.variable(rising({2}));
  const auto twice = [&] { return (small * small) + small; };
  const Numbers first = elements_of(twice());
  EXPECT_EQ(elements_of(twice()), first);
  EXPECT_EQ(memo.statistics().memo_hits, hits + 2);
}

TEST_P(KeptInBothModes, ALimitOfWhatIsKeptHoldsWhereOnlyTheEndIsLookedAt) {
  DynamicGraph limited(context, {.deferred = is_deferred(), .saved_bytes = 400});
  const Variable x = limited.variable(rising({10}, 1)), same = g.variable(rising({10}, 1));
  const auto chain = [](DynamicGraph& graph, Variable y) {
    for (int k = 0; k < 50; ++k) y = graph.run("tanh", {y});
    (void)y.value();
    return y;
  };
  const Variable y = chain(limited, x), all = chain(g, same);
  EXPECT_LE(limited.statistics().saved_bytes, 480U);  // a value more than the limit, while it runs
  EXPECT_EQ(elements_of(limited.backward({y}, {x})[0]), elements_of(g.backward({all}, {same})[0]));
  EXPECT_GT(limited.statistics().computed_again, 0U);
}

TEST(KeptForEqualCommands, AResultThatWasDroppedBecomesAVariablesValue) {
  Context context;
  DynamicGraph g(context, {.memo_bytes = 100000, .saved_bytes = 100});
  Variable w = g.variable(rising({64}));
  { const Variable square = w * w; }
  const Variable other = g.run("neg", {w});  // this drops the square, which only the memo has
  w *= w;                                    // the memo's result, a function of the old value alone
  EXPECT_EQ(elements_of(w)[3], 9);
  EXPECT_EQ(elements_of(g.backward({w * w}, {w})[0])[3], 18);
}

TEST(KeptPending, WorkThatNoProgramLooksAtIsNotDone) {
  Context context;
  DynamicGraph g(context, {.deferred = true});
  const Variable x = g.variable(rising({3}));
  {
    const Variable y = x * x;
    EXPECT_EQ(g.statistics().pending_steps, 1U);
  }
  EXPECT_EQ(g.statistics().pending_steps, 0U);
  EXPECT_EQ(g.statistics().compilations, 0U);
  // Pending values are computed when they would need too much memory.
  DynamicGraph small(context, {.deferred = true, .pending_bytes = 1000});
  Variable y = small.constant(rising({10}));
  for (int k = 0; k < 100; ++k) {
    y = y + y.slice(0, 0, 1);
    EXPECT_LE(small.statistics().pending_steps, 2U * (1000 / 80 + 1));
  }
}

TEST_P(KeptInBothModes, AnErrorIsReportedWhereTheValueIsLookedAt) {
  const auto failing = std::make_shared<NamedFunction>();
  failing->name = "failing";
  failing->run = [](std::span<const Tensor>, std::span<const Tensor>) {
    throw StatusError(MOTE_FAILED, "failing: it does");
  };
  const Variable x = g.variable(rising({3}));
  const std::vector<VariableRef> given{x};
  const std::vector<TensorForm> forms{{DType::f64, {3}}};
  Variable y;
  const auto act = [&] {
    if (!y) y = g.call(failing, given, forms)[0];
    (y * 2).value();
  };
  const std::string error = test::error_of(act);
  EXPECT_NE(error.find("failing: it does"), std::string::npos) << error;
  EXPECT_EQ(test::error_of(act), error) << "and again";
  EXPECT_EQ(elements_of(x * x), (Numbers{0, 1, 4}));
}

TEST_P(KeptInBothModes, AnErrorOfAFunctionNamesIt) {
  const auto failing = std::make_shared<NamedFunction>();
  failing->name = "look";
  failing->run = [](std::span<const Tensor>, std::span<const Tensor>) {
    throw std::out_of_range("row 3 of 3");
  };
  const Variable x = g.variable(rising({3}));
  const std::vector<VariableRef> given{x};
  const std::vector<TensorForm> forms{{DType::f64, {3}}};
  const std::string error = test::error_of([&] { g.call(failing, given, forms)[0].value(); });
  EXPECT_NE(error.find("look: row 3 of 3"), std::string::npos) << error;
  EXPECT_EQ(elements_of(x * x), (Numbers{0, 1, 4}));
}

}  // namespace
}  // namespace mote
