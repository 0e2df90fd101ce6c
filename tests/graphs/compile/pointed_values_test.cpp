// SPDX-License-Identifier: Apache-2.0
// Tests loops and branches whose values are where only the run decides: no byte of them is copied,
// for any numbers of iterations, none included (M1-M5).
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using namespace test;

constexpr std::size_t kPage = 4096;

/// A function of x and w: some that may be in place of x, and one that may not, which is its own
/// inverse.
const char* const kFunctions[] = {"mul(x, w)", "flip(x, axis=0)", "add(x, x)"};

/// Runs the text in all ways, for 0 to 6 iterations of its outermost loop; none copies a byte.
void check(const std::string& text) {
  SCOPED_TRACE(text);
  for (std::int64_t n = 0; n <= 6; ++n) {
    std::size_t copied = 1;
    run_all_ways(
        text, {{"x", vector(1, 4)}, {"v", vector(7, 4)}, {"w", vector(-1.5, 4)}, {"n", integer(n)}},
        &copied);
    EXPECT_EQ(copied, 0U) << n;
  }
}

/// An outer loop over x and v whose body has these lines, and gives these values. It has c, the
/// number of the iteration, and m = c mod 3.
std::string outer(const std::string& lines, const std::string& gives) {
  return "graph g(x f32[4], v f32[4], w f32[4], n i64[]) -> (r, s)\n"
         "  r, s = while (x, v, w, n) counter {\n"
         "    graph outer(x f32[4], v f32[4], w f32[4], n i64[], c i64[]) -> (" +
         gives +
         ")\n      left = sub(n, c)\n      three = constant i64[] [3]\n      m = mod(c, three)\n" +
         lines + "  }\n";
}

/// An inner loop of m iterations: i = while (from, …).
std::string inner(const std::string& name, const std::string& from, const std::string& function) {
  return "      " + name + " = while (" + from +
         ", w, m) counter {\n"
         "        graph inner(x f32[4], w f32[4], m i64[], k i64[]) -> (y, left)\n"
         "          left = sub(m, k)\n          y = " +
         function + "\n      }\n";
}

TEST(PointedValues, TheCounterIsCarriedWithoutACopy) {
  check(
      "graph g(x f32[4], v f32[4], w f32[4], n i64[]) -> (a, b, e, y)\n"
      "  zero = constant i64[] [-7]\n  row = constant i64[1] [-5]\n"
      "  a, b, e, y = while (zero, zero, row, x, n) counter {\n"
      "    graph step(a i64[], b i64[], e i64[1], x f32[4], n i64[], c i64[]) -> "
      "(c, a, f, y, left)\n"
      "      left = sub(n, c)\n      f = c.reshape(1)\n      s = add(a, b)\n"
      "      t = s.reshape(1)\n      u = add(t, e)\n      z = copy(u, f32[1])\n"
      "      q = z.broadcast(4)\n      y = add(x, q)\n  }\n");
}

TEST(PointedValues, AnInnerLoopThatBeginsWithAnotherValue) {
  for (const std::string function : kFunctions) {
    check(outer("      h = neg(x)\n" + inner("i", "h", function), "i, x, left"));
    check(outer(inner("i", "w", function), "i, v, left"));
    check(outer("      h = constant f32[4] [3, 4, 5, 6]\n" + inner("i", "h", function) +
                    "      j = add(i, x)\n",
                "i, j, left"));
  }
}

TEST(PointedValues, WhatElseReadsOrGivesTheValue) {
  for (const std::string function : kFunctions) {
    const std::string lines = inner("i", "x", function) + "      y = add(i, x)\n";
    for (const std::string gives : {"i, i", "i, x", "i, y", "y, i", "x, i", "v, i"})
      check(outer(lines, gives + ", left"));
    // The inner loop of one iteration ends where that of the next begins, or begins from both.
    check(outer(inner("i", "x", function) + inner("j", "i", function), "i, j, left"));
    check(outer(inner("i", "x", function) + inner("j", "v", function), "j, i, left"));
  }
}

TEST(PointedValues, AutotuneMeasuresWhatHasRun) {
  // The inner loops run 0, 1, 2, 0, … times.
  const SymbolicGraph g =
      parse_graph(outer(inner("i", "x", kFunctions[0]) + "      y = add(i, x)\n", "y, i, left"));
  Context context;
  for (std::int64_t n = 0; n < 4; ++n) {
    Executable e = compile(g, {}, context);
    const std::vector<TensorBinding> given = {{g.find("x"), vector(1, 4)},
                                              {g.find("v"), vector(7, 4)},
                                              {g.find("w"), vector(-1.5, 4)},
                                              {g.find("n"), integer(n)}};
    e.run(given);
    Numbers before, after;
    append(before, e.output(g.find("r")));
    const std::size_t measured = e.graph().autotune({.rounds = 1});
    const std::vector<std::string> left = e.graph().untuned();
    EXPECT_EQ(measured + left.size(), 5U) << n;
    if (n == 0)
      EXPECT_EQ(left, std::vector<std::string>{"node 0 'r' (while): node 3 'y' (add)"});
    else
      EXPECT_EQ(left, std::vector<std::string>()) << n;
    e.run(given);
    append(after, e.output(g.find("r")));
    EXPECT_EQ(before, after);
  }
}

/// Returns 1, 2, 3, 4 on pages of their own.
Tensor on_pages() {
  void* const pages =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const Tensor tensor = Tensor::over(pages, DType::f32, {4});
  for (std::int64_t k = 0; k < 4; ++k) tensor.set({k}, static_cast<double>(k + 1));
  return tensor;
}

/// The caller may give up memory once other memory is bound.
TEST(PointedValues, AutotuneReadsNoMemoryThatWasBoundBefore) {
  const SymbolicGraph g =
      parse_graph(outer(inner("i", "x", kFunctions[0]) + "      y = add(i, x)\n", "y, i, left"));
  for (std::int64_t n = 0; n < 3; ++n) {
    Context context;
    Executable e = compile(g, {}, context);
    const std::vector<const char*> names = {"x", "v", "w"};
    std::vector<TensorBinding> given = {{g.find("n"), integer(n)}};
    for (const char* name : names) given.emplace_back(g.find(name), on_pages());
    e.run(given);
    for (const char* name : names) e.bind(g.find(name), vector(2, 4));
    for (std::size_t k = 1; k < given.size(); ++k) munmap(given[k].second.data(), kPage);
    const std::size_t measured = e.graph().autotune({.rounds = 1});
    EXPECT_EQ(measured + e.graph().untuned().size(), 5U) << n;
    EXPECT_GT(e.graph().untuned().size(), 0U) << n;
  }
}

TEST(PointedValues, ThePartsOfAResult) {
  check(outer(inner("i", "x", kFunctions[1]) +
                  "      a = i.slice(0, 0, 2, 1)\n      b = i.slice(0, 2, 2, 1)\n"
                  "      t = tensor f32[4]\n      t0 = t.slice(0, 0, 2, 1)\n"
                  "      t1 = t.slice(0, 2, 2, 1)\n      t0 <- copy(b)\n      t1 <- copy(a)\n",
              "i, t, left"));
  check(
      "graph g(x f32[4], v f32[4], w f32[4], n i64[]) -> (r, s, t)\n"
      "  a = v.slice(0, 0, 2, 1)\n  b = w.slice(0, 1, 2, 1)\n"
      "  r, s, t = while (a, b, x, w, n) counter {\n"
      "    graph outer(a f32[2], b f32[2], x f32[4], w f32[4], n i64[], c i64[]) -> "
      "(p, q, next, left)\n"
      "      left = sub(n, c)\n      three = constant i64[] [3]\n      m = mod(c, three)\n" +
      inner("i", "x", kFunctions[1]) +
      "      p = i.slice(0, 2, 2, 1)\n      q = i.slice(0, 1, 2, 1)\n"
      "      ab = concat(a, b, axis=0)\n      next = add(ab, i)\n  }\n");
}

TEST(PointedValues, AConditionThatNeedsTheInnerLoop) {
  for (const std::string function : kFunctions)
    check(
        "graph g(x f32[4], v f32[4], w f32[4], n i64[]) -> (r, t, k)\n"
        "  r, t, k = while (x, v, n, w) {\n"
        "    graph outer(x f32[4], v f32[4], k i64[], w f32[4]) -> (i, x, p, go)\n"
        "      three = constant i64[] [3]\n      m = mod(k, three)\n"
        "      one = constant i64[] [1]\n      p = sub(k, one)\n"
        "      i, l = while (x, k, w, m) counter {\n"
        "        graph inner(x f32[4], k i64[], w f32[4], m i64[], c i64[]) -> (y, k2, left)\n"
        "          left = sub(m, c)\n          k2 = add(k, k)\n          y = " +
        function +
        "\n      }\n      q = sub(l, l)\n      s = add(k, q)\n      go = copy(s, bool[])\n  }\n");
}

/// If the loop does not go on, x is its result, though the inner loop has read it through h.
TEST(PointedValues, AConditionThatNeedsALoopThatBeginsElsewhere) {
  for (std::int64_t n = 0; n <= 6; ++n) {
    std::size_t copied = 1;
    run_all_ways(R"(graph g(x f32[4], w f32[4], n i64[]) -> (r, t)
  r, t = while (x, n, w) {
    graph outer(x f32[4], k i64[], w f32[4]) -> (i, p, go)
      one = constant i64[] [1]
      three = constant i64[] [3]
      p = sub(k, one)
      h = neg(x)
      i, l = while (h, k, w, three) counter {
        graph inner(x f32[4], k i64[], w f32[4], m i64[], c i64[]) -> (y, k2, left)
          left = sub(m, c)
          k2 = add(k, k)
          y = flip(x, axis=0)
      }
      q = sub(l, l)
      s = add(k, q)
      go = copy(s, bool[])
  }
)",
                 {{"x", vector(1, 4)}, {"w", vector(-1.5, 4)}, {"n", integer(n)}}, &copied);
    EXPECT_EQ(copied, 0U) << n;
  }
}

/// d is carried by the loop in the loop, where a branch passes it on as e: it has one pointer.
TEST(PointedValues, WhatLoopsAndBranchesPassOnAtSeveralDepths) {
  const std::string passes_on = "{\n            graph p(d f32[4]) -> (d)\n          }";
  const std::string lines[] = {
      "d = add(a, a)\n          t = neg(c)\n          e = case (t) else (b) of (d) " + passes_on,
      "d = neg(a)\n          one = constant i64[] [1]\n          t = sub(c, one)\n"
      "          e = case (t) else (b) of (d) " +
          passes_on +
          " of (b) {\n            graph q(b f32[4]) -> (f)\n              f = flip(b, axis=0)\n"
          "          }"};
  for (const std::string& body : lines) {
    std::size_t copied = 1;
    run_all_ways(
        "graph g(x f32[4], y f32[4]) -> (r, s)\n  m = constant i64[] [3]\n"
        "  r, s = while (x, y, m) counter {\n"
        "    graph outer(x f32[4], y f32[4], k i64[], c i64[]) -> (i, z, left)\n"
        "      left = sub(k, c)\n      h = add(x, y)\n"
        "      i, j = while (h, y, k) counter {\n"
        "        graph inner(a f32[4], b f32[4], m i64[], c i64[]) -> (d, e, left)\n"
        "          left = sub(m, c)\n          " +
            body + "\n      }\n      z = add(i, j)\n  }\n",
        {{"x", vector(1, 4)}, {"y", vector(7, 4)}}, &copied);
    EXPECT_EQ(copied, 0U) << body;
  }
}

/// Where the inner loop's result was in the run before, a node may compute something else now.
TEST(PointedValues, TheNextRunMayTakeThePlacesOfResults) {
  const SymbolicGraph g = parse_graph(R"(graph g(x f32[4], w f32[4]) -> (q)
  one = constant i64[] [3]
  q, q2 = while (w, x, one) counter {
    graph p(w f32[4], x f32[4], n i64[], t i64[]) -> (i, x2, go)
      go = sub(n, t)
      x2 = neg(x)
      a, b = while (w, x) counter {
        graph first(a f32[4], b f32[4], c i64[]) -> (d, d, left)
          d = flip(a, axis=0)
          one = constant i64[] [1]
          left = sub(c, one)
      }
      h, j, i = while (a, x, b) counter {
        graph second(a f32[4], b f32[4], d f32[4], c i64[]) -> (f, f, e, left)
          two = constant i64[] [2]
          left = sub(two, c)
          k = sub(c, c)
          e = case (k) else (b) of (b) {
            graph p(b f32[4]) -> (b)
          }
          f = flip(e, axis=0)
      }
  }
)");
  const Inputs inputs = {{"x", vector(1, 4)}, {"w", vector(-1.5, 4)}};
  const std::vector<TensorBinding> bindings = bindings_of(g, inputs);
  Context context({.workers = 2});
  for (const CompileOptions& options :
       {CompileOptions{}, CompileOptions{.streams = 2}, CompileOptions{.poison = true},
        CompileOptions{.order = EvaluationOrder::program}}) {
    Executable e = compile(g, options, context);
    e.run(bindings);
    const auto result = [&] {
      Numbers q;
      append(q, e.output(g.find("q")));
      return q;
    };
    const Numbers first = result();
    for (int run = 0; run < 3; ++run) {
      e.run(bindings);
      EXPECT_EQ(result(), first) << run;
    }
  }
}

TEST(PointedValues, BranchesThatPassOnOtherTensors) {
  for (const std::string function : kFunctions) {
    const std::string branches =
        "      one = constant i64[] [1]\n      k = sub(m, one)\n"
        "      i = case (k) else (OTHER) of (x, w) {\n"
        "        graph a(x f32[4], w f32[4]) -> (y)\n          y = " +
        function + "\n      } of (v) {\n        graph b(v f32[4]) -> (v)\n      }\n";
    for (const std::string other : {"x", "v", "w"}) {
      std::string lines = branches;
      lines.replace(lines.find("OTHER"), 5, other);
      for (const std::string gives : {"i, x", "i, i", "v, i", "i, v", "x, i"})
        check(outer(lines, gives + ", left"));
    }
  }
}

TEST(PointedValues, ALoopInABranch) {
  for (const std::string function : kFunctions) {
    const std::string branch =
        "      one = constant i64[] [1]\n      k = sub(m, one)\n"
        "      i = case (k) else (x) of (x, w, m) {\n"
        "        graph a(x f32[4], w f32[4], m i64[]) -> (i)\n" +
        inner("i", "x", function) +
        "      } of (v) {\n        graph b(v f32[4]) -> (y)\n          y = neg(v)\n      }\n";
    for (const std::string gives : {"i, x", "i, i", "v, i", "i, v"})
      check(outer(branch, gives + ", left"));
    // Outside of all loops.
    check(
        "graph g(x f32[4], v f32[4], w f32[4], n i64[]) -> (i, j)\n"
        "  two = constant i64[] [2]\n  b = mod(n, two)\n"
        "  j = case (b) of (x, w, n) {\n"
        "    graph a(x f32[4], w f32[4], m i64[]) -> (i)\n" +
        inner("i", "x", function) +
        "    } of (v, x) {\n    graph b(v f32[4], x f32[4]) -> (y)\n      y = sub(v, x)\n  }\n"
        "  i = neg(j)\n");
  }
}

/// The middle loop carries through the inner one what the outer one carries on from elsewhere.
TEST(PointedValues, LoopsThreeDeep) {
  for (const std::string function : kFunctions)
    for (const std::string gives : {"i, x", "i, i", "v, i", "h, i"})
      check(
          outer("      h = neg(v)\n      i = while (h, w, m) counter {\n"
                "      graph middle(x f32[4], w f32[4], n i64[], c i64[]) -> (j, left)\n"
                "      left = sub(n, c)\n      two = constant i64[] [2]\n"
                "      m = mod(c, two)\n      q = neg(x)\n" +
                    inner("j", gives == std::string("i, i") ? "x" : "q", function) + "      }\n",
                gives + ", left"));
}

/// Two results of an inner loop are one tensor, which another inner loop goes on with.
TEST(PointedValues, OneTensorGivenTwiceInside) {
  for (const std::string function : kFunctions)
    check(
        outer("      i, j = while (x, v, w, m) counter {\n"
              "        graph inner(x f32[4], v f32[4], w f32[4], m i64[], k i64[]) -> "
              "(y, y, left)\n"
              "          left = sub(m, k)\n          y = " +
                  function + "\n      }\n" + inner("l", "j", function),
              "i, l, left"));
}

/// A tensor that was asked for after a run is that of the next run with the same inputs.
TEST(PointedValues, EachRunWithTheSameInputsHasItsResultsAtTheSamePlaces) {
  const SymbolicGraph g = parse_graph(
      outer("      h = neg(x)\n" + inner("i", "h", kFunctions[1]) + "      y = add(i, v)\n",
            "y, i, left"));
  Context context;
  Executable e = compile(g, {}, context);
  const std::vector<TensorBinding> bindings = bindings_of(
      g, {{"x", vector(1, 4)}, {"v", vector(7, 4)}, {"w", vector(-1.5, 4)}, {"n", integer(5)}});
  e.run(bindings);
  const Tensor r = e.output(g.find("r")), s = e.output(g.find("s"));
  for (int run = 0; run < 3; ++run) {
    e.run(bindings);
    EXPECT_EQ(e.output(g.find("r")).data(), r.data()) << run;
    EXPECT_EQ(e.output(g.find("s")).data(), s.data()) << run;
  }
}

TEST(PointedValues, GradientsOfSuchLoops) {
  for (const std::string function : kFunctions) {
    SymbolicGraph g = parse_graph(outer(
        "      h = neg(x)\n" + inner("i", "h", function) + "      y = mul(i, v)\n", "i, y, left"));
    g.set_outputs(
        gradient(g, Symbols{g.find("r"), g.find("s")}, Symbols{g.find("x"), g.find("w")}));
    for (std::int64_t n = 0; n <= 4; ++n) {
      std::size_t copied = 1;
      run_all_ways(
          g, {{"x", vector(1, 4)}, {"v", vector(7, 4)}, {"w", vector(-1.5, 4)}, {"n", integer(n)}},
          &copied);
      EXPECT_EQ(copied, 0U) << n;
    }
  }
}

}  // namespace
}  // namespace mote
