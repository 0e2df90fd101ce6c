// SPDX-License-Identifier: Apache-2.0
// A compiled graph gives the bits of its nodes run one by one, with every option.
#include "mote/symbolic/compile.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graphs/compile/numbered.h"
#include "graphs/symbolic/error_of.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "support/cpu_time.h"

namespace mote {
namespace {

using test::bits;
using test::numbered;

/// Two branches, a chain that may work in place, a tensor written by parts, and a zero-filled one.
struct Sample {
  SymbolicGraph g{"sample"};
  TensorSymbol x = g.input("x", {DType::f32, {6, 8}});
  TensorSymbol w = g.input("w", {DType::f32, {8, 4}});
  TensorSymbol left = g.add("matmul", {g.add("relu", {x}), w});
  TensorSymbol right = g.add("tanh", {g.add("exp", {g.add("neg", {left})})});
  TensorSymbol parts = g.tensor({DType::f32, {12, 4}}, "parts");
  TensorSymbol sparse = g.zeros({DType::f32, {12, 4}}, "sparse");
  TensorSymbol sum;

  Sample() {
    const TensorSymbol top = g.slice(parts, 0, 0, 6);
    const TensorSymbol bottom = g.slice(parts, 0, 6, 6);
    const TensorSymbol some = g.slice(sparse, 0, 0, 6, 2);
    g.write(Command("neg"), std::vector{left}, std::vector{top});
    g.write(Command("abs"), std::vector{right}, std::vector{bottom});
    g.write(Command("sin"), std::vector{right}, std::vector{some});
    sum = g.add("add", {parts, sparse});
    g.set_outputs({sum, right});
  }
  std::vector<TensorBinding> bindings() const {
    return {{x, numbered(g, x)}, {w, numbered(g, w, 3)}};
  }
};

void expect_as_evaluated(const Sample& s, const CompileOptions& options) {
  Context context;
  Executable run = compile(s.g, options, context);
  const std::vector<TensorSymbol> outputs = s.g.outputs();
  const std::vector<Tensor> expected = evaluate(s.g, s.bindings(), outputs);
  for (int again = 0; again < 3; ++again) {
    run.run(s.bindings());
    for (std::size_t k = 0; k < outputs.size(); ++k)
      EXPECT_EQ(bits(run.output(outputs[k])), bits(expected[k])) << to_text(run.report());
  }
}

TEST(Compile, GivesTheBitsOfTheNodesOneByOne) {
  const Sample s;
  for (const int streams : {1, 2, 3, 4})
    for (const bool in_place : {false, true})
      for (const bool poison : {false, true})
        for (const MemoryMode memory : {MemoryMode::planned, MemoryMode::separate})
          for (const EvaluationOrder order :
               {EvaluationOrder::least, EvaluationOrder::program, EvaluationOrder::depth_first,
                EvaluationOrder::greedy})
            expect_as_evaluated(s, {.streams = streams,
                                    .in_place = in_place,
                                    .order = order,
                                    .memory = memory,
                                    .poison = poison});
}

/// The lowest element of a tensor with a negative stride is its last one.
TEST(Compile, TensorsThatRunBackwardsLieInTheirBlocks) {
  SymbolicGraph g("backwards");
  const TensorSymbol x = g.input("x", {DType::f32, {2, 40}});
  std::vector<TensorSymbol> copies;
  TensorSymbol sum = x;
  for (int k = 0; k < 4; ++k) {
    copies.push_back(g.tensor({DType::f32, {2, 40}, {40, -1}}));
    g.copy(sum, copies.back());
    sum = g.add("add", {sum, copies.back()});
  }
  for (const TensorSymbol y : copies) sum = g.add("sub", {sum, y});
  g.set_outputs({sum});
  const std::vector<TensorBinding> bindings = {{x, numbered(g, x)}};
  Context context;
  Executable e = compile(g, {.in_place = false}, context);
  e.run(bindings);
  EXPECT_EQ(bits(e.output(sum)), bits(evaluate(g, bindings, g.outputs())[0]));
}

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

TEST(Compile, BoundOutputsTakeNoByteAndAreWrittenWhereTheCallerSays) {
  const Sample s;
  Context context;
  const Executable kept = compile(s.g, {.outputs = {s.sum}}, context);
  Executable run = compile(s.g, {.bound = {s.sum}}, context);
  EXPECT_LT(run.report().arena_bytes, kept.report().arena_bytes + 12 * 4 * 4);
  const Tensor mine(DType::f32, {12, 4});
  std::vector<TensorBinding> bindings = s.bindings();
  EXPECT_THROW(run.run(bindings), StatusError);
  bindings.emplace_back(s.sum, mine);
  run.run(bindings);
  EXPECT_EQ(bits(mine), bits(evaluate(s.g, s.bindings(), std::vector{s.sum})[0]));
  bindings.back().second = bindings[0].second;
  EXPECT_THROW(run.run(bindings), StatusError);
}

TEST(Compile, AnOutputMayBeAnInputOrAConstantOrZeros) {
  SymbolicGraph g("trivial");
  const TensorSymbol x = g.input("x", {DType::f64, {3}});
  const Tensor two(DType::f64, {2});
  fill(two, 2);
  const TensorSymbol c = g.constant("c", two);
  const TensorSymbol z = g.zeros({DType::f64, {4}}, "z");
  const TensorSymbol back = g.slice(x, 0, 2, 3, -1);
  g.set_outputs({x, c, z, back});
  Context context;
  Executable run = compile(g, {}, context);
  run.run({{x, numbered(g, x)}});
  EXPECT_EQ(run.output(x).real_at({0}), -0.625);
  EXPECT_EQ(run.output(c).real_at({1}), 2);
  EXPECT_EQ(run.output(z).real_at({3}), 0);
  EXPECT_EQ(run.output(back).real_at({2}), -0.625);
  EXPECT_EQ(run.report().arena_bytes, 0U);
}

TEST(Compile, MisuseIsAnErrorInWords) {
  const Sample s;
  const Sample other;
  Context context;
  Executable run = compile(s.g, {}, context);
  const auto error = [&](const auto& call) {
    try {
      call();
    } catch (const StatusError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(error([&] { run.run(); }).find("'x' f32[6,8]"), std::string::npos)
      << error([&] { run.run(); });
  EXPECT_NE(error([&] { run.bind(other.x, numbered(other.g, other.x)); }).find("another graph"),
            std::string::npos);
  EXPECT_NE(error([&] {
              run.bind(s.x, Tensor(DType::f64, {6, 8}));
            }).find("x must be f32[6,8], got f64[6,8]"),
            std::string::npos);
  EXPECT_NE(error([&] {
              run.run({{s.x, Tensor(DType::f32, {8, 6})}, {s.w, numbered(s.g, s.w)}});
            }).find("matmul"),
            std::string::npos);
  EXPECT_NE(error([&] { run.bind(s.left, numbered(s.g, s.left)); }).find("neither"),
            std::string::npos);
  EXPECT_NE(error([&] { run.output(s.left); }).find("not asked for"), std::string::npos);
  EXPECT_NE(error([&] { compile(s.g, {.streams = 0}, context); }).find("at least 1"),
            std::string::npos);
  EXPECT_NE(error([&] { compile(s.g, {.bound = {s.x}}, context); }).find("no node writes it"),
            std::string::npos);
  run.run(s.bindings());
}

/// P11: a plan belongs to the whole structure of a graph. These have the same nodes and sizes, and
/// other edges.
TEST(Compile, GraphsOfEqualSizesAndOtherEdgesHaveOtherPlans) {
  struct Wired {
    SymbolicGraph g{"wired"};
    TensorSymbol x = g.input("x", {DType::f32, {64}});
    TensorSymbol y;

    explicit Wired(bool is_chain) {
      const TensorSymbol a = g.add("exp", {x});
      const TensorSymbol b = g.add("sin", {is_chain ? a : x});
      const TensorSymbol c = g.add("cos", {is_chain ? b : x});
      y = is_chain ? g.add("add", {c, c}) : g.add("add", {g.add("add", {a, b}), c});
      if (is_chain) y = g.add("add", {y, y});
      g.set_outputs({y});
    }
  };
  Context context;
  std::vector<std::size_t> bytes;
  for (int round = 0; round < 2; ++round)
    for (const bool is_chain : {true, false}) {
      const Wired w(is_chain);
      Executable run = compile(w.g, {.in_place = false}, context);
      const std::vector<TensorBinding> bindings = {{w.x, numbered(w.g, w.x)}};
      run.run(bindings);
      EXPECT_EQ(bits(run.output(w.y)), bits(evaluate(w.g, bindings, std::vector{w.y})[0]));
      EXPECT_EQ(run.report().nodes.size(), 5U);
      bytes.push_back(run.report().arena_bytes);
    }
  EXPECT_EQ(bytes, (std::vector<std::size_t>{2 * 256, 3 * 256, 2 * 256, 3 * 256}));
}

TEST(Compile, AViewIsNotBoundInPlaceOfItsTensor) {
  const Sample s;
  SymbolicGraph g = s.g;
  const TensorSymbol top = g.slice(g.at(s.x.index), 0, 0, 2);
  const TensorSymbol part = g.slice(g.at(s.sum.index), 0, 0, 2);
  g.rename(top, "top");
  g.rename(part, "part");
  Context context;
  Executable run = compile(g, {.outputs = {g.at(s.sum.index), part}}, context);
  const auto error = [](const auto& call) { return test::error_of(call); };
  const std::string refused = "executable of sample: top is neither an input nor a bound output";
  EXPECT_NE(error([&] {
              run.bind(top, Tensor(DType::f32, {2, 8}));
            }).find(refused),
            std::string::npos);
  EXPECT_NE(error([&] {
              compile(g, {.bound = {part}}, context);
            }).find("part cannot be a bound output: it is a view of "),
            std::string::npos);
  // The tensor is bound anew; what is seen through the view follows.
  for (const std::int64_t first : {0, 4}) {
    const std::vector<TensorBinding> bindings = {{g.at(s.x.index), numbered(s.g, s.x, first)},
                                                 {g.at(s.w.index), numbered(s.g, s.w, 3)}};
    run.run(bindings);
    EXPECT_EQ(bits(run.output(part)), bits(evaluate(g, bindings, std::vector{part})[0]));
  }
}

/// A layer whose batch axis is sliced, reshaped and repeated.
struct Batch {
  SymbolicGraph g{"batch"};
  TensorSymbol x;
  TensorSymbol w;
  TensorSymbol y;

  explicit Batch(std::int64_t n) {
    x = g.input("x", {DType::f32, {n, 2, 3}});
    w = g.input("w", {DType::f32, {6, 4}});
    const TensorSymbol flat = g.reshape(x, {n, 6});
    const TensorSymbol h = g.add("relu", {g.add("matmul", {flat, w})});
    const TensorSymbol parts = g.tensor({DType::f32, {n, 4}}, "parts");
    const TensorSymbol left = g.slice(parts, 1, 0, 2);
    const TensorSymbol right = g.slice(parts, 1, 2, 2);
    g.write(Command("neg"), std::vector{g.slice(h, 1, 0, 2)}, std::vector{left});
    g.write(Command("exp"), std::vector{g.slice(h, 1, 2, 2)}, std::vector{right});
    y = g.add("sum", {g.add("add", {parts, h})});
    g.set_outputs({y, h});
  }
};

TEST(Compile, OtherShapesGiveTheBitsOfAGraphThatIsBuiltForThem) {
  const Batch first(4);
  Context context;
  Executable run = compile(first.g, {.kept_shapes = 2}, context);
  for (const std::int64_t n : {4, 7, 4, 1, 7, 4}) {
    const Batch fresh(n);
    const Tensor x = numbered(fresh.g, fresh.x);
    const Tensor w = numbered(fresh.g, fresh.w, 2);
    run.run({{first.x, x}, {first.w, w}});
    Executable alone = compile(fresh.g, {}, context);
    alone.run({{fresh.x, x}, {fresh.w, w}});
    for (std::size_t k = 0; k < 2; ++k)
      EXPECT_EQ(bits(run.output(first.g.outputs()[k])), bits(alone.output(fresh.g.outputs()[k])))
          << n;
    EXPECT_EQ(run.report().arena_bytes, alone.report().arena_bytes);
  }
}

/// A layer with its loss and gradient, for a batch.
struct Trained {
  SymbolicGraph g{"trained"};
  TensorSymbol x;
  TensorSymbol w;
  TensorSymbol t;
  std::vector<TensorSymbol> outputs;

  explicit Trained(std::int64_t n) {
    x = g.input("x", {DType::f32, {n, 3}});
    w = g.input("w", {DType::f32, {3, 5}});
    t = g.input("t", {DType::f32, {n, 5}});
    const TensorSymbol distance = g.add("sub", {g.add("relu", {g.add("matmul", {x, w})}), t});
    const TensorSymbol loss = g.add("mul", {distance, distance});
    outputs = gradient(g, {loss}, {w, x});
    outputs.push_back(loss);
    g.set_outputs(outputs);
  }
};

TEST(Compile, OtherBatchesOfAGradient) {
  const Trained first(4);
  Context context;
  Executable run = compile(first.g, {}, context);
  for (const std::int64_t n : {4, 2, 9, 4}) {
    const Trained fresh(n);
    const Tensor x = numbered(fresh.g, fresh.x);
    const Tensor w = numbered(fresh.g, fresh.w, 2);
    const Tensor t = numbered(fresh.g, fresh.t, 7);
    run.run({{first.x, x}, {first.w, w}, {first.t, t}});
    const std::vector<Tensor> expected =
        evaluate(fresh.g, std::vector<TensorBinding>{{fresh.x, x}, {fresh.w, w}, {fresh.t, t}},
                 fresh.outputs);
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_EQ(bits(run.output(first.outputs[k])), bits(expected[k])) << n;
  }
}

TEST(Compile, InputsOfOtherStridesAreReadAsTheyAre) {
  const Sample s;
  Context context;
  Executable run = compile(s.g, {}, context);
  const Tensor wide(DType::f32, {8, 6});
  const Tensor x = numbered(s.g, s.x);
  copy(x, wide.permute({1, 0}));
  run.run({{s.x, wide.permute({1, 0})}, {s.w, numbered(s.g, s.w, 3)}});
  const std::vector<Tensor> expected = evaluate(s.g, s.bindings(), std::vector{s.sum});
  EXPECT_EQ(bits(run.output(s.sum)), bits(expected[0]));
}

TEST(Compile, TakesTensorsWithoutElements) {
  SymbolicGraph g("empty");
  const TensorSymbol x = g.input("x", {DType::f32, {0, 3, 8}});
  const TensorSymbol part = g.slice(x, 1, 1, 1);
  const TensorSymbol sum = g.add("add", {x, part});
  const TensorSymbol y = g.add("neg", {sum});
  Context context;
  for (const int streams : {1, 2}) {
    Executable run = compile(g, {.outputs = {y, part}, .streams = streams}, context);
    run.run({{x, Tensor(DType::f32, {0, 3, 8})}});
    EXPECT_EQ(run.output(y).shape(), AxisList({0, 3, 8}));
    EXPECT_EQ(run.output(part).shape(), AxisList({0, 1, 8}));
  }
}

TEST(Compile, APartWithoutElementsIsReadThoughNoNodeWrites) {
  SymbolicGraph g("part");
  const TensorSymbol p = g.tensor({DType::f32, {4}});
  const TensorSymbol y = g.add("exp", {g.slice(p, 0, 2, 0)});
  g.set_outputs({y});
  Context context;
  for (const int streams : {1, 2}) {
    Executable run = compile(g, {.streams = streams}, context);
    run.run();
    EXPECT_EQ(run.output(y).shape(), AxisList({0}));
  }
}

TEST(Compile, WhatNoNodeWritesIsNotRead) {
  SymbolicGraph g("dead");
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol y = g.add("relu", {x});
  const TensorSymbol z = g.add("exp", {y});
  g.rename(y, "y");
  g.rename(z, "z");
  g.set_outputs({z});
  g.remove(g.producer(y));
  Context context;
  const auto error = [&](const auto& call) { return test::error_of(call); };
  const std::string unwritten = "node 1 'z' (exp) reads y, which no node writes";
  EXPECT_NE(error([&] { compile(g, {}, context); }).find(unwritten), std::string::npos);
  EXPECT_NE(error([&] { plan_graph(g, {.streams = 2}, context); }).find(unwritten),
            std::string::npos);
  g.remove(y);
  const std::string removed = "symbol y was removed, and node 1 'z' (exp) reads it";
  EXPECT_NE(error([&] {
              evaluate(g, {{x, numbered(g, x)}}, {z});
            }).find(removed),
            std::string::npos);
  EXPECT_NE(error([&] { g.add("exp", {y}); }).find(removed), std::string::npos);
}

TEST(Compile, TensorsLargerThanAnyMemoryAreRefused) {
  SymbolicGraph g("large");
  const TensorSymbol x = g.input("x", {DType::f32, {1000000000, 1000000000}});
  g.set_outputs({g.add("relu", {x})});
  Context context;
  const auto plan = [&](const SymbolicGraph& of) {
    return test::error_of([&] { plan_graph(of, {.memory = MemoryMode::separate}, context); });
  };
  EXPECT_NE(plan(g).find("x is f32[1000000000,1000000000], of 4000000000000000000 bytes, expected "
                         "at most 281474976710656"),
            std::string::npos)
      << plan(g);
  SymbolicGraph many("many");
  TensorSymbol y = many.input("y", {DType::f32, {1 << 23, 1 << 23}});
  for (int k = 0; k < 3; ++k) y = many.add("exp", {y});
  many.set_outputs({y});
  EXPECT_NE(plan(many).find("compile: many needs 844424930131968 bytes, expected at most"),
            std::string::npos)
      << plan(many);
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
  // What is kept for the way back is most of it; lifetimes on one line of time waste little.
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

TEST(WithForms, WhatDoesNotFollowIsAnErrorThatNamesTheSymbol) {
  SymbolicGraph g("two");
  const TensorSymbol x = g.input("x", {DType::f32, {4, 6}});
  const TensorSymbol v = g.view(x, {ViewKind::reshape, {2, 12}}, "v");
  g.set_outputs({g.add("neg", {v})});
  const auto other = [&](const AxisList& shape) {
    return g.with_forms(std::vector{std::pair(x, TensorForm(DType::f32, shape))});
  };
  try {
    other({5, 6});
    FAIL();
  } catch (const StatusError& e) {
    EXPECT_NE(std::string(e.what()).find("v was f32[2,12]"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace mote
