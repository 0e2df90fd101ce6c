// SPDX-License-Identifier: Apache-2.0
// Tests the gradients of loops and branches: known derivatives, the unrolled graph's, nests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using namespace test;

/// Returns the gradient of the sum of output `of` with respect to inputs.
Numbers gradients_of(const std::string& text, const std::string& of,
                     const std::vector<std::string>& wrt, const Inputs& inputs) {
  SymbolicGraph g = parse_graph(text);
  Symbols symbols;
  for (const std::string& name : wrt) symbols.push_back(g.find(name));
  g.set_outputs(gradient(g, Symbols{g.find(of)}, symbols));
  return values_of(g, inputs);
}

TEST(ControlGradient, OfALoopOfAnyNumberOfIterations) {
  for (const std::int64_t n : {0, 1, 2, 3, 5}) {
    const std::vector<double> grads = gradients_of(
        kPower, "z", {"x", "y"}, {{"x", vector(2, 2)}, {"y", vector(1, 2)}, {"n", integer(n)}});
    const auto exponent = static_cast<double>(n);
    EXPECT_EQ(grads[0], exponent * std::pow(2.0, exponent - 1));
    EXPECT_EQ(grads[1], 2 * exponent * std::pow(3.0, exponent - 1));
    EXPECT_EQ(grads[2], std::pow(2.0, exponent));
    EXPECT_EQ(grads[3], std::pow(3.0, exponent));
  }
}

/// Returns the number of steps of Newton's iteration until |x*x - a| <= 1e-5, in single precision.
int newton_steps(float a, float x) {
  int steps = 0;
  for (; std::abs(x * x - a) > 1e-5F; ++steps) x = (x + a / x) * 0.5F;
  return steps;
}

std::string unrolled_newton(int steps) {
  std::string text = "graph newton(a f32[], x0 f32[]) -> (x" + std::to_string(steps) + ")\n" +
                     "  half = constant f32[] [0.5]\n";
  for (int k = 0; k < steps; ++k)
    text += fmt::format(
        "  q{0} = div(a, x{0})\n  s{0} = add(x{0}, q{0})\n  x{1} = mul(s{0}, half)\n", k, k + 1);
  return text;
}

TEST(ControlGradient, OfALoopThatEndsByItsData) {
  const char* const text = R"(graph newton(a f32[], start f32[]) -> (root)
  root = while (start, a) limit 100 {
    graph step(x f32[], a f32[]) -> (next, go)
      square = mul(x, x)
      error = sub(square, a)
      distance = abs(error)
      allowed = constant f32[] [1e-05]
      excess = sub(distance, allowed)
      positive = relu(excess)
      go = copy(positive, bool[])
      quotient = div(a, x)
      sum = add(x, quotient)
      half = constant f32[] [0.5]
      next = mul(sum, half)
  }
)";
  const std::vector<double> grads =
      gradients_of(text, "root", {"a", "start"}, {{"a", scalar(9)}, {"start", scalar(1)}});
  const int steps = newton_steps(9, 1);
  EXPECT_GT(steps, 3);
  EXPECT_EQ(grads, gradients_of(unrolled_newton(steps), "x" + std::to_string(steps), {"a", "x0"},
                                {{"a", scalar(9)}, {"x0", scalar(1)}}));
}

TEST(ControlGradient, IsThatOfTheUnrolledGraphBitForBit) {
  const auto loop = [](std::int64_t n) {
    return "graph g(x f32[3], w f32[3]) -> (y)\n  y = while (x, w) counter {\n"
           "    graph step(x f32[3], w f32[3], c i64[]) -> (t, left)\n"
           "      n = constant i64[] [" +
           std::to_string(n) +
           "]\n      left = sub(n, c)\n"
           "      h = mul(x, w)\n      s = add(h, x)\n      t = tanh(s)\n  }\n";
  };
  const auto unrolled = [](std::int64_t n) {
    std::string text = "graph g(x f32[3], w f32[3]) -> (y)\n";
    std::string x = "x";
    for (std::int64_t c = 0; c < n; ++c) {
      const std::string k = std::to_string(c);
      text += "  h" + k + " = mul(" + x + ", w)\n  s" + k + " = add(h" + k + ", " + x + ")\n";
      x = c + 1 == n ? "y" : "t" + k;
      text += "  " + x + " = tanh(s" + k + ")\n";
    }
    return text;
  };
  for (const std::int64_t n : {1, 2, 5}) {
    const std::vector<std::pair<std::string, Tensor>> inputs = {{"x", vector(0.25, 3)},
                                                                {"w", vector(-0.5, 3)}};
    EXPECT_EQ(gradients_of(loop(n), "y", {"x", "w"}, inputs),
              gradients_of(unrolled(n), "y", {"x", "w"}, inputs))
        << n;
  }
}

TEST(ControlGradient, OfTheBranchThatWasTaken) {
  const char* const text = R"(graph g(x f32[2], w f32[2], k i64[]) -> (y)
  y = case (k) else (x) of (x, w) {
    graph one(a f32[2], b f32[2]) -> (c)
      c = mul(a, b)
  } of (w) {
    graph two(b f32[2]) -> (c)
      c = mul(b, b)
  }
)";
  const auto at = [&](std::int64_t k) {
    return gradients_of(text, "y", {"x", "w"},
                        {{"x", vector(2, 2)}, {"w", vector(5, 2)}, {"k", integer(k)}});
  };
  EXPECT_EQ(at(-1), (std::vector<double>{1, 1, 0, 0}));
  EXPECT_EQ(at(0), (std::vector<double>{5, 6, 2, 3}));
  EXPECT_EQ(at(1), (std::vector<double>{0, 0, 10, 12}));
}

TEST(ControlGradient, OfLoopsInLoops) {
  for (const std::int64_t n : {0, 1, 3}) {
    const std::vector<double> grads = gradients_of(
        kLoopsInLoops, "y", {"x", "w"}, {{"x", scalar(3)}, {"w", scalar(2)}, {"n", integer(n)}});
    const double e = 2.0 * static_cast<double>(n);
    EXPECT_EQ(grads[0], std::pow(2.0, e));
    EXPECT_EQ(grads[1], 3 * e * std::pow(2.0, e - 1));
  }
}

/// The body's values by the numbers of a loop: (a, b) <- (b, a w), a <- a + a, and a carried value
/// that is used twice and given too.
TEST(ControlGradient, OfCarriedValuesThatAreSwappedDoubledAndUsedTwice) {
  const auto text = [](const std::string& body) {
    return "graph g(a f64[], b f64[], w f64[], n i64[]) -> (x, y)\n"
           "  x, y = while (a, b, w, n) counter {\n"
           "    graph step(a f64[], b f64[], w f64[], n i64[], c i64[]) -> (p, q, left)\n"
           "      left = sub(n, c)\n" +
           body + "  }\n";
  };
  /// A value and its derivatives by a, b and w.
  struct Known {
    double value;
    std::array<double, 3> by;
  };
  const auto plus = [](const Known& s, const Known& t) {
    Known r{s.value + t.value, {}};
    for (std::size_t k = 0; k < 3; ++k) r.by[k] = s.by[k] + t.by[k];
    return r;
  };
  const auto times = [](const Known& s, const Known& t) {
    Known r{s.value * t.value, {}};
    for (std::size_t k = 0; k < 3; ++k) r.by[k] = s.by[k] * t.value + s.value * t.by[k];
    return r;
  };
  using Step = std::function<std::pair<Known, Known>(Known, Known, Known)>;
  const std::vector<std::pair<std::string, Step>> steps = {
      {"      p = copy(b, f64[])\n      q = mul(a, w)\n",
       [&](const Known& a, const Known& b, const Known& w) { return std::pair(b, times(a, w)); }},
      {"      p = add(a, a)\n      q = add(b, w)\n",
       [&](const Known& a, const Known& b, const Known& w) {
         return std::pair(plus(a, a), plus(b, w));
       }},
      {"      s = mul(a, b)\n      p = add(s, a)\n      q = copy(a, f64[])\n",
       [&](const Known& a, const Known& b, const Known&) {
         return std::pair(plus(times(a, b), a), a);
       }}};
  for (const auto& [body, step] : steps)
    for (const std::int64_t n : {0, 1, 2, 3}) {
      Known a{2, {1, 0, 0}}, b{3, {0, 1, 0}}, w{0.5, {0, 0, 1}};
      for (std::int64_t c = 0; c < n; ++c) std::tie(a, b) = step(a, b, w);
      const Inputs inputs = {{"a", scalar_of_f64(2)},
                             {"b", scalar_of_f64(3)},
                             {"w", scalar_of_f64(0.5)},
                             {"n", integer(n)}};
      EXPECT_EQ(gradients_of(text(body), "x", {"a", "b", "w"}, inputs),
                Numbers(a.by.begin(), a.by.end()))
          << body << n;
      EXPECT_EQ(gradients_of(text(body), "y", {"a", "b", "w"}, inputs),
                Numbers(b.by.begin(), b.by.end()))
          << body << n;
    }
}

/// z is computed in each branch, and nothing reads it.
TEST(ControlGradient, OfWhatOnlyAnUnreadOutputNeedsIsZero) {
  const char* const text = R"(graph g(x f32[2], w f32[2], k i64[]) -> (y)
  y, z = case (k) else (x, w) of (x, w) {
    graph one(a f32[2], b f32[2]) -> (c, d)
      c = mul(a, a)
      d = mul(a, b)
  } of (x, w) {
    graph two(a f32[2], b f32[2]) -> (c, b)
      c = neg(a)
  }
)";
  const std::vector<Numbers> expected = {{1, 1, 0, 0}, {4, 6, 0, 0}, {-1, -1, 0, 0}};
  for (const std::int64_t k : {-1, 0, 1})
    EXPECT_EQ(gradients_of(text, "y", {"x", "w"},
                           {{"x", vector(2, 2)}, {"w", vector(5, 2)}, {"k", integer(k)}}),
              expected[static_cast<std::size_t>(k + 1)]);
}

}  // namespace
}  // namespace mote
