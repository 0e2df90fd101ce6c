// SPDX-License-Identifier: Apache-2.0
// Tests values that an outer loop carries through an inner one: no byte of them is copied, for any
// numbers of iterations, none included.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using namespace test;

/// Runs the graph in all ways. Returns the bytes that a compiled one copies.
std::size_t check_all_ways(const SymbolicGraph& g, const Inputs& inputs, const std::string& what) {
  SCOPED_TRACE(what);
  std::size_t copied = 0;
  run_all_ways(g, inputs, &copied);
  return copied;
}

/// A function of x and w: one that may be in place of x, and one that may not.
const char* const kFunctions[] = {"mul(x, w)", "flip(x, axis=0)"};

/// Iteration c of the outer loop has (c·step + first) mod 4 iterations of the inner one.
std::string nested(const std::string& function, int step, int first) {
  return "graph g(x f32[3], w f32[3], n i64[]) -> (z, y)\n"
         "  y = while (x, w, n) counter {\n"
         "    graph outer(x f32[3], w f32[3], n i64[], c i64[]) -> (y, left)\n"
         "      left = sub(n, c)\n      four = constant i64[] [4]\n"
         "      step = constant i64[] [" +
         std::to_string(step) + "]\n      first = constant i64[] [" + std::to_string(first) +
         "]\n      s = mul(c, step)\n      f = add(s, first)\n      m = mod(f, four)\n"
         "      y = while (x, w, m) counter {\n"
         "        graph inner(x f32[3], w f32[3], m i64[], k i64[]) -> (y, left)\n"
         "          left = sub(m, k)\n          y = " +
         function + "\n      }\n  }\n  z = neg(y)\n";
}

TEST(CarriedThrough, AnInnerLoopOfAnyNumbersOfIterationsCopiesNothing) {
  for (const char* const function : kFunctions)
    for (const int step : {0, 1, 2, 3})
      for (const int first : {0, 1, 2})
        for (const std::int64_t n : {0, 1, 2, 5}) {
          const Inputs inputs = {{"x", vector(1, 3)}, {"w", vector(-1.5, 3)}, {"n", integer(n)}};
          const SymbolicGraph g = parse_graph(nested(function, step, first));
          const std::string what = std::string(function) + " " + std::to_string(step) + " " +
                                   std::to_string(first) + " " + std::to_string(n);
          EXPECT_EQ(check_all_ways(g, inputs, what), 0U);
        }
}

/// The value goes through two loops, the second of which is in a loop of the first.
TEST(CarriedThrough, LoopsThreeDeepAndTwoValues) {
  for (const char* const function : kFunctions)
    for (const std::int64_t n : {0, 1, 2, 3}) {
      const std::string text =
          "graph g(x f32[3], a f32[3], w f32[3], n i64[]) -> (y, b)\n"
          "  y, b = while (x, a, w, n) counter {\n"
          "    graph outer(x f32[3], a f32[3], w f32[3], n i64[], c i64[]) -> (y, b, left)\n"
          "      left = sub(n, c)\n"
          "      y = while (x, w, c) counter {\n"
          "        graph middle(x f32[3], w f32[3], n i64[], c i64[]) -> (y, left)\n"
          "          left = sub(n, c)\n"
          "          y = while (x, w, c) counter {\n"
          "            graph inner(x f32[3], w f32[3], n i64[], c i64[]) -> (y, left)\n"
          "              left = sub(n, c)\n              y = " +
          std::string(function) +
          "\n          }\n      }\n      u = add(y, w)\n"
          "      b = while (a, u, left) counter {\n"
          "        graph other(a f32[3], u f32[3], n i64[], c i64[]) -> (d, left)\n"
          "          left = sub(n, c)\n          d = add(a, u)\n      }\n  }\n";
      const SymbolicGraph g = parse_graph(text);
      const Inputs inputs = {
          {"x", vector(1, 3)}, {"a", vector(5, 3)}, {"w", vector(-1.5, 3)}, {"n", integer(n)}};
      EXPECT_EQ(check_all_ways(g, inputs, text), 0U) << function << " " << n;
    }
}

/// The pair of loops begins anew in each iteration of one around, which carries something else.
TEST(CarriedThrough, TheLoopsBeginAnewInALoopAround) {
  for (const char* const function : kFunctions)
    for (const std::int64_t n : {0, 1, 2, 3}) {
      const std::string text =
          "graph g(x f32[3], w f32[3], n i64[]) -> (t)\n"
          "  t = while (w, x, w, n) counter {\n"
          "    graph around(t f32[3], x f32[3], w f32[3], n i64[], c i64[]) -> (t2, left)\n"
          "      left = sub(n, c)\n"
          "      y = while (x, w, c) counter {\n"
          "        graph outer(x f32[3], w f32[3], n i64[], c i64[]) -> (y, left)\n"
          "          left = sub(n, c)\n          one = constant i64[] [1]\n"
          "          y = while (x, w, one) counter {\n"
          "            graph inner(x f32[3], w f32[3], n i64[], c i64[]) -> (y, left)\n"
          "              left = sub(n, c)\n              y = " +
          std::string(function) + "\n          }\n      }\n      t2 = add(t, y)\n  }\n";
      const SymbolicGraph g = parse_graph(text);
      EXPECT_EQ(
          check_all_ways(g, {{"x", vector(1, 3)}, {"w", vector(-1.5, 3)}, {"n", integer(n)}}, text),
          0U);
    }
}

/// Iteration c takes the branch c mod 4 - 1: none, one that computes x, one that passes it on, one
/// that computes it from x twice. Another result of theirs is not carried.
TEST(CarriedThrough, BranchesThatComputeOrPassOnCopyNothing) {
  for (const char* const function : kFunctions)
    for (const std::string around : {"", "deep"})
      for (std::int64_t n = 0; n <= 9; ++n) {
        std::string text =
            "graph g(x f32[3], w f32[3], n i64[]) -> (z, y, t)\n"
            "  y, t = while (x, w, n, w) counter {\n"
            "    graph outer(x f32[3], t f32[3], n i64[], w f32[3], c i64[]) -> (y, u, left)\n"
            "      left = sub(n, c)\n      four = constant i64[] [4]\n"
            "      one = constant i64[] [1]\n      m = mod(c, four)\n      k = sub(m, one)\n"
            "      y, s = case (k) else (x, w) of (x, w) {\n"
            "        graph once(x f32[3], w f32[3]) -> (y, v)\n          y = FUNCTION\n"
            "          v = add(y, w)\n"
            "      } of (w, x) {\n        graph same(w f32[3], x f32[3]) -> (x, v)\n"
            "          v = neg(x)\n"
            "      } of (x, x) {\n        graph twice(x f32[3], w f32[3]) -> (y, v)\n"
            "          y = add(x, w)\n          v = mul(y, x)\n      }\n"
            "      u = sub(s, y)\n  }\n  z = neg(y)\n";
        text.replace(text.find("FUNCTION"), 8, function);
        if (around == "deep") {  // one loop more around, each iteration of which has three
          text.replace(text.find("  y, t = while (x, w, n, w) counter {\n"), 38,
                       "  y, t = while (x, w, n, w) counter {\n"
                       "  graph most(x f32[3], t f32[3], n i64[], w f32[3], c i64[]) -> (y, t2, "
                       "left)\n      left = sub(n, c)\n      three = constant i64[] [3]\n"
                       "  y, t2 = while (x, t, three, w) counter {\n");
          text.replace(text.find("  z = neg(y)"), 12, "  }\n  z = neg(y)");
        }
        const SymbolicGraph g = parse_graph(text);
        const Inputs inputs = {{"x", vector(1, 3)}, {"w", vector(-1.5, 3)}, {"n", integer(n)}};
        EXPECT_EQ(check_all_ways(g, inputs, text), 0U);
      }
}

/// Each branch computes x, from what is no x: the first iteration does not read where it was.
TEST(CarriedThrough, BranchesThatMustRun) {
  for (const std::int64_t n : {1, 2, 3, 4}) {
    const std::string text =
        "graph g(x f32[3], w f32[3], n i64[]) -> (y)\n"
        "  y = while (x, w, n) counter {\n"
        "    graph outer(x f32[3], w f32[3], n i64[], c i64[]) -> (y, left)\n"
        "      left = sub(n, c)\n      two = constant i64[] [2]\n      k = mod(c, two)\n"
        "      y = case (k) of (w) {\n        graph a(w f32[3]) -> (y)\n          y = neg(w)\n"
        "      } of (w, x) {\n        graph b(w f32[3], x f32[3]) -> (y)\n"
        "          y = mul(w, x)\n      }\n  }\n";
    const SymbolicGraph g = parse_graph(text);
    EXPECT_EQ(
        check_all_ways(g, {{"x", vector(1, 3)}, {"w", vector(-1.5, 3)}, {"n", integer(n)}}, text),
        0U);
  }
}

/// The outer loop reads the value before, or gives the result twice, or later.
TEST(CarriedThrough, WhatIsReadElsewhereCopiesNothing) {
  for (const std::string uses : {"y = add(i, x)", "y = sub(i, i)"})
    for (const std::string gives : {"(i, i, left)", "(i, x, left)", "(i, y, left)", "(y, i, left)"})
      for (const std::int64_t n : {0, 1, 2, 3}) {
        const std::string text =
            "graph g(x f32[3], v f32[3], w f32[3], n i64[]) -> (r, s)\n"
            "  r, s = while (x, v, w, n) counter {\n"
            "    graph outer(x f32[3], v f32[3], w f32[3], n i64[], c i64[]) -> " +
            gives +
            "\n      left = sub(n, c)\n"
            "      i = while (x, w, c) counter {\n"
            "        graph inner(x f32[3], w f32[3], n i64[], c i64[]) -> (y, left)\n"
            "          left = sub(n, c)\n          y = mul(x, w)\n      }\n      " +
            uses + "\n  }\n";
        const SymbolicGraph g = parse_graph(text);
        const Inputs inputs = {
            {"x", vector(1, 3)}, {"v", vector(7, 3)}, {"w", vector(-1.5, 3)}, {"n", integer(n)}};
        EXPECT_EQ(check_all_ways(g, inputs, text), 0U);
      }
}

/// The way back of a loop with checkpoints carries gradients and sums through that of each part.
TEST(CarriedThrough, GradientsOfLoopsWithCheckpointsCopyNothing) {
  for (const std::int64_t n : {0, 1, 2, 7, 20}) {
    std::string text = loop_of(n);
    text.replace(text.find("counter"), 7, "counter checkpoint sqrt");
    SymbolicGraph g = parse_graph(text);
    g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
    EXPECT_EQ(
        check_all_ways(g, {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}}, std::to_string(n)), 0U);
  }
}

TEST(CarriedThrough, GradientsOfLoopsInLoopsCopyNothing) {
  for (const std::int64_t n : {0, 1, 3}) {
    SymbolicGraph g = parse_graph(kLoopsInLoops);
    g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
    EXPECT_EQ(check_all_ways(g, {{"x", scalar(3)}, {"w", scalar(2)}, {"n", integer(n)}},
                             std::to_string(n)),
              0U);
  }
}

}  // namespace
}  // namespace mote
