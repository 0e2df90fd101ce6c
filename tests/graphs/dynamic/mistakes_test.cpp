// SPDX-License-Identifier: Apache-2.0
// Tests that mistakes are errors that say the op, what is wrong, what it got and what is expected,
// in the same words in both modes, and that the graph can be used afterwards.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "graphs/dynamic/modes.h"
#include "graphs/symbolic/error_of.h"
#include "mote/dynamic/dynamic_graph.h"
#include "mote/dynamic/ops.h"

namespace mote {
namespace {

using test::all_of;
using test::elements_of;
using test::error_of;
using test::rising;
using Numbers = std::vector<double>;

struct DynamicMistakes : test::InBothModes {
  /// Each call fails with its text, behind "dynamic graph: " where that is left out.
  static void fail(const std::vector<std::pair<std::function<void()>, std::string>>& calls) {
    for (const auto& [call, text] : calls) EXPECT_EQ(error_of(call), text);
  }
  Variable x = g.variable(rising({2, 3}, 1));
  Variable w = g.variable(rising({3, 2}, 1));
  const Variable single = g.constant(all_of({2, 3}, 1, DType::f32));
  const Variable integers = g.constant(all_of({2, 3}, 1, DType::i64));
  Variable none;
};
INSTANTIATE_TEST_SUITE_P(Modes, DynamicMistakes, testing::Bool(), test::mode_name);

TEST_P(DynamicMistakes, OfCommands) {
  fail(
      {{[&] { matmul(x, x); }, "matmul: axis 2 of b must be K = 3, got 2 (a f64[2,3], b f64[2,3])"},
       {[&] { g.run("sofmax", {x}); }, "unknown op 'sofmax': did you mean softmax?"},
       {[&] { softmax(x, {.axis = 7}); }, "softmax: axis must be in -2..1, got 7 (x f64[2,3])"},
       {[&] { g.run("add", {x}); }, "add: input b is missing"},
       {[&] { g.run("neg", {}); }, "neg: input x is missing"},
       {[&] {
          g.run("neg", {x, x});
        },
        "neg: takes at most 1 inputs, got 2"},
       {[&] { x + single; }, "add: dtypes of a and b differ (a f64[2,3], b f32[2,3])"},
       {[&] { x + w; }, "add: axes of b f64[3,2] do not fit [2,3]"},
       {[&] { x + none; }, "dynamic graph: add: there is no variable"},
       {[&] { none += 1; }, "dynamic graph: add: there is no variable"},
       {[&] { -none; }, "dynamic graph: neg: there is no variable"},
       {[&] { relu(none); }, "dynamic graph: relu: no input is a variable"},
       {[&] {
          g.convert(x, {DType::f64, {6}});
        },
        "dynamic graph: convert: the shape must be that of f64[2,3], got f64[6]"}});
  EXPECT_EQ(elements_of(g.backward({x * x}, {x})[0]), (Numbers{2, 4, 6, 8, 10, 12}));
}

TEST_P(DynamicMistakes, OfWrites) {
  Variable row = g.variable(rising({3}, 1));
  Variable repeated = row.broadcast_to({2, 3});
  fail({{[&] { row -= x; },
         "dynamic graph: sub: a variable of f64[3] cannot have the value f64[2,3]"},
        {[&] { x.assign(w); },
         "dynamic graph: assign: a variable of f64[2,3] cannot have the value f64[3,2]"},
        {[&] { x.assign(single); },
         "dynamic graph: assign: a variable of f64[2,3] cannot have the value f32[2,3]"},
        {[&] { repeated.assign(x); },
         "dynamic graph: assign: a view that repeats elements cannot be written to: "
         "f64[2,3]:0,1"},
        {[&] { g.run_to(w, Command("neg"), {x}); },
         "dynamic graph: neg: a variable of f64[3,2] cannot have the value f64[2,3]"},
        {[&] { row.set(all_of({2}, 1, DType::i64)); },
         "dynamic graph: set: only a tensor of reals has a gradient, got i64[2]"},
        {[&] { row.slice(0, 0, 1).set(rising({1})); },
         "dynamic graph: set: the variable is a view of another one"}});
  EXPECT_EQ(elements_of(row), (Numbers{1, 2, 3}));
  EXPECT_EQ(row.version(), 0U);
}

TEST_P(DynamicMistakes, OfGradients) {
  fail({{[&] { g.backward({integers}, {x}); },
         "dynamic graph: backward: a tensor of i64[2,3] has no gradient"},
        {[&] { g.backward({x * x}, {x}, {.seeds = {w}}); },
         "dynamic graph: backward: a seed must be f64[2,3], got f64[3,2]"},
        {[&] {
           g.backward({x * x}, {x}, {.seeds = {x, x}});
         },
         "dynamic graph: backward: there must be a seed for each of 1 variables, got 2"},
        {[&] { g.backward({x * x}, {x}, {.into = {single}}); },
         "dynamic graph: backward: what a gradient is added to must be f64[2,3], got f32[2,3]"},
        {[&] { g.backward({none}, {x}); }, "dynamic graph: backward: there is no variable"},
        {[&] { g.checkpoint(nullptr, std::vector{x}); },
         "dynamic graph: checkpoint: there is no function"},
        {[&] { dynamic_function("mine", context, nullptr); },
         "dynamic graph: mine: there is no function"}});
  EXPECT_EQ(elements_of(g.backward({x * x}, {x})[0]), (Numbers{2, 4, 6, 8, 10, 12}));
}

std::shared_ptr<NamedFunction> failing_function(int& calls) {
  auto made = std::make_shared<NamedFunction>();
  made->name = "failing";
  made->run = [&calls](std::span<const Tensor>, std::span<const Tensor>) {
    ++calls;
    throw std::runtime_error("it fails");
  };
  return made;
}

/// What fails is reported at its own look, whatever command needs the memory of what is pending.
TEST(MistakesThatArePending, AreNoErrorsOfOtherCommands) {
  Context context;
  DynamicGraph g(context, {.deferred = true, .pending_bytes = 100});
  int calls = 0;
  const auto failing = failing_function(calls);
  const Variable x = g.variable(rising({10}, 1));
  const std::vector<VariableRef> given{x};
  const std::vector<TensorForm> forms{{DType::f64, {10}}};
  const Variable y = g.call(failing, given, forms)[0], after = y + 1.0;
  std::vector<Variable> others;
  for (int k = 0; k < 50; ++k) others.push_back(x * static_cast<double>(k));
  for (int k = 0; k < 50; ++k)
    EXPECT_EQ(elements_of(others[static_cast<std::size_t>(k)])[9], 10 * k);
  EXPECT_LE(calls, 4) << "each of the two values is tried with the others, and alone";
  for (const Variable& one : {y, after})
    EXPECT_EQ(error_of([&] { (void)one.value(); }), "dynamic graph: function failing: it fails");
  EXPECT_EQ(elements_of(g.backward({x * x}, {x})[0])[9], 20);
}

}  // namespace
}  // namespace mote
