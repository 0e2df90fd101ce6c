// SPDX-License-Identifier: Apache-2.0
// The plan of a graph says what it will take, before any of it is taken: the bytes, the nodes and
// what poisons them, on one stream and on several.
#include <gtest/gtest.h>

#include <algorithm>

#include "graphs/compile/numbered.h"
#include "graphs/compile/sample.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "support/cpu_time.h"

namespace mote {
namespace {

using test::bits;
using test::numbered;
using test::Sample;

TEST(Compile, MemoryIsTheLowerBoundAndBelowThatOfSeparateTensors) {
  const Sample s;
  Context context;
  const Executable planned = compile(s.g, {}, context);
  const Executable separate = compile(s.g, {.memory = MemoryMode::separate}, context);
  EXPECT_EQ(planned.report().arena_bytes, planned.report().lower_bound);
  EXPECT_LT(planned.report().arena_bytes, separate.report().arena_bytes);
  EXPECT_GT(planned.report().in_place_pairs, 0U);
  EXPECT_EQ(separate.report().in_place_pairs, 0U);
}

/// Each tensor of the plan is poisoned twice, unless it lives on in place or as an output.
TEST(Compile, PoisonsATensorBeforeItsFirstNodeAndBehindItsLast) {
  SymbolicGraph g("two");
  const TensorSymbol x = g.input("x", {DType::f32, {32}});
  const TensorSymbol a = g.add("exp", {x});
  const TensorSymbol b = g.add("neg", {a});
  const TensorSymbol c = g.add("add", {a, b});
  g.set_outputs({c});
  for (const TensorSymbol symbol : {a, b, c})
    g.rename(symbol, std::string(1, static_cast<char>('a' + (symbol.index - a.index))));
  Context context;
  const auto texts = [&](bool in_place) {
    std::string text;
    for (const CompiledNode& node :
         plan_graph(g, {.in_place = in_place, .poison = true}, context).nodes)
      text += node.text + "; ";
    return text;
  };
  EXPECT_EQ(texts(false),
            "poison of a; a = exp(x); poison of b; b = neg(a); poison of c; c = add(a, b); "
            "poison of a at its end; poison of b at its end; ");
  EXPECT_EQ(texts(true).find("poison of c"), std::string::npos) << texts(true);
  EXPECT_NE(texts(true).find("at its end"), std::string::npos) << texts(true);
}

/// P6: what a graph will take can be asked before any of it is taken.
TEST(Compile, APlanIsTheReportOfWhatIsCompiled) {
  const Sample s;
  Context context;
  for (const int streams : {1, 3})
    for (const bool in_place : {false, true})
      for (const bool poison : {false, true}) {
        const CompileOptions options{
            .outputs = {s.sum}, .streams = streams, .in_place = in_place, .poison = poison};
        const Executable run = compile(s.g, options, context);
        EXPECT_EQ(to_json(plan_graph(s.g, options, context)), to_json(run.report()));
      }
  EXPECT_THROW(plan_graph(s.g, {.streams = 0}, context), StatusError);
}

TEST(Compile, APlanTakesNoMemory) {
  SymbolicGraph g("large");
  const std::int64_t n = std::int64_t{1} << 44;  // 2^46 bytes, which no machine has
  const TensorSymbol x = g.input("x", {DType::f32, {n}});
  const TensorSymbol c = g.zeros({DType::f32, {n}}, "none");
  g.set_outputs({g.add("exp", {g.add("add", {x, c})})});
  Context context;
  EXPECT_EQ(plan_graph(g, {.in_place = false}, context).arena_bytes, std::size_t{1} << 47);
  EXPECT_EQ(plan_graph(g, {}, context).arena_bytes, std::size_t{1} << 46);
}

/// P8: an intermediate that is asked for costs its bytes, and nothing else moves.
TEST(Compile, AnIntermediateThatIsAskedForCostsExactlyItsBytes) {
  SymbolicGraph g("chain");
  const TensorSymbol x = g.input("x", {DType::f32, {32, 4}});
  const TensorSymbol small = g.add("tanh", {x});
  const TensorSymbol row = g.add("sum axis=1", {small});
  const TensorSymbol large = g.add(
      "mul", {g.broadcast_to(g.reshape(row, {32, 1}), {32, 32}), g.broadcast_to(row, {32, 32})});
  const TensorSymbol y = g.add("softmax axis=1", {g.add("matmul", {large, large})});
  g.set_outputs({y});
  Context context;
  const auto arena = [&](const std::vector<TensorSymbol>& outputs) {
    return plan_graph(g, {.outputs = outputs}, context).arena_bytes;
  };
  const auto bytes = [&](TensorSymbol symbol) {
    return static_cast<std::size_t>(g.form(symbol).bytes());
  };
  const std::size_t least = arena({y});
  EXPECT_EQ(arena({y, small}), least + bytes(small));
  EXPECT_EQ(arena({y, row}), least + bytes(row));
  EXPECT_EQ(arena({y, row, small}), least + bytes(row) + bytes(small));
}

TEST(Compile, AReportHasNamesOnOneLine) {
  SymbolicGraph g("a\nb");
  const TensorSymbol x = g.input("x\n1", {DType::f32, {4}});
  const TensorSymbol y = g.add("relu", {x});
  g.rename(y, "y\r2");
  g.set_outputs({y});
  Context context;
  const CompileReport report = plan_graph(g, {}, context);
  EXPECT_EQ(to_text(report).rfind("a\\nb: 1 node", 0), 0U) << to_text(report);
  EXPECT_NE(to_text(report).find("nodes 0..1: y\\x0d2\n"), std::string::npos) << to_text(report);
  EXPECT_NE(to_svg(report).find("64 bytes, bound 64</text>"), std::string::npos);
}

/// A chain of sums, and its gradient, in which each value lives until the way back.
struct Residual {
  explicit Residual(int length) {
    TensorSymbol y = x;
    for (int k = 0; k < length; ++k) y = g.add("add", {g.add("tanh", {y}), y});
    outputs = gradient(g, {y}, {x});
    outputs.push_back(y);
    g.set_outputs(outputs);
  }
  SymbolicGraph g{"residual"};
  TensorSymbol x = g.input("x", {DType::f32, {4}});
  std::vector<TensorSymbol> outputs;
};

TEST(Compile, ManyTensorsOnStreamsHaveNoConflict) {
  const Residual r(1500);
  Context context;
  const std::vector<TensorBinding> bindings = {{r.x, numbered(r.g, r.x)}};
  const std::vector<Tensor> expected = evaluate(r.g, bindings, r.outputs);
  Executable run = compile(r.g, {.streams = 2, .in_place = false}, context);
  EXPECT_EQ(run.report().streams, 2);
  // Most of the memory holds values that the way back reads; a plan for one stream wastes little.
  const std::size_t on_one = plan_graph(r.g, {.in_place = false}, context).arena_bytes;
  EXPECT_LT(on_one, run.report().separate_bytes * 3 / 4);
  EXPECT_LT(run.report().arena_bytes, on_one * 5 / 4);
  for (int again = 0; again < 5; ++again) {
    run.run(bindings);
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_EQ(bits(run.output(r.outputs[k])), bits(expected[k]));
  }
}

TEST(Compile, PlanningOnStreamsTakesNoQuadraticTime) {
  Context context;
  const auto seconds = [&](int length) {
    const Residual r(length);
    return test::cpu_seconds([&] { plan_graph(r.g, {.streams = 2}, context); });
  };
  double ratio = 100;  // of eight times as many nodes
  for (int round = 0; round < 5 && ratio > 16; ++round)
    ratio = std::min(ratio, seconds(8000) / seconds(1000));
  EXPECT_LT(ratio, 30);
}

/// Returns the processor time of a plan of a chain of n nodes whose values are all asked for.
double seconds_of_asked(int n, bool are_bound, Context& context) {
  SymbolicGraph g("asked");
  TensorSymbol y = g.input("x", {DType::f32, {3}});
  std::vector<TensorSymbol> values;
  const Command tanh("tanh");
  for (int k = 0; k < n; ++k) values.push_back(y = g.add(tanh, {y}));
  g.set_outputs(values);
  CompileOptions options;
  options.order = EvaluationOrder::program;
  if (are_bound) options.bound = values;
  return test::cpu_seconds([&] { plan_graph(g, options, context); });
}

TEST(Compile, ManyOutputsTakeNoQuadraticTime) {
  Context context;
  for (const bool are_bound : {false, true}) {
    const int few = are_bound ? 2000 : 10000;
    double ratio = 1000;  // of sixteen times as many outputs
    for (int round = 0; round < 5 && ratio > 24; ++round)
      ratio = std::min(ratio, seconds_of_asked(16 * few, are_bound, context) /
                                  seconds_of_asked(few, are_bound, context));
    EXPECT_LT(ratio, 32) << are_bound;
  }
}

}  // namespace
}  // namespace mote
