// SPDX-License-Identifier: Apache-2.0
// Static graphs in dynamic ones and dynamic ones in static ones, also in loops, with gradients
// through both.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "graphs/dynamic/modes.h"
#include "graphs/dynamic/program_functions.h"
#include "graphs/dynamic/static_loops.h"
#include "graphs/symbolic/error_of.h"
#include "mote/dynamic/dynamic_graph.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

using test::all_of;
using test::elements_of;
using test::loop_of;
using test::rising;
using Numbers = std::vector<double>;

struct Nesting : test::InBothModes {
  std::vector<Variable> run(const StaticFunction& function, std::vector<VariableRef> inputs) {
    return g.run(function, inputs);
  }
  /// x·x + x on variables, as a function node.
  NamedFunction square_and_x() {
    return dynamic_function("square and x", context,
                            [](DynamicGraph&, std::span<const Variable> in) {
                              return std::vector{in[0] * in[0] + in[0]};
                            });
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, Nesting, testing::Bool(), test::mode_name);

TEST_P(Nesting, AStaticFunctionWithViews) {
  SymbolicGraph graph("halves");
  const TensorSymbol x = graph.input("x", {DType::f64, {4}});
  const TensorSymbol low = graph.slice(x, 0, 0, 2), high = graph.slice(x, 0, 2, 2);
  // An output that is a view, one that is an input, and one that is asked for twice.
  const TensorSymbol product = graph.add("mul", {low, high});
  graph.set_outputs({high, x, product, product});
  const Variable v = g.variable(rising({4}, 1));
  const auto y = run(StaticFunction(graph), {v});
  EXPECT_EQ(elements_of(y[0]), (Numbers{3, 4}));
  EXPECT_EQ(elements_of(y[1]), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(elements_of(y[3]), (Numbers{3, 8}));
  EXPECT_EQ(elements_of(g.backward({y[2] * y[0]}, {v})[0]), (Numbers{9, 16, 6, 16}));
  // Outputs are variables of their own.
  Variable first = y[1];
  first += 1;
  EXPECT_EQ(elements_of(v), (Numbers{1, 2, 3, 4}));
}

TEST_P(Nesting, OutputsDoNotDependOnEachOther) {
  SymbolicGraph graph("chain");
  const TensorSymbol x = graph.input("x", {DType::f64, {2}});
  const TensorSymbol h = graph.add("mul", {x, x});
  graph.set_outputs({h, graph.add("mul", {h, x})});
  const Variable v = g.variable(rising({2}, 1));
  const auto y = run(StaticFunction(graph), {v});
  EXPECT_EQ(elements_of(g.backward({y[1]}, {y[0], v})[0]), (Numbers{0, 0}));
  EXPECT_EQ(elements_of(g.backward({y[1]}, {y[0], v})[1]), (Numbers{3, 12}));
  EXPECT_EQ(elements_of(g.backward({y[0] * y[1]}, {y[0], v})[0]), (Numbers{1, 8}));
}

TEST_P(Nesting, AnotherShapeIsCompiledOnce) {
  const StaticFunction f = test::static_function(DType::f64, 1);
  for (int again = 0; again < 3; ++again) {
    for (int extent = 1; extent < 4; ++extent) {
      const Variable x = g.variable(rising({extent}, 1));
      const Variable y = run(f, {x})[0];
      const Numbers values = elements_of(y);
      EXPECT_EQ(values.back(), extent * extent + extent);
      EXPECT_EQ(elements_of(g.backward({y}, {x})[0]).back(), 2 * extent + 1);
    }
    if (again == 0) continue;
    static std::size_t made = 0;
    if (again == 1) made = g.statistics().compilations;
    EXPECT_EQ(g.statistics().compilations, made);
  }
}

TEST_P(Nesting, ADynamicFunctionInAStaticGraph) {
  SymbolicGraph graph("outer");
  const TensorSymbol x = graph.input("x", {DType::f64, {3}});
  const TensorSymbol y = graph.tensor({DType::f64, {3}});
  graph.call(square_and_x(), std::vector{x}, std::vector{y});
  const TensorSymbol gx = gradient(graph, {y}, {x})[0];
  const TensorSymbol ggx = gradient(graph, {gx}, {x})[0];
  const auto values = evaluate(graph, {{x, rising({3}, 1)}}, {y, gx, ggx});
  EXPECT_EQ(values[0].real_at({2}), 12);
  EXPECT_EQ(values[1].real_at({2}), 7);
  EXPECT_EQ(values[2].real_at({2}), 2);
  Executable compiled = compile(graph, {.outputs = {y, gx}, .streams = 2}, context);
  compiled.run({{x, rising({3}, 1)}});
  EXPECT_EQ(compiled.output(gx).real_at({1}), 5);
}

TEST_P(Nesting, ADynamicFunctionInALoop) {
  for (const int count : {0, 1, 3}) {
    const Variable x = g.variable(rising({2}, 1));
    const Variable y = run(StaticFunction(loop_of(square_and_x(), count)), {x})[0];
    Variable expected = x;
    for (int k = 0; k < count; ++k) expected = expected * expected + expected;
    EXPECT_EQ(elements_of(y), elements_of(expected));
    const Variable loss = y * y, same = expected * expected;
    EXPECT_EQ(elements_of(g.backward({loss}, {x})[0]), elements_of(g.backward({same}, {x})[0]));
  }
}

// The memory of the node's inputs is another's after the run, and others write it in the next one.
TEST_P(Nesting, WhatDynamicCodeKeepsOfItsInputsStays) {
  std::vector<Variable> kept;
  bool fails = false;
  SymbolicGraph graph("kept");
  const TensorSymbol x = graph.input("x", {DType::f64, {4}});
  const TensorSymbol y = graph.tensor({DType::f64, {4}}, "y");
  graph.call(dynamic_function("keep", context,
                              [&](DynamicGraph&, std::span<const Variable> in) {
                                kept = {in[0], in[0].slice(0, 1, 2), in[0] + in[0]};
                                if (fails) throw std::runtime_error("keep: no");
                                return std::vector{in[0] * 2.0};
                              }),
             std::vector{graph.add("mul", {x, x})}, std::vector{y});
  graph.set_outputs({y});
  Executable executable = compile(graph, {.poison = true}, context);
  executable.run({{x, rising({4}, 1)}});
  const std::vector<Variable> first = kept;
  fails = true;
  EXPECT_ANY_THROW(executable.run({{x, rising({4}, 2)}}));
  const std::vector<Variable> second = kept;
  fails = false;
  executable.run({{x, rising({4}, 5)}});
  EXPECT_EQ(elements_of(g.constant(executable.output(y))), (Numbers{50, 72, 98, 128}));
  EXPECT_EQ(elements_of(first[0]), (Numbers{1, 4, 9, 16}));
  EXPECT_EQ(elements_of(first[1]), (Numbers{4, 9}));
  EXPECT_EQ(elements_of(first[2]), (Numbers{2, 8, 18, 32}));
  EXPECT_EQ(elements_of(second[0]), (Numbers{4, 9, 16, 25}));
  EXPECT_EQ(elements_of(second[1]), (Numbers{9, 16}));
}

TEST_P(Nesting, ThreeDeep) {
  // A loop of a dynamic function that runs a static graph with a dynamic function in it.
  const StaticFunction inner = test::nested_function(context, DType::f64, 1);
  const NamedFunction middle =
      dynamic_function("middle", context, [&](DynamicGraph& graph, std::span<const Variable> in) {
        const std::vector<VariableRef> given{in[0]};
        return std::vector{graph.run(inner, given)[0] - in[0]};  // x²
      });
  const Variable x = g.variable(rising({2}, 2));
  const Variable y = run(StaticFunction(loop_of(middle, 2)), {x})[0];  // x⁴
  EXPECT_EQ(elements_of(y), (Numbers{16, 81}));
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{32, 108}));
}

TEST_P(Nesting, ACustomFunctionInBoth) {
  const Variable x = g.variable(rising({3}, 1));
  const std::vector<VariableRef> given{x};
  const std::vector<TensorForm> forms{{DType::f64, {3}}};
  const Variable y = g.call(test::square_function(), given, forms)[0];
  EXPECT_EQ(elements_of(g.backward({y * y}, {x})[0]), (Numbers{4, 32, 108}));
  const Variable first = g.backward({y}, {x}, {.is_traced = true})[0];
  EXPECT_EQ(elements_of(g.backward({first}, {x})[0]), (Numbers{2, 2, 2}));
  SymbolicGraph graph("custom");
  const TensorSymbol in = graph.input("in", {DType::f64, {3}});
  const TensorSymbol out = graph.tensor({DType::f64, {3}});
  graph.call(*test::square_function(), std::vector{in}, std::vector{out});
  graph.set_outputs({out});
  const Variable z = run(StaticFunction(graph), {x})[0];
  EXPECT_EQ(elements_of(g.backward({z * z}, {x})[0]), (Numbers{4, 32, 108}));
}

TEST_P(Nesting, GradientsOfSeveralStaticFunctionsAreAdded) {
  const StaticFunction sum = test::static_function(DType::f64, 1);       // x² + x
  const StaticFunction product = test::product_function(DType::f64, 1);  // 2·x³
  const Variable x = g.variable(rising({4}, 1));
  const Variable total = g.zeros({DType::f64, {4}});
  for (int again = 0; again < 2; ++again) {
    const Variable y = run(sum, {x.slice(0, 0, 2)})[0], z = run(product, {x.slice(0, 1, 3)})[0];
    g.backward({y}, {x}, {.into = {total}});
    g.backward({z}, {x}, {.into = {total}});
  }
  EXPECT_EQ(elements_of(total), (Numbers{2 * 3, 2 * (5 + 24), 2 * 54, 2 * 96}));
}

TEST_P(Nesting, ADynamicFunctionOfAViewThatRepeats) {
  const Variable x = g.variable(rising({2}, 1));
  const StaticFunction f = test::nested_function(context, DType::f64, 2);
  const Variable y = run(f, {x.broadcast_to({3, 2})})[0];
  EXPECT_EQ(elements_of(y), (Numbers{2, 6, 2, 6, 2, 6}));
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{9, 15}));
}

TEST_P(Nesting, MistakesOfAFunctionAreErrors) {
  const NamedFunction two = dynamic_function("two", context, [](DynamicGraph&, auto in) {
    return std::vector{in[0], in[0]};
  });
  SymbolicGraph graph("wrong");
  const TensorSymbol x = graph.input("x", {DType::f64, {3}});
  const TensorSymbol y = graph.tensor({DType::f64, {3}});
  graph.call(two, std::vector{x}, std::vector{y});
  graph.set_outputs({y});
  const std::string error = test::error_of(
      [&] { (void)run(StaticFunction(graph), {g.constant(rising({3}))})[0].value(); });
  EXPECT_NE(error.find("two: it must return 1 variables, got 2"), std::string::npos) << error;
}

TEST_P(Nesting, DynamicCodeIsDifferentiatedWithinANoGradientToo) {
  // The way back runs the code again, traced, wherever the gradient is computed.
  const Variable x = g.variable(rising({2, 2}));
  const Variable y = g.run(test::nested_function(context, DType::f64, 2), {x})[0];
  const NoGradient none;
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{1, 3, 5, 7}));
}

TEST_P(Nesting, SecondDerivativesGoThroughWhatAStaticFunctionKeeps) {
  // f = 2·x·x·x by a static function: f'' = 12·x, also when f itself is gone.
  SymbolicGraph graph("product");
  const TensorSymbol s = graph.input("x", {DType::f64, {3}});
  graph.set_outputs({graph.add("mul", {graph.add("mul", {s, s}), graph.add("add", {s, s})})});
  const StaticFunction product(std::move(graph));
  const Variable x = g.variable(rising({3}, 1));
  Variable y = g.run(product, {x})[0];
  const Variable first = g.backward({y}, {x}, {.is_traced = true})[0];
  EXPECT_EQ(elements_of(first), (Numbers{6, 24, 54}));
  EXPECT_EQ(elements_of(g.backward({first}, {x})[0]), (Numbers{12, 24, 36}));
  y = {};
  EXPECT_EQ(elements_of(g.backward({first}, {x})[0]), (Numbers{12, 24, 36}));
}

TEST_P(Nesting, SeedsOfAnyLayoutFollowEachOther) {
  const Variable x = g.variable(rising({2, 3}, 1));
  const Variable y = x + x;
  const Variable one = g.scalar(DType::f64, 3).broadcast_to({2, 3});
  const Variable many = g.constant(rising({2, 3}));
  for (const Variable& seed : {one, many, one})
    EXPECT_EQ(elements_of(g.backward({y}, {x}, {.seeds = {seed}})[0]), elements_of(seed + seed));
}

}  // namespace
}  // namespace mote
