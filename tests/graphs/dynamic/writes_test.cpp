// SPDX-License-Identifier: Apache-2.0
// Writes to variables that something else needs: what users of other frameworks stumble on.
#include <gtest/gtest.h>

#include "graphs/dynamic/modes.h"
#include "graphs/symbolic/error_of.h"
#include "mote/dynamic/dynamic_graph.h"

namespace mote {
namespace {

using test::all_of;
using test::elements_of;
using test::error_of;
using test::rising;
using Numbers = std::vector<double>;

struct DynamicWrites : test::InBothModes {};
INSTANTIATE_TEST_SUITE_P(Modes, DynamicWrites, testing::Bool(), test::mode_name);

TEST_P(DynamicWrites, AValueThatAGradientReadsStays) {
  const Variable x = g.variable(rising({3}, 1));
  Variable h = x * x;
  const Variable y = h * h;  // the gradient reads h
  h += 1;                    // another value, under the same name
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{4, 32, 108}));
  EXPECT_EQ(elements_of(g.backward({h}, {x})[0]), (Numbers{2, 4, 6}));
}

TEST_P(DynamicWrites, AValueThatAGradientReadsStaysThroughAView) {
  const Variable x = g.variable(rising({3}, 1));
  const Variable h = x * x;
  Variable part = h.slice(0, 1, 2);
  const Variable y = part * part;
  part += 1;
  EXPECT_EQ(elements_of(h), (Numbers{1, 5, 10}));
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{0, 32, 108}));
}

TEST_P(DynamicWrites, GradientsAgainAfterAGradient) {
  const Variable x = g.variable(rising({2}, 2));
  const Variable y = x * x * x;
  for (int again = 0; again < 3; ++again)
    EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{12, 27}));
  const Variable first = g.backward({y}, {x}, {.is_traced = true})[0];
  EXPECT_EQ(elements_of(g.backward({first}, {x})[0]), (Numbers{12, 18}));
  EXPECT_EQ(elements_of(g.backward({first}, {x})[0]), (Numbers{12, 18}));
}

TEST_P(DynamicWrites, AGradientThatIsNotTracedCannotBeDifferentiated) {
  const Variable x = g.variable(rising({2}, 2));
  const Variable first = g.backward({x * x * x}, {x})[0];
  EXPECT_FALSE(first.is_traced());
  EXPECT_EQ(
      error_of([&] { g.backward({x * x}, {first}); }),
      "dynamic graph: backward: variable 0 of those that a gradient is asked for, f64[2], is a "
      "constant, or was computed from constants");
}

TEST_P(DynamicWrites, AParameterStaysOneWithinANoGradient) {
  Variable w = g.variable(rising({2}, 1));
  for (int step = 0; step < 3; ++step) {
    const Variable gradient = g.backward({w * w}, {w})[0];
    const NoGradient none;
    w -= gradient;  // w becomes -w
    EXPECT_TRUE(w.is_traced());
  }
  EXPECT_EQ(elements_of(w), (Numbers{-1, -2}));
  EXPECT_EQ(g.statistics().steps - g.statistics().pending_steps, 0U);
  EXPECT_EQ(elements_of(g.backward({w * w}, {w})[0]), (Numbers{-2, -4}));
}

TEST_P(DynamicWrites, AParameterStaysOneIfAPartIsWrittenWithinANoGradient) {
  const Variable w = g.variable(rising({2}, 1));
  {
    const NoGradient none;
    w.slice(0, 1, 1).assign(g.constant(all_of({1}, 5)));
  }
  EXPECT_EQ(elements_of(w), (Numbers{1, 5}));
  EXPECT_EQ(elements_of(g.backward({w * w}, {w})[0]), (Numbers{2, 10}));
}

TEST_P(DynamicWrites, AViewThatIsLookedAtWithinANoGradientIsTracedBehindIt) {
  Variable w = g.variable(rising({2}, 1));
  const Variable part = w.slice(0, 0, 1);
  w.set(rising({2}, 3));
  {
    const NoGradient none;
    EXPECT_EQ(part.item(), 3);
  }
  EXPECT_EQ(elements_of(g.backward({part * part}, {w})[0]), (Numbers{6, 0}));
}

TEST_P(DynamicWrites, ResultsWithinANoGradientAreConstants) {
  const Variable w = g.variable(rising({2}, 1));
  Variable y = w * w;
  {
    const NoGradient none;
    y *= 2;
  }
  EXPECT_FALSE(y.is_traced());
  EXPECT_EQ(elements_of(y), (Numbers{2, 8}));
}

TEST_P(DynamicWrites, ALossSummedUpWithoutItsHistory) {
  Variable w = g.variable(all_of({}, 1));
  Variable total = g.constant(all_of({}, 0));
  std::size_t steps = 0;
  for (int k = 0; k < 5; ++k) {
    const Variable loss = w * w;
    total += loss.detach();
    w -= 0.25 * g.backward({loss}, {w})[0];
    g.finish();
    if (k == 2) steps = g.statistics().steps;
    if (k > 2) {
      EXPECT_EQ(g.statistics().steps, steps);
    }
  }
  EXPECT_EQ(total.item(), 1 + 0.25 + 0.0625 + 0.015625 + 0.00390625);
}

TEST_P(DynamicWrites, GradientsAreAddedToWhatIsThere) {
  const Variable x = g.variable(rising({2}, 1)), y = g.variable(rising({2}, 2));
  const Variable of_x = g.constant(all_of({2}, 100)), of_y = of_x.detach();
  g.backward({x * y}, {x, y}, {.into = {of_x, of_y}});
  g.backward({x * x}, {x}, {.into = {of_x}});
  EXPECT_EQ(elements_of(of_x), (Numbers{102 + 2, 103 + 4}));
  EXPECT_EQ(elements_of(of_y), (Numbers{101, 102}));
  const Variable whole = g.constant(all_of({3}, 0));
  g.backward({x * x}, {x}, {.into = {whole.slice(0, 1, 2)}});
  EXPECT_EQ(elements_of(whole), (Numbers{0, 2, 4}));
}

TEST_P(DynamicWrites, AnEffectIsKnownWithoutItsGradient) {
  const Variable x = g.variable(rising({2})), y = g.variable(rising({2}));
  const Variable h = x * y, cut = h.detach() + y;
  EXPECT_TRUE(g.has_effect(x, h));
  EXPECT_TRUE(g.has_effect(h, h));
  EXPECT_FALSE(g.has_effect(h, x));
  EXPECT_FALSE(g.has_effect(x, cut));
  EXPECT_TRUE(g.has_effect(y, cut));
  EXPECT_FALSE(g.has_effect(g.constant(rising({2})), h));
}

TEST_P(DynamicWrites, ConstantsTraceNothing) {
  const Variable x = g.constant(rising({2}));
  const Variable y = x * x + g.scalar(DType::f64, 3);
  (void)y.value();
  EXPECT_FALSE(y.is_traced());
  EXPECT_EQ(g.statistics().steps, 0U);
}

/// run_in_place keeps the address, and says what forbids it.
struct InPlace : testing::Test {
  Context context;
  DynamicGraph g{context};
};

TEST_F(InPlace, KeepsTheAddress) {
  const Variable x = g.constant(rising({4}));
  const void* before = x.value().data();
  g.run_in_place(x, Command("neg"));
  EXPECT_EQ(x.value().data(), before);
  EXPECT_EQ(elements_of(x), (Numbers{0, -1, -2, -3}));
  EXPECT_EQ(x.version(), 1U);
}

TEST_F(InPlace, KeepsTheAddressAfterATrim) {
  const Variable x = g.constant(rising({4}));
  g.trim();
  const void* before = x.value().data();
  g.run_in_place(x, Command("neg"));
  EXPECT_EQ(x.value().data(), before);
}

TEST_F(InPlace, NamesBothOps) {
  const Variable x = g.variable(rising({4}));
  const Variable y = x * x;
  EXPECT_EQ(error_of([&] { g.run_in_place(x, Command("neg")); }),
            "dynamic graph: neg cannot write over its input: the gradient of mul reads it");
  const Variable z = g.run("tanh", {y});  // its gradient reads z, and not y
  EXPECT_EQ(error_of([&] { g.run_in_place(z, Command("neg")); }),
            "dynamic graph: neg cannot write over its input: the gradient of tanh reads it");
  g.run_in_place(y, Command("neg"));
  EXPECT_EQ(elements_of(y), (Numbers{0, -1, -4, -9}));
}

TEST_F(InPlace, NamesBothOpsThroughAView) {
  const Variable x = g.variable(rising({4}));
  const Variable h = x + x;
  const Variable part = h.slice(0, 0, 2);
  const Variable y = part * part;
  EXPECT_EQ(error_of([&] { g.run_in_place(h, Command("neg")); }),
            "dynamic graph: neg cannot write over its input: the gradient of mul reads it");
  const Variable other = h.slice(0, 2, 2);
  EXPECT_EQ(error_of([&] { g.run_in_place(other, Command("neg")); }),
            "dynamic graph: neg cannot write over its input: it is a view of a variable");
  for (const Variable& view : {part, h.slice(0, 1, 2), h.slice(0, 1, 3).slice(0, 0, 1)})
    EXPECT_EQ(error_of([&] { g.run_in_place(view, Command("neg")); }),
              "dynamic graph: neg cannot write over its input: the gradient of mul reads it");
}

TEST_F(InPlace, NamesTheReaderWhereTheOpCannotWriteInPlaceEither) {
  const Variable x = g.variable(rising({1, 4, 1}));
  const Variable h = x + x;
  const Variable y = h * h;
  EXPECT_EQ(error_of([&] { g.run_in_place(h, Command("cumsum")); }),
            "dynamic graph: cumsum cannot write over its input: the gradient of mul reads it");
  SymbolicGraph square("square");
  const TensorSymbol in = square.input("x", {DType::f64, {1, 4, 1}});
  square.set_outputs({square.add("mul", {in, in})});
  const Variable k = x - 1.0;
  const Variable z = g.run(StaticFunction(square), {k})[0];
  EXPECT_EQ(
      error_of([&] { g.run_in_place(k, Command("neg")); }),
      "dynamic graph: neg cannot write over its input: the gradient of graph square reads it");
}

/// A result that is kept for equal commands may share its memory with a detached variable.
TEST_F(InPlace, WhatIsKeptForOtherCommandsIsNotWrittenOver) {
  DynamicGraph remembers(context, {.memo_bytes = 1000});
  const Variable x = remembers.constant(rising({4}, 1));
  const Variable detached = (x * 2).detach();
  EXPECT_EQ(error_of([&] { remembers.run_in_place(detached, Command("neg")); }),
            "dynamic graph: neg cannot write over its input: it is kept for equal commands");
  EXPECT_EQ(elements_of(x * 2), (Numbers{2, 4, 6, 8}));
  const Variable three = g.scalar(DType::f64, 3).detach();
  EXPECT_EQ(error_of([&] { g.run_in_place(three, Command("neg")); }),
            "dynamic graph: neg cannot write over its input: it is kept for equal commands");
  EXPECT_EQ(elements_of(g.constant(rising({2})) * 3), (Numbers{0, 3}));
}

TEST_F(InPlace, AnotherVariableKeepsItsValue) {
  const Variable x = g.constant(rising({2}));
  Variable y = g.constant(rising({2}));
  y.assign(x);
  EXPECT_EQ(error_of([&] { g.run_in_place(x, Command("neg")); }),
            "dynamic graph: neg cannot write over its input: another variable has it");
  EXPECT_EQ(error_of([&] { g.run_in_place(x, Command("mul"), {x}); }),
            "dynamic graph: mul cannot write over its input: another variable has it");
}

TEST_F(InPlace, AWriteTakesTheMemoryOfAValueThatNothingNeeds) {
  Variable x = g.constant(rising({4})) * 1;
  const void* before = x.value().data();
  x += 1;
  EXPECT_EQ(x.value().data(), before);
  const Tensor seen = x.value();
  x += 1;
  EXPECT_NE(x.value().data(), before);
  EXPECT_EQ(seen.real_at({0}), 1);
}

}  // namespace
}  // namespace mote
