// SPDX-License-Identifier: Apache-2.0
// Tests that the tapes of static loops, and the traces of dynamic code, serve gradients from the
// other kind of graph: nothing runs again, and what is kept goes with its last reader.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "graphs/dynamic/modes.h"
#include "graphs/dynamic/program_functions.h"
#include "graphs/dynamic/static_loops.h"
#include "mote/dynamic/dynamic_graph.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

using test::all_of;
using test::elements_of;
using test::loop_of;
using test::rising;
using Numbers = std::vector<double>;

/// x·x by the caller's code, which counts its calls.
NamedFunction counted_square(const std::shared_ptr<int>& calls) {
  NamedFunction function = *test::square_function();
  function.run = [calls, run = function.run](std::span<const Tensor> in,
                                             std::span<const Tensor> out) {
    ++*calls;
    run(in, out);
  };
  return function;
}

struct TapesAcross : testing::Test {
  Context context;
  DynamicGraph g{context};
  std::shared_ptr<int> calls = std::make_shared<int>(0);

  std::vector<Variable> run(const StaticFunction& function, std::vector<VariableRef> inputs) {
    return g.run(function, inputs);
  }
  static double power(double x, int n) { return std::pow(x, n); }
};

TEST_F(TapesAcross, ALoopIsNotRunAgainByItsGradient) {
  const StaticFunction f(loop_of(counted_square(calls), 3));  // x⁸
  for (const double start : {1.0, 0.5}) {
    const Variable x = g.variable(all_of({2}, start));
    *calls = 0;
    const Variable y = run(f, {x})[0];
    EXPECT_EQ(*calls, 3);
    const double slope = 8 * power(start, 7);
    // Nothing is used up, and another question is another graph.
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{slope, slope}));
      EXPECT_EQ(elements_of(g.backward({y * y}, {x})[0]),
                (Numbers{2 * power(start, 8) * slope, 2 * power(start, 8) * slope}));
    }
    EXPECT_EQ(*calls, 3);
  }
}

// The gradient of tanh reads its result, which no variable has any more.
TEST_F(TapesAcross, ALoopIsNotRunAgainForAnOutputThatIsGone) {
  SymbolicGraph graph = loop_of(counted_square(calls), 3);
  const TensorSymbol t = graph.add("tanh", {graph.outputs()[0]});
  graph.set_outputs({t});
  const StaticFunction f(graph);
  const Variable x = g.variable(all_of({2}, 0.5));
  const Variable y = run(f, {x})[0];
  const Numbers expected = elements_of(g.backward({y + 1.0}, {x})[0]);
  *calls = 0;
  const Variable z = run(f, {x})[0] + 1.0;
  for (int k = 0; k < 2; ++k) EXPECT_EQ(elements_of(g.backward({z}, {x})[0]), expected);
  EXPECT_EQ(*calls, 3);
}

TEST_F(TapesAcross, EachRunHasItsOwnTape) {
  const StaticFunction f(loop_of(counted_square(calls), 2));  // x⁴
  const Variable x = g.variable(all_of({2}, 2)), z = g.variable(all_of({2}, 3));
  const Variable a = run(f, {x})[0], b = run(f, {z})[0], c = run(f, {x * z})[0];
  *calls = 0;
  const auto gradients = g.backward({a * b, c}, {x, z});
  EXPECT_EQ(elements_of(gradients[0]),
            (Numbers{4 * 8 * 81.0 + 4 * 216 * 3.0, 4 * 8 * 81.0 + 4 * 216 * 3.0}));
  EXPECT_EQ(elements_of(gradients[1]),
            (Numbers{16 * 4 * 27.0 + 4 * 216 * 2.0, 16 * 4 * 27.0 + 4 * 216 * 2.0}));
  EXPECT_EQ(*calls, 0);
}

TEST_F(TapesAcross, LoopsInLoopsHaveThemToo) {
  // (x⁴)⁴: a loop of two iterations of a loop of two.
  SymbolicGraph inner = loop_of(counted_square(calls), 2);
  SymbolicGraph body("outer");
  const TensorSymbol x = body.input("x", {DType::f64, {2}});
  const TensorSymbol counter = body.input("counter", {DType::i64, {}});
  const NodeInfo& loop = inner.nodes()[0];
  const NodeSymbol node =
      body.add_while(loop.control->graphs[0], std::vector{x}, {.has_counter = true});
  Tensor limit(DType::i64, {});
  fill(limit, 2);
  body.set_outputs(
      {body.output(node, 0), body.add("less", {counter, body.constant("limit", limit)})});
  SymbolicGraph graph("loops");
  const TensorSymbol in = graph.input("in", {DType::f64, {2}});
  graph.set_outputs({graph.output(graph.add_while(body, {in}, {.has_counter = true}), 0)});
  const Variable v = g.variable(all_of({2}, 1.5));
  const Variable y = run(StaticFunction(std::move(graph)), {v})[0];
  EXPECT_EQ(*calls, 4);
  const double slope = 16 * power(1.5, 15);
  EXPECT_EQ(elements_of(g.backward({y}, {v})[0]), (Numbers{slope, slope}));
  EXPECT_EQ(*calls, 4);
}

TEST_F(TapesAcross, GradientsOfGradientsGoThroughThem) {
  const StaticFunction f(loop_of(counted_square(calls), 2));  // x⁴
  const Variable x = g.variable(all_of({2}, 3));
  Variable y = run(f, {x})[0];
  const Variable first = g.backward({y}, {x}, {.is_traced = true})[0];
  EXPECT_EQ(elements_of(first), (Numbers{4 * 27, 4 * 27}));
  for (int k = 0; k < 2; ++k)
    EXPECT_EQ(elements_of(g.backward({first}, {x})[0]), (Numbers{12 * 9, 12 * 9}));
  const Variable second = g.backward({first}, {x}, {.is_traced = true})[0];
  y = {};
  EXPECT_EQ(elements_of(g.backward({second}, {x})[0]), (Numbers{24 * 3, 24 * 3}));
}

/// The third gradient of relu reads more than the first ones do: the loop runs again for it.
TEST_F(TapesAcross, ATapeThatLacksWhatAGradientReadsIsMadeAgain) {
  const NamedFunction same{.name = "same",
                           .run =
                               [this](std::span<const Tensor> from, std::span<const Tensor> to) {
                                 ++*calls;
                                 copy(from[0], to[0]);
                               },
                           .gradient =
                               [](SymbolicGraph&, const FunctionCall& call) {
                                 return std::vector<TensorSymbol>{call.gradients[0]};
                               }};
  SymbolicGraph body("body");
  const TensorSymbol x = body.input("x", {DType::f64, {2}});
  const TensorSymbol counter = body.input("counter", {DType::i64, {}});
  const TensorSymbol h = body.tensor({DType::f64, {2}});
  body.call(same, std::vector{x}, std::vector{h});
  const Tensor count(DType::i64, {});
  fill(count, 2);
  body.set_outputs({body.add("relu", {h}), body.add("sub", {body.constant("", count), counter})});
  SymbolicGraph graph("loop");
  const TensorSymbol in = graph.input("in", {DType::f64, {2}});
  graph.set_outputs({graph.output(graph.add_while(body, {in}, {.has_counter = true}), 0)});
  const Variable v = g.variable(all_of({2}, 1.5));
  const Variable y = run(StaticFunction(std::move(graph)), {v})[0];
  Variable slope = y * y;
  for (const double expected : {3, 2}) {
    slope = g.backward({slope}, {v}, {.is_traced = true})[0];
    EXPECT_EQ(elements_of(slope), (Numbers{expected, expected}));
  }
  EXPECT_EQ(*calls, 2);
  EXPECT_EQ(elements_of(g.backward({slope}, {v})[0]), (Numbers{0, 0}));
  EXPECT_EQ(*calls, 4);
}

TEST_F(TapesAcross, ATapeGoesWithWhatReadsIt) {
  const std::int64_t before = tape_bytes().now;
  {
    const StaticFunction f(loop_of(counted_square(calls), 5));
    const Variable x = g.variable(all_of({2}, 1));
    {
      const Variable y = run(f, {x})[0];
      EXPECT_GT(tape_bytes().now, before);
      (void)g.backward({y}, {x});
    }
    EXPECT_EQ(tape_bytes().now, before);
    const Variable z = g.checkpoint([&](std::span<const Variable> in) { return run(f, {in[0]}); },
                                    std::vector{x})[0];
    EXPECT_EQ(tape_bytes().now, before);
    *calls = 0;
    EXPECT_EQ(elements_of(g.backward({z}, {x})[0]), (Numbers{32, 32}));
    EXPECT_EQ(*calls, 5);
    EXPECT_EQ(tape_bytes().now, before);
  }
}

/// The program's code in a loop runs another graph, whose tape no gradient reads when that is over.
TEST_F(TapesAcross, ATapeOfWhatCodeRunsIsNotKept) {
  SymbolicGraph other = loop_of(counted_square(calls), 5);
  const TensorSymbol in = other.find("in"), out = other.outputs()[0];
  const TensorSymbol slope = gradient(other, {out}, {in})[0];
  Executable inner = compile(other, {.outputs = {slope}}, context);
  NamedFunction runs_another = counted_square(calls);
  runs_another.run = [&, square = runs_another.run](std::span<const Tensor> given,
                                                    std::span<const Tensor> results) {
    inner.run({{in, given[0]}});
    square(given, results);
  };
  const auto tape_of = [&](const NamedFunction& body) {
    const std::int64_t before = tape_bytes().now;
    const Variable x = g.variable(all_of({2}, 1));
    const Variable y = run(StaticFunction(loop_of(body, 3)), {x})[0];
    return tape_bytes().now - before;
  };
  EXPECT_EQ(tape_of(runs_another), tape_of(counted_square(calls)));
}

TEST_F(TapesAcross, TapesCountAsSaved) {
  const std::int64_t before = tape_bytes().now;
  const StaticFunction f(loop_of(counted_square(calls), 5));
  const auto slope_of = [&](DynamicGraph& graph) {
    const Variable x = graph.variable(all_of({2}, 1));
    Variable y = x;
    for (int k = 0; k < 10; ++k) y = graph.run(f, {y})[0] * 1.0;
    const auto tapes = static_cast<std::size_t>(tape_bytes().now - before);
    EXPECT_GE(graph.statistics().saved_bytes, tapes);
    EXPECT_LE(graph.statistics().saved_bytes, std::max<std::size_t>(1000, 2 * tapes));
    const std::size_t limit = graph.options().saved_bytes;
    if (limit > 0) {
      EXPECT_LE(graph.statistics().saved_bytes, limit + 200);
    }
    return elements_of(graph.backward({y}, {x})[0]);
  };
  DynamicGraph limited(context, {.saved_bytes = 500});
  EXPECT_EQ(slope_of(limited), slope_of(g));
}

/// x·x on variables, as a function node that counts its calls.
NamedFunction counted_code(Context& context, const std::shared_ptr<int>& calls) {
  return dynamic_function("counted", context, [calls](DynamicGraph&, std::span<const Variable> in) {
    ++*calls;
    return std::vector{in[0] * in[0]};
  });
}

TEST_F(TapesAcross, DynamicCodeInAStaticLoopIsNotRunAgain) {
  SymbolicGraph graph = loop_of(counted_code(context, calls), 3);  // x⁸
  const TensorSymbol x = graph.find("in"), y = graph.outputs()[0];
  const TensorSymbol gx = gradient(graph, {y}, {x})[0];
  const TensorSymbol twice = gradient(graph, {graph.add("mul", {y, y})}, {x})[0];
  Executable run = compile(graph, {.outputs = {y, gx, twice}}, context);
  for (const double start : {1.5, 2.0}) {
    *calls = 0;
    run.run({{x, all_of({2}, start)}});
    EXPECT_EQ(*calls, 3);
    EXPECT_EQ(run.output(y).real_at({0}), power(start, 8));
    EXPECT_EQ(run.output(gx).real_at({1}), 8 * power(start, 7));
    EXPECT_EQ(run.output(twice).real_at({1}), 16 * power(start, 15));
  }
}

TEST_F(TapesAcross, DynamicCodeInAStaticFunctionIsNotRunAgain) {
  for (const int count : {1, 3}) {
    const StaticFunction f(loop_of(counted_code(context, calls), count));
    const Variable x = g.variable(all_of({2}, 1.5));
    *calls = 0;
    const Variable y = run(f, {x})[0];
    const double slope = power(2, count) * power(1.5, (1 << count) - 1);
    for (int k = 0; k < 2; ++k)
      EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{slope, slope}));
    EXPECT_EQ(*calls, count);
  }
  // Without a loop too.
  SymbolicGraph graph("code");
  const TensorSymbol in = graph.input("in", {DType::f64, {2}});
  const TensorSymbol out = graph.tensor({DType::f64, {2}});
  graph.call(counted_code(context, calls), std::vector{in}, std::vector{out});
  graph.set_outputs({graph.add("add", {out, in})});
  const Variable x = g.variable(all_of({2}, 3));
  *calls = 0;
  const Variable y = run(StaticFunction(std::move(graph)), {x})[0];
  EXPECT_EQ(elements_of(g.backward({y}, {x})[0]), (Numbers{7, 7}));
  EXPECT_EQ(*calls, 1);
}

TEST_F(TapesAcross, GradientsOfGradientsOfDynamicCode) {
  SymbolicGraph graph = loop_of(counted_code(context, calls), 2);  // x⁴
  const TensorSymbol x = graph.find("in"), y = graph.outputs()[0];
  const TensorSymbol first = gradient(graph, {y}, {x})[0];
  const TensorSymbol second = gradient(graph, {first}, {x})[0];
  const TensorSymbol t = graph.input("t", graph.form(x));
  const TensorSymbol along = jvp(graph, std::vector{y}, std::vector{x}, std::vector{t})[0];
  Executable run = compile(graph, {.outputs = {first, second, along}}, context);
  run.run({{x, all_of({2}, 3)}, {t, all_of({2}, 2)}});
  EXPECT_EQ(run.output(first).real_at({0}), 4 * 27);
  EXPECT_EQ(run.output(second).real_at({0}), 12 * 9);
  EXPECT_EQ(run.output(along).real_at({0}), 4 * 27 * 2);
}

}  // namespace
}  // namespace mote
