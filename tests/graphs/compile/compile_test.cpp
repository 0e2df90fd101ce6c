// SPDX-License-Identifier: Apache-2.0
// A compiled graph gives the bits of its nodes run one by one, with every option.
#include "mote/symbolic/compile.h"

#include <gtest/gtest.h>

#include "graphs/compile/numbered.h"
#include "graphs/compile/sample.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/evaluate.h"

namespace mote {
namespace {

using test::bits;
using test::numbered;
using test::Sample;

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
  for (const int streams : {1, 2})
    for (const bool poison : {false, true}) {
      Executable run =
          compile(g, {.outputs = {y, part}, .streams = streams, .poison = poison}, context);
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

// A report without texts has the bytes of one with them.
TEST(Compile, DescribesNothingIfNobodyReadsIt) {
  Context context;
  SymbolicGraph g("chain");
  TensorSymbol x = g.input("x", {DType::f32, {64}});
  for (int k = 0; k < 5; ++k) x = g.add("matmul", {g.reshape(x, {8, 8}), g.reshape(x, {8, 8})});
  const Executable full = compile(g, {.outputs = {x}}, context);
  const Executable bare = compile(g, {.outputs = {x}, .describes = false}, context);
  EXPECT_EQ(full.report().nodes.size(), 5U);
  EXPECT_FALSE(full.report().blocks.empty());
  EXPECT_TRUE(bare.report().nodes.empty());
  EXPECT_TRUE(bare.report().blocks.empty());
  EXPECT_EQ(bare.report().arena_bytes, full.report().arena_bytes);
  EXPECT_EQ(bare.report().lower_bound, full.report().lower_bound);
  EXPECT_EQ(bare.report().separate_bytes, full.report().separate_bytes);
}

}  // namespace
}  // namespace mote
