// SPDX-License-Identifier: Apache-2.0
// The condition of a loop is what an inner loop or a branch gives, or a part of it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"

namespace mote {
namespace {

using test::integer;
using test::run_all_ways;
using test::vector;

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

/// The condition needs what a branch, or a loop, computes beside the carried value: it runs once
/// more when the loop ends, and what it gives then is not the result.
TEST(Control, AnInnerResultOfTheLastEvaluationIsNotTheLoops) {
  const std::string branch = R"(      b, f = case (zero) of (a) {
        graph one(a f32[2]) -> (b, f)
          two = constant f32[2] [1, 3]
          b = mul(a, two)
          f = abs(a)
      }
)";
  const std::string loop = R"(      q = constant f32[2] [5, 6]
      b, f = while (a, q) counter {
        graph inner(a f32[2], f f32[2], k i64[]) -> (b, f, left)
          two = constant i64[] [2]
          left = sub(two, k)
          three = constant f32[2] [1, 3]
          b = mul(a, three)
      }
)";
  for (const std::string& inner : {branch, loop})
    for (const std::int64_t n : {0, 1, 2, 3}) {
      const std::string text =
          "graph g(a f32[2]) -> (y)\n  y = while (a) counter {\n"
          "    graph step(a f32[2], c i64[]) -> (b, go)\n      zero = constant i64[] [0]\n" +
          inner + "      n = constant i64[] [" + std::to_string(n) +
          "]\n      one = constant i64[] [1]\n      left = sub(n, c)\n"
          "      f0 = f.select(0, 0)\n      k = copy(f0, i64[])\n      m = max(k, one)\n"
          "      go = min(left, m)\n  }\n";
      const std::vector<Tensor> y = run_all_ways(text, {{"a", vector(1, 2)}});
      const auto times = static_cast<double>(inner == branch ? n : 2 * n);
      EXPECT_EQ(y[0].real_at({0}), 1);
      EXPECT_EQ(y[0].real_at({1}), 2 * std::pow(3.0, times)) << n << inner;
    }
}

/// A branch gives the value before, and computes the next one.
TEST(Control, ABranchPassesOnTheValueBefore) {
  const std::string text = R"(graph g(x f32[2], y f32[2]) -> (p, q)
  p, q = while (x, y) counter {
    graph body(a f32[2], b f32[2], c i64[]) -> (v, u, more)
      one = constant i64[] [1]
      more = less(c, one)
      k = constant i64[] [0]
      u, v = case (k) of (a, b) {
        graph some(before f32[2], d f32[2]) -> (before, e)
          e = mul(d, d)
      }
  }
)";
  // There is one iteration.
  const std::vector<Tensor> out = run_all_ways(text, {{"x", vector(2, 2)}, {"y", vector(3, 2)}});
  for (const std::int64_t k : {0, 1}) {
    const double x = vector(2, 2).real_at({k}), y = vector(3, 2).real_at({k});
    EXPECT_EQ(out[0].real_at({k}), y * y);
    EXPECT_EQ(out[1].real_at({k}), x);
  }
}

}  // namespace
}  // namespace mote
