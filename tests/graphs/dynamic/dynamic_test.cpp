// SPDX-License-Identifier: Apache-2.0
// Values, versions, views, memory and gradients of dynamic graphs.
#include <gtest/gtest.h>

#include "graphs/compile/numbered.h"
#include "graphs/dynamic/modes.h"
#include "graphs/symbolic/error_of.h"
#include "mote/dynamic/dynamic_graph.h"
#include "mote/dynamic/ops.h"
#include "mote/runtime/infer.h"

namespace mote {
namespace {

using test::all_of;
using test::bits;
using test::numbered;

Tensor full(const AxisList& shape, double value) { return test::all_of(shape, value, DType::f32); }

struct Dynamic : test::InBothModes {};
INSTANTIATE_TEST_SUITE_P(Modes, Dynamic, testing::Bool(), test::mode_name);

TEST_P(Dynamic, ValuesAreThereWhenLookedAt) {
  const Tensor x = numbered(TensorForm(DType::f32, {4, 3}), 1);
  const Tensor w = numbered(TensorForm(DType::f32, {3, 5}), 2);
  const Variable h = g.run("matmul", {g.constant(x), g.constant(w)});
  const Variable y = g.run("tanh", {h});
  EXPECT_EQ(y.is_pending(), GetParam());
  const Tensor product = compute(Command("matmul"), {&x, &w})[0];
  EXPECT_EQ(bits(y.value()), bits(compute(Command("tanh"), {&product})[0]));
  EXPECT_EQ(bits(h.value()), bits(product));
  EXPECT_FALSE(y.is_pending());
}

TEST_P(Dynamic, ViewsOfViewsAreSeen) {
  const Tensor x = numbered(TensorForm(DType::f32, {4, 6}), 1);
  const Variable y = g.run("neg", {g.constant(x)});
  const Variable part = y.slice(0, 1, 2).permute({1, 0}).slice(0, 0, 3, 2);
  const Tensor whole = y.value();
  EXPECT_EQ(bits(part.value()),
            bits(clone(whole.slice(0, 1, 2).permute({1, 0}).slice(0, 0, 3, 2))));
}

TEST_P(Dynamic, GradientOfAFunctionOfScalars) {
  // f = x·y + x·x·x: df/dx = y + 3·x·x, df/dy = x. All numbers are exact.
  const Variable x = g.variable(all_of({}, 0.5));
  const Variable y = g.variable(all_of({}, 3));
  const Variable f = x * y + x * x * x;
  const std::vector<Variable> gradients = g.backward({f}, {x, y});
  EXPECT_EQ(gradients[0].item(), 3 + 3 * 0.25);
  EXPECT_EQ(gradients[1].item(), 0.5);
}

TEST_P(Dynamic, HigherOrders) {
  const Variable x = g.variable(all_of({}, 2));
  Variable y = x * x * x * x;  // x^4
  const double expected[] = {4 * 8, 12 * 4, 24 * 2, 24, 0};
  for (const double derivative : expected) {
    y = g.backward({y}, {x}, {.is_traced = true})[0];
    EXPECT_EQ(y.item(), derivative);
    if (derivative == 24) break;  // a constant: nothing depends on x any more
  }
}

TEST_P(Dynamic, OverwritingAVariableKeepsWhatItsGradientReads) {
  // y = x·y, ten times from y = 1: y = x^10, exactly.
  const Variable x = g.variable(all_of({}, 1.5));
  const Variable y = g.constant(all_of({}, 1));
  double power = 1;  // x^9
  for (int k = 0; k < 9; ++k) power *= 1.5;
  for (int k = 0; k < 10; ++k) g.run_to(y, Command("mul"), {x, y});
  EXPECT_EQ(y.version(), 10U);
  EXPECT_EQ(y.item(), 1.5 * power);
  EXPECT_EQ(g.backward({y}, {x})[0].item(), 10 * power);
}

TEST_P(Dynamic, AValueThatTwoLossesUse) {
  const Variable x = g.variable(all_of({3}, 2));
  const Variable h = x * x;
  const Variable a = g.run("sum axis=0", {h}), b = g.run("sum axis=0", {h * h});
  EXPECT_EQ(g.backward({a}, {x})[0].value().real_at({0}), 4);
  EXPECT_EQ(g.backward({b}, {x})[0].value().real_at({0}), 32);
  EXPECT_EQ(g.backward({a, b}, {x})[0].value().real_at({2}), 36);
}

TEST_P(Dynamic, SeedsAndSums) {
  const Variable x = g.variable(all_of({2}, 3));
  const Variable y = x * x;
  Variable sum = g.constant(all_of({2}, 1));
  g.backward({y}, {x}, {.seeds = {g.constant(all_of({2}, 0.5))}, .into = {sum}});
  g.backward({y}, {x}, {.into = {sum}});
  EXPECT_EQ(sum.value().real_at({1}), 1 + 3 + 6);
}

TEST_P(Dynamic, DetachAndNoGradient) {
  const Variable x = g.variable(all_of({}, 2));
  const Variable y = x * x.detach();
  EXPECT_EQ(g.backward({y}, {x})[0].item(), 2);
  const std::size_t before = g.statistics().steps;
  {
    const NoGradient none;
    const Variable z = x * x;
    EXPECT_FALSE(z.is_traced());
    EXPECT_EQ(z.item(), 4);
  }
  EXPECT_EQ(g.statistics().steps, before);
}

TEST_P(Dynamic, WhatNothingDependsOnGetsZeros) {
  const Variable x = g.variable(full({2}, 2)), z = g.variable(full({3}, 1));
  const Variable y = x * x;
  const std::vector<Variable> gradients = g.backward({y}, {z, x});
  EXPECT_EQ(gradients[0].value().real_at({2}), 0);
  EXPECT_EQ(gradients[1].value().real_at({1}), 4);
  EXPECT_EQ(g.backward({x}, {x})[0].value().real_at({0}), 1);
}

TEST_P(Dynamic, TheSecondEqualStepCompilesNothing) {
  Variable w = g.variable(numbered(TensorForm(DType::f32, {3, 5}), 2));
  std::size_t made = 0;
  for (int step = 0; step < 5; ++step) {
    const Variable x = g.constant(numbered(TensorForm(DType::f32, {4, 3}), step));
    const Variable y = g.run("matmul", {x, w});
    const Variable loss = g.run("sum axis=0", {g.run("tanh", {y}).reshape({20})});
    const Variable gw = g.backward({loss}, {w})[0];
    w -= 0.1 * gw;
    w.value();
    if (step == 1) made = g.statistics().compilations;
  }
  EXPECT_GT(made, 0U);
  EXPECT_EQ(g.statistics().compilations, made);
}

TEST_P(Dynamic, BookkeepingIsFlat) {
  Variable w = g.variable(numbered(TensorForm(DType::f32, {3, 5}), 2));
  const Tensor x = numbered(TensorForm(DType::f32, {4, 3}), 1);
  DynamicStatistics first;
  for (int step = 0; step < 100; ++step) {
    {
      const Variable loss =
          g.run("sum axis=0", {g.run("tanh", {g.run("matmul", {g.constant(x), w})}).reshape({20})});
      w -= 0.1 * g.backward({loss}, {w})[0];
    }
    w.value();
    if (step == 10) first = g.statistics();
  }
  const DynamicStatistics last = g.statistics();
  EXPECT_EQ(to_text(last), to_text(first));
  EXPECT_EQ(last.steps, 0U);
  EXPECT_EQ(last.values, 2U);  // w, and the constant 0.1
  EXPECT_EQ(last.variable_bytes, 60U);
}

TEST_P(Dynamic, UpdatesByAnExpressionAreFlatToo) {
  Variable w = g.variable(all_of({3}, 2));
  std::size_t steps = 0;
  for (int step = 0; step < 50; ++step) {
    {
      const Variable gw = g.backward({w * w}, {w})[0];
      w.assign(w * 0.5 - 0.125 * gw + 1);
    }
    (void)w.value();
    if (step == 10) steps = g.statistics().steps;
  }
  EXPECT_EQ(g.statistics().steps, steps);
  EXPECT_LE(steps, 4U);  // those of one update, while its temporary variables lived
}

TEST_P(Dynamic, WritesThroughViews) {
  const Variable x = g.variable(all_of({2, 3}, 2));
  const Variable y = g.zeros({DType::f64, {4, 3}});
  const Variable top = y.slice(0, 0, 2), bottom = y.slice(0, 2, 2);
  g.run_to(top, Command("mul"), {x, x});
  g.run_to(bottom, Command("neg"), {x});
  EXPECT_EQ(y.value().real_at({1, 1}), 4);
  EXPECT_EQ(y.value().real_at({3, 2}), -2);
  EXPECT_EQ(bottom.value().real_at({0, 0}), -2);
  const Variable loss = g.run("sum axis=0", {(y * y).reshape({12})});
  // d/dx of x^4 + x^2
  EXPECT_EQ(g.backward({loss}, {x})[0].value().real_at({0, 1}), 4 * 8 + 2 * 2);
}

TEST_P(Dynamic, CheckpointsGiveTheSameBits) {
  const Variable w = g.variable(numbered(TensorForm(DType::f32, {5, 5}), 2));
  const auto layers = [&](std::span<const Variable> in) {
    Variable h = in[0];
    for (int k = 0; k < 4; ++k) h = g.run("tanh", {g.run("matmul", {h, w})});
    return std::vector{h};
  };
  const Variable x = g.variable(numbered(TensorForm(DType::f32, {4, 5}), 1));
  const std::vector<Variable> plain = g.backward(layers(std::vector{x}), std::vector{x, w});
  const std::vector<Variable> inputs{x};
  const std::vector<Variable> kept = g.checkpoint(layers, inputs);
  const std::vector<Variable> again = g.backward(kept, std::vector{x, w});
  for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(bits(plain[k].value()), bits(again[k].value()));
}

TEST_P(Dynamic, OpsAreFunctions) {
  const Tensor x = numbered(TensorForm(DType::f32, {2, 3, 5, 5}), 1);
  const Tensor w = numbered(TensorForm(DType::f32, {4, 3, 3, 3}), 2);
  const Variable y = conv2d(g.constant(x), g.constant(w), {.stride0 = 2, .pads0 = 1});
  EXPECT_EQ(bits(y.value()),
            bits(compute(Command("conv2d", {{"stride0", 2}, {"pads0", 1}}), {&x, &w})[0]));
  const auto [values, indices] = max_pool2d_with_indices(g.constant(x), 2, 2);
  EXPECT_EQ(values.form().dtype, DType::f32);
  EXPECT_EQ(indices.form().dtype, DType::i64);
  EXPECT_EQ(sum(g.constant(x), {.axis = 1}).form().shape, AxisList({2, 5, 5}));
}

TEST_P(Dynamic, MistakesAreErrors) {
  const Variable x = g.variable(full({2}, 2));
  DynamicGraph other(context);
  EXPECT_EQ(test::error_of([&] { g.run("neg", {other.constant(full({2}, 1))}); }),
            "dynamic graph: neg: a variable belongs to another dynamic graph");
  EXPECT_EQ(
      test::error_of([&] { g.backward({x * x}, {g.constant(full({2}, 1))}); }),
      "dynamic graph: backward: variable 0 of those that a gradient is asked for, f32[2], is a "
      "constant, or was computed from constants");
  EXPECT_EQ(test::error_of([&] { Variable().value(); }),
            "dynamic graph: value: there is no variable");
}

}  // namespace
}  // namespace mote
