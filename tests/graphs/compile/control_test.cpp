// SPDX-License-Identifier: Apache-2.0
// Tests loops and branches of symbolic graphs: as symbols and as text, compiled and run, and how
// many bytes are copied.
#include "mote/symbolic/control.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/pass.h"
#include "mote/symbolic/text.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;
using test::integer;
using test::kPower;
using test::scalar;
using test::vector;

/// Runs the graph of the text, which must be read back as it is printed, in all ways.
std::vector<Tensor> run_all_ways(const std::string& text, const test::Inputs& inputs,
                                 std::size_t* copied = nullptr) {
  const SymbolicGraph g = parse_graph(text);
  verify(g);
  EXPECT_EQ(to_text(parse_graph(to_text(g))), to_text(g));
  return test::run_all_ways(g, inputs, copied);
}

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

TEST(Control, APartOfATensorIsCarriedWithoutACopy) {
  // Both carried values are parts of one tensor, and the second is the first one iteration later.
  const char* const text = R"(graph g(a f32[2], b f32[2], n i64[]) -> (p, q, r)
  p, q, r, _k = while (a, b, a, n) {
    graph step(a f32[2], b f32[2], r f32[2], k i64[]) -> (top, bottom, middle, next, k)
      ab = concat(a, b, axis=0)
      all = add(ab, ab)
      top = all.slice(0, 2, 2, 1)
      bottom = all.slice(0, 0, 2, 1)
      middle = all.slice(0, 1, 2, 1)
      one = constant i64[] [1]
      next = sub(k, one)
  }
)";
  for (const std::int64_t n : {0, 1, 2, 3, 6}) {
    std::size_t copied = 1;
    const std::vector<Tensor> got =
        run_all_ways(text, {{"a", vector(1, 2)}, {"b", vector(5, 2)}, {"n", integer(n)}}, &copied);
    std::vector<double> a = {1, 2}, b = {5, 6}, r = a;
    for (std::int64_t k = 0; k < n; ++k) {
      r = {2 * a[1], 2 * b[0]};
      const std::vector<double> top = {2 * b[0], 2 * b[1]};
      b = {2 * a[0], 2 * a[1]};
      a = top;
    }
    for (std::int64_t i = 0; i < 2; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_EQ(got[0].real_at({i}), a[at]) << n;
      EXPECT_EQ(got[1].real_at({i}), b[at]) << n;
      EXPECT_EQ(got[2].real_at({i}), r[at]) << n;
    }
    EXPECT_EQ(copied, 0U);
  }
}

TEST(Control, APartOfAnInputOrAConstantIsCarriedWithoutACopy) {
  // m has a half of the value that a had before, or of what never changes, or of a constant.
  for (const char* const of : {"a", "w", "c"}) {
    const std::string text = R"(graph g(a f32[4], m f32[2], w f32[4], n i64[]) -> (y, h)
  y, h, _m, _k = while (a, m, m, n, w) {
    graph step(a f32[4], m f32[2], last f32[2], k i64[], w f32[4]) -> (next, half, m, left, k)
      next = add(a, w)
      c = constant f32[4] [7, 8, 9, 10]
      half = )" + std::string(of) +
                             R"(.slice(0, 2, 2, 1)
      one = constant i64[] [1]
      left = sub(k, one)
  }
)";
    for (const std::int64_t n : {1, 2, 5}) {
      std::size_t copied = 1;
      run_all_ways(
          text, {{"a", vector(1, 4)}, {"m", vector(20, 2)}, {"w", vector(3, 4)}, {"n", integer(n)}},
          &copied);
      EXPECT_EQ(copied, 0U) << of;
    }
  }
}

TEST(Control, PartsOfWhatABranchComputesAreNotCopied) {
  const char* const text = R"(graph g(x f32[4], k i64[]) -> (a, b, c)
  a, b, c = case (k) of (x) {
    graph both(x f32[4]) -> (low, high, all)
      all = mul(x, x)
      low = all.slice(0, 0, 2, 1)
      high = all.slice(0, 2, 2, 1)
  } of (x) {
    graph one(x f32[4]) -> (low, low, x)
      y = neg(x)
      low = y.slice(0, 1, 2, 1)
  }
)";
  for (const std::int64_t k : {0, 1}) {
    std::size_t copied = 1;
    const std::vector<Tensor> got =
        run_all_ways(text, {{"x", vector(2, 4)}, {"k", integer(k)}}, &copied);
    EXPECT_EQ(got[0].real_at({0}), k == 0 ? 4 : -3);
    EXPECT_EQ(got[1].real_at({1}), k == 0 ? 25 : -4);
    EXPECT_EQ(got[2].real_at({3}), k == 0 ? 25 : 5);
    EXPECT_EQ(copied, 0U);
  }
}

TEST(Control, WhatIsConvolvedTakesTwoPlacesInTurn) {
  // The seed's example: y = conv(x, w, b), x <- y.
  const char* const text = R"(graph g(x f32[1,2,4,4], w f32[2,2,3,3], n i64[]) -> (y)
  y, _k = while (x, n, w) {
    graph step(x f32[1,2,4,4], k i64[], w f32[2,2,3,3]) -> (y, rest, k)
      y = conv2d(x, w, pads0=1, pads1=1, pads2=1, pads3=1)
      one = constant i64[] [1]
      rest = sub(k, one)
  }
)";
  Tensor x(DType::f32, {1, 2, 4, 4}), w(DType::f32, {2, 2, 3, 3});
  for (std::int64_t k = 0; k < 32; ++k) x.reshape({32}).set({k}, 0.25 * static_cast<double>(k % 7));
  for (std::int64_t k = 0; k < 36; ++k)
    w.reshape({36}).set({k}, 0.125 * static_cast<double>(k % 5 - 2));
  for (const std::int64_t n : {0, 1, 2, 3, 6}) {
    std::size_t copied = 1;
    run_all_ways(text, {{"x", x}, {"w", w}, {"n", integer(n)}}, &copied);
    EXPECT_EQ(copied, 0U);
  }
  Context context;
  const Executable e = compile(parse_graph(text), {}, context);
  std::size_t regions = 0;
  for (const CompiledBlock& block : e.report().blocks)
    regions += block.bytes == 32 * sizeof(float) && block.name.starts_with("result") ? 1 : 0;
  EXPECT_EQ(regions, 2U) << to_text(e.report());
}

TEST(Control, ADelayOfFourIterationsHasItsRegions) {
  const char* const text =
      R"(graph g(a f32[3], b f32[3], c f32[3], d f32[3], n i64[]) -> (w, x, y, z)
  w, x, y, z, left = while (a, b, c, d, n) {
    graph step(a f32[3], b f32[3], c f32[3], d f32[3], k i64[]) -> (e, a, b, c, rest, k)
      s = softmax(d, axis=0)
      e = add(s, a)
      one = constant i64[] [1]
      rest = sub(k, one)
  }
)";
  for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 6, 11}) {
    std::size_t copied = 1;
    run_all_ways(text,
                 {{"a", vector(1, 3)},
                  {"b", vector(2, 3)},
                  {"c", vector(3, 3)},
                  {"d", vector(5, 3)},
                  {"n", integer(n)}},
                 &copied);
    EXPECT_EQ(copied, 0U);
  }
  // The oldest value is read before the newest is written in its place, or by the node that writes
  // it, which may be in place; a node that may not needs one region more.
  for (const auto& [newest, expected] : std::vector<std::pair<const char*, std::size_t>>{
           {"add(s, a)", 4}, {"add(d, s)", 4}, {"flip(d, axis=0)", 5}}) {
    std::string of = text;
    of.replace(of.find("add(s, a)"), 9, newest);
    Context context;
    const Executable e = compile(parse_graph(of), {}, context);
    std::size_t regions = 0;
    for (const CompiledBlock& block : e.report().blocks)
      regions += block.bytes == 3 * sizeof(float) && block.name.starts_with("result") ? 1 : 0;
    EXPECT_EQ(regions, expected) << newest << "\n" << to_text(e.report());
    const Executable apart = compile(parse_graph(of), {.in_place = false}, context);
    regions = 0;
    for (const CompiledBlock& block : apart.report().blocks)
      regions += block.bytes == 3 * sizeof(float) && block.name.starts_with("result") ? 1 : 0;
    EXPECT_EQ(regions, newest == std::string("add(s, a)") ? 4U : 5U) << newest;
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

TEST(Control, ABranchThatPassesItsInputOnCopiesNothing) {
  const char* const text = R"(graph g(x f32[2], w f32[2], k i64[]) -> (p, q)
  y = relu(x)
  p, r = case (k) else (y, x) of (y, w) {
    graph one(a f32[2], b f32[2]) -> (a, b)
  } of (y, w) {
    graph two(a f32[2], b f32[2]) -> (s, c)
      s = add(a, b)
      c = constant f32[2] [7, 8]
  }
  q = add(r, y)
)";
  for (const std::int64_t k : {-2, 0, 1}) {
    std::size_t copied = 1;
    run_all_ways(text, {{"x", vector(-1, 2)}, {"w", vector(4, 2)}, {"k", integer(k)}}, &copied);
    EXPECT_EQ(copied, 0U);
  }
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
  expect_error(MOTE_INVALID, "'which' (case..of): graph: no branch has the index -1", [&] {
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

TEST(Control, BrokenTextIsAnErrorWithItsPlace) {
  const auto error = [](const std::string& value) {
    return [value] { parse_graph("graph g(x f32[2], k i64[]) -> (x)\n  " + value); };
  };
  expect_error(MOTE_INVALID, "line 2, column 17: expected '{'", error("y = while (x) ("));
  expect_error(MOTE_INVALID, "needs outputs", error("while () { graph b() -> ()\n }"));
  expect_error(MOTE_INVALID, "expected 'of' and a branch", error("y = case (k)\n"));
  expect_error(MOTE_INVALID, "the branch takes 1 inputs, got 2",
               error("y = case (k) of (x, x) { graph b(p f32[2]) -> (p)\n }"));
  expect_error(MOTE_INVALID, "line 2, column 10: it has 1 outputs, got 2 names",
               error("y, z = case (k) of (x) { graph b(p f32[2]) -> (p)\n }"));
  std::string deep;
  for (int k = 0; k < 300; ++k) deep += "y = while (x) { graph b(x f32[2]) -> (x, c)\n";
  expect_error(MOTE_INVALID, "more than 200 graphs are inside each other", error(deep));
}

TEST(Control, AnInnerLoopGivesTheCondition) {
  const std::string text = R"(graph g(x f32[2], n i64[]) -> (y, left)
  y, left = while (x, n) {
    graph outer(x f32[2], n i64[]) -> (z, rest, more)
      z = add(x, x)
      rest, more = while (n, n) counter {
        graph inner(k i64[], m i64[], c i64[]) -> (less, less, goes)
          one = constant i64[] [1]
          less = sub(k, one)
          goes = sub(one, c)
      }
  }
)";
  // The inner loop runs once: n falls by one, and what is left is the condition.
  for (const std::int64_t n : {1, 2, 5}) {
    const std::vector<Tensor> y = run_all_ways(text, {{"x", vector(1, 2)}, {"n", integer(n)}});
    EXPECT_EQ(y[0].real_at({0}), static_cast<double>(1 << (n - 1)));
  }
}

/// The text of the report of this fault: the inner loop's result is the condition itself.
TEST(Control, AnInnerLoopsOnlyResultIsTheCondition) {
  const std::string text = R"(graph g(x f32[2], n i64[]) -> (y)
  y = while (x, n) {
    graph outer(x f32[2], n i64[]) -> (x, m)
      m = while (n) {
        graph inner(k i64[]) -> (k, k)
      }
  }
)";
  EXPECT_EQ(run_all_ways(text, {{"x", vector(4, 2)}, {"n", integer(0)}})[0].real_at({1}), 5);
}

TEST(Control, ABranchGivesTheCondition) {
  const std::string text = R"(graph g(x f32[2], n i64[]) -> (y)
  y, left = while (x, n) counter {
    graph outer(x f32[2], n i64[], c i64[]) -> (z, n, more)
      z = add(x, x)
      one = constant i64[] [1]
      is_late = less(one, c)
      more = case (is_late) of (n) {
        graph early(k i64[]) -> (k)
      } of (c) {
        graph late(k i64[]) -> (left)
          three = constant i64[] [3]
          left = sub(three, k)
      }
  }
)";
  EXPECT_EQ(run_all_ways(text, {{"x", vector(1, 2)}, {"n", integer(0)}})[0].real_at({0}), 1);
  EXPECT_EQ(run_all_ways(text, {{"x", vector(1, 2)}, {"n", integer(2)}})[0].real_at({0}), 8);
}

/// The condition of a loop is a part of what an inner loop gives, or a constant of a branch.
TEST(Control, APartOfAnInnerResultIsTheCondition) {
  const std::string text = R"(graph g(x f32[2], s i64[2]) -> (y)
  y, _s = while (x, s) {
    graph outer(x f32[2], s i64[2]) -> (z, t, more)
      z = add(x, x)
      t = while (s) counter {
        graph inner(k i64[2], c i64[]) -> (less, goes)
          step = constant i64[2] [1, 1]
          less = sub(k, step)
          goes = constant i64[] [0]
      }
      more = t.select(0, 0)
  }
)";
  run_all_ways(text, {{"x", vector(1, 2)}, {"s", [] {
                                              Tensor s(DType::i64, {2});
                                              s.set({0}, std::int64_t{0});
                                              s.set({1}, std::int64_t{3});
                                              return s;
                                            }()}});
  const std::string constants = R"(graph g(x f32[2], n i64[]) -> (y)
  y, _n = while (x, n) counter {
    graph outer(x f32[2], n i64[], c i64[]) -> (z, n, more)
      z = add(x, x)
      two = constant i64[] [2]
      goes = less(c, two)
      more = case (goes) of () {
        graph no() -> (zero)
          zero = constant i64[] [0]
      } of () {
        graph yes() -> (one)
          one = constant i64[] [1]
      }
  }
)";
  EXPECT_EQ(run_all_ways(constants, {{"x", vector(1, 2)}, {"n", integer(9)}})[0].real_at({0}), 4);
}

}  // namespace
}  // namespace mote
