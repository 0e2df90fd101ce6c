// SPDX-License-Identifier: Apache-2.0
// Tests loops and branches of symbolic graphs: as symbols and as text, compiled and run.
#include "mote/symbolic/control.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/text.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;
using test::integer;
using test::kPower;
using test::run_all_ways;
using test::scalar;
using test::vector;

TEST(Control, PowersByALoop) {
  for (const std::int64_t n : {0, 1, 2, 3, 5}) {
    std::size_t copied = 1;
    const std::vector<Tensor> y = run_all_ways(
        kPower, {{"x", vector(2, 2)}, {"y", vector(1, 2)}, {"n", integer(n)}}, &copied);
    EXPECT_EQ(y[0].real_at({0}), std::pow(2.0, static_cast<double>(n)));
    EXPECT_EQ(y[0].real_at({1}), 2 * std::pow(3.0, static_cast<double>(n)));
    EXPECT_EQ(copied, 0U);
  }
}

TEST(Control, CarriedValuesTakeTurns) {
  // (a, b) <- (b, a); the counter is read too
  const char* const text = R"(graph g(a f32[2], b f32[2], n i64[]) -> (x, y)
  x, y = while (a, b, n) counter {
    graph step(a f32[2], b f32[2], n i64[], c i64[]) -> (b, a, left)
      left = sub(n, c)
  }
)";
  for (const std::int64_t n : {0, 1, 2, 3}) {
    std::size_t copied = 1;
    const auto y =
        run_all_ways(text, {{"a", vector(1, 2)}, {"b", vector(7, 2)}, {"n", integer(n)}}, &copied);
    EXPECT_EQ(y[0].real_at({0}), n % 2 == 0 ? 1 : 7);
    EXPECT_EQ(copied, 0U);
  }
}

TEST(Control, AResultOfTheEvaluatedPartIsThatOfTheIterationBefore) {
  const char* const text = R"(graph g(x f32[]) -> (y, z)
  y, z = while (x, x) {
    graph step(a f32[], b f32[]) -> (c, a, go)
      two = constant f32[] [2]
      c = mul(a, two)
      ten = constant f32[] [10]
      d = sub(ten, c)
      e = relu(d)
      go = copy(e, bool[])
  }
)";
  const auto y = run_all_ways(text, {{"x", scalar(1)}});
  EXPECT_EQ(y[0].real_at({}), 8);  // 2, 4, 8 are below 10
  EXPECT_EQ(y[1].real_at({}), 4);
}

TEST(Control, LoopsAndBranchesNest) {
  const char* const text = R"(graph g(x f32[2], n i64[]) -> (y)
  y = while (x, n) counter {
    graph outer(x f32[2], n i64[], c i64[]) -> (z, left)
      left = sub(n, c)
      three = constant i64[] [3]
      k = mod(c, three)
      r = case (k) else (x) of (x) {
        graph even(x f32[2]) -> (y)
          y = add(x, x)
      } of (x) {
        graph same(x f32[2]) -> (x)
      } of (x, n) {
        graph odd(x f32[2], n i64[]) -> (y)
          y = while (x, n) counter {
            graph inner(x f32[2], n i64[], c i64[]) -> (y, left)
              left = sub(n, c)
              one = constant f32[] [1]
              y = add(x, one)
          }
      }
      s = relu(r)
      z = neg(s)
  }
)";
  for (const std::int64_t n : {0, 1, 2, 5})
    run_all_ways(text, {{"x", vector(-1, 2)}, {"n", integer(n)}});
}

TEST(Control, MistakesAreErrorsWithBothForms) {
  SymbolicGraph body("step");
  const TensorSymbol a = body.input("a", {DType::f32, {2}});
  const TensorSymbol sum = body.add("concat axis=0", {a, a});
  const TensorSymbol go = body.constant("go", integer(0));
  body.set_outputs({sum, go});
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  expect_error(MOTE_INVALID, "is f32[4], but a is f32[2]", [&] { g.add_while(body, {x}); });
  SymbolicGraph other("step");
  const TensorSymbol p = other.input("p", {DType::f32, {3}});
  other.set_outputs({p, other.constant("go", integer(0))});
  expect_error(MOTE_INVALID, "x is f32[2], but p is f32[3]", [&] { g.add_while(other, {x}); });
  expect_error(MOTE_INVALID, "takes 1 inputs, got 0", [&] { g.add_while(other, {}); });
  EXPECT_EQ(g.node_count(), 0U);
  EXPECT_EQ(g.symbol_count(), 1U);
}

TEST(Control, LimitsAndMissingValuesAreErrorsThatNameTheNode) {
  const SymbolicGraph g = parse_graph(R"(graph g(x f32[], k i64[]) -> (y, z)
  @forever: y = while (x) limit 100 {
    graph step(a f32[]) -> (a, go)
      go = constant bool[] [1]
  }
  @which: z = case (k) of (x) {
    graph only(x f32[]) -> (x)
  }
)");
  Context context;
  Executable loops = compile(g, {.outputs = {g.find("y")}}, context);
  expect_error(MOTE_FAILED, "'forever' (while), iteration 100: its condition holds after 100", [&] {
    loops.run({{g.find("x"), scalar(1)}, {g.find("k"), integer(0)}});
  });
  Executable branches = compile(g, {.outputs = {g.find("z")}}, context);
  expect_error(MOTE_INVALID, "graph: node 0 'which' (case..of): no branch has the index -1", [&] {
    branches.run({{g.find("x"), scalar(1)}, {g.find("k"), integer(-1)}});
  });
  branches.run({{g.find("x"), scalar(3)}, {g.find("k"), integer(0)}});
  EXPECT_EQ(branches.output(g.find("z")).real_at({}), 3);
}

TEST(Control, OtherShapesGoIntoBodies) {
  const SymbolicGraph g = parse_graph(kPower);
  Context context;
  Executable e = compile(g, {}, context);
  for (const std::int64_t extent : {2, 5}) {
    e.run({{g.find("x"), vector(2, extent)},
           {g.find("y"), vector(1, extent)},
           {g.find("n"), integer(3)}});
    EXPECT_EQ(e.output(g.find("z")).real_at({1}), 2 * 27);
  }
}

TEST(Control, PassesGoIntoBodies) {
  SymbolicGraph g = parse_graph(R"(graph g(x f32[2], n i64[]) -> (y)
  y, left = while (x, n) {
    graph step(a f32[2], k i64[]) -> (c, rest, k)
      b1 = exp(a)
      b2 = exp(a)
      dead = sin(a)
      c = add(b1, b2)
      one = constant i64[] [1]
      rest = sub(k, one)
  }
)");
  const std::vector<PassReport> reports = apply_passes(g, default_passes(), {.verify = true});
  const SymbolicGraph& body = g.info(g.producer(g.find("y"))).control->graphs[0];
  std::size_t nodes = 0;
  for (const NodeInfo& node : body.nodes()) nodes += node.removed ? 0 : 1;
  EXPECT_EQ(nodes, 3U) << to_text(g);
}

TEST(Control, WhatALoopCarriesForNothingIsPruned) {
  // b is for c alone, and c for nothing; d is for the condition.
  SymbolicGraph g = parse_graph(R"(graph g(x f32[2], y f32[2], z f32[2], n i64[]) -> (a)
  a, b, c, d = while (x, y, z, n) {
    graph step(a f32[2], b f32[2], c f32[2], d i64[]) -> (e, f, h, left, d)
      e = mul(a, a)
      f = add(b, e)
      h = mul(f, c)
      one = constant i64[] [1]
      left = sub(d, one)
  }
)");
  const std::vector<std::string> passes = {"prune"};
  const std::vector<PassReport> reports = apply_passes(g, passes);
  EXPECT_NE(reports[0].text.find("2 carried values removed"), std::string::npos) << reports[0].text;
  EXPECT_EQ(to_text(g), R"(graph g(x f32[2], y f32[2], z f32[2], n i64[]) -> (a)
  a, d = while (x, n) {
    graph step(a f32[2], d i64[]) -> (e, left, d)
      e = mul(a, a)
      one = constant i64[] [1]
      left = sub(d, one)
  }
)");
  verify(g);
}

/// A result of a loop that no node needs has the name '_'.
TEST(Control, ResultsNeedNoNames) {
  const char* const text = R"(graph g(a f32[2], b f32[2], n i64[]) -> (y)
  _, y, _ = while (a, b, n) {
    graph step(a f32[2], b f32[2], k i64[]) -> (b, c, left, k)
      c = add(a, b)
      one = constant i64[] [1]
      left = sub(k, one)
  }
)";
  const std::vector<Tensor> got =
      run_all_ways(text, {{"a", vector(0, 2)}, {"b", vector(1, 2)}, {"n", integer(3)}});
  EXPECT_EQ(got[0].real_at({0}), 3);
  EXPECT_EQ(got[0].real_at({1}), 8);
}

TEST(Control, BrokenTextIsAnErrorWithItsPlace) {
  const auto error = [](const std::string& value) {
    return [value] { parse_graph("graph g(x f32[2], k i64[]) -> (x)\n  " + value); };
  };
  expect_error(MOTE_INVALID, "line 2, column 17: expected '{'", error("y = while (x) ("));
  expect_error(MOTE_INVALID, "needs outputs", error("while () { graph b() -> ()\n }"));
  expect_error(MOTE_INVALID, "expected 'of' and a branch", error("y = case (k)\n"));
  expect_error(MOTE_INVALID, "the branch takes 1 inputs, got 2",
               error("y = case (k) of (x, x) { graph b(p f32[2]) -> (p)\n }"));
  expect_error(MOTE_INVALID, "line 2, column 10: it has 1 output, got 2 names",
               error("y, z = case (k) of (x) { graph b(p f32[2]) -> (p)\n }"));
  expect_error(MOTE_INVALID, "line 5, column 3: an output of a while or a case cannot be left out",
               error("a = tensor f32[2]\n  b = tensor f32[2]\n  c = relu(x)\n"
                     "  _, b <- case (k) of (x) { graph b(p f32[2]) -> (p, p)\n }"));
  std::string deep;
  for (int k = 0; k < 300; ++k) deep += "y = while (x) { graph b(x f32[2]) -> (x, c)\n";
  expect_error(MOTE_INVALID, "more than 200 graphs are inside each other", error(deep));
}

}  // namespace
}  // namespace mote
