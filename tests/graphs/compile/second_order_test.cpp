// SPDX-License-Identifier: Apache-2.0
// Tests gradients of gradients of loops, and changes through loops, against known derivatives and
// the unrolled graph.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using namespace test;

TEST(SecondOrder, OfPowersByALoop) {
  for (const std::int64_t n : {0, 1, 2, 3, 5})
    for (const int order : {1, 2, 3, 4}) {
      const auto exponent = static_cast<double>(n);
      double factor = 1;
      for (int k = 0; k < order; ++k) factor *= exponent - k;
      const auto expected = [&](double x) {
        return factor == 0 ? 0 : factor * std::pow(x, exponent - order);
      };
      SCOPED_TRACE("n " + std::to_string(n) + ", order " + std::to_string(order));
      // d/dx of y x^n, y = 1 and 2
      EXPECT_EQ(derivative(kPower, "z", "x", order,
                           {{"x", vector(2, 2)}, {"y", vector(1, 2)}, {"n", integer(n)}}),
                (Numbers{expected(2), 2 * expected(3)}));
    }
}

TEST(SecondOrder, OfLoopsInLoops) {
  for (const std::int64_t n : {0, 1, 3}) {
    const Inputs inputs = {{"x", scalar(3)}, {"w", scalar(2)}, {"n", integer(n)}};
    const double e = 2.0 * static_cast<double>(n);
    EXPECT_EQ(derivative(kLoopsInLoops, "y", "w", 1, inputs),
              (Numbers{3 * e * std::pow(2.0, e - 1)}));
    EXPECT_EQ(derivative(kLoopsInLoops, "y", "w", 2, inputs),
              (Numbers{3 * e * (e - 1) * std::pow(2.0, e - 2)}));
    EXPECT_EQ(derivative(kLoopsInLoops, "y", "w", 3, inputs),
              (Numbers{3 * e * (e - 1) * (e - 2) * std::pow(2.0, e - 3)}));
  }
}

TEST(SecondOrder, OfBranchesInALoop) {
  // Iterations of even number cube, the others square: x^36 after 4.
  const char* const text = R"(graph g(x f64[]) -> (y)
  y = while (x) counter {
    graph step(x f64[], c i64[]) -> (y, left)
      four = constant i64[] [4]
      left = sub(four, c)
      one = constant i64[] [1]
      k = bitwise_and(c, one)
      y = case (k) of (x) {
        graph even(x f64[]) -> (z)
          s = mul(x, x)
          z = mul(s, x)
      } of (x) {
        graph odd(x f64[]) -> (z)
          z = mul(x, x)
      }
  }
)";
  Tensor x(DType::f64, AxisList{});
  x.set({}, 0.5);
  EXPECT_EQ(derivative(text, "y", "x", 1, {{"x", x}}), (Numbers{36 * std::pow(0.5, 35)}));
  EXPECT_EQ(derivative(text, "y", "x", 2, {{"x", x}}), (Numbers{36 * 35 * std::pow(0.5, 34)}));
  EXPECT_EQ(derivative(text, "y", "x", 3, {{"x", x}}),
            (Numbers{36.0 * 35 * 34 * std::pow(0.5, 33)}));
}

/// Returns first and second derivatives in a mixed way: of sum(gx * gw) with respect to both.
Numbers mixed(const std::string& text, const Inputs& inputs) {
  SymbolicGraph g = parse_graph(text);
  const Symbols wrt = {g.find("x"), g.find("w")};
  const Symbols first = gradient(g, Symbols{g.find("y")}, wrt);
  const TensorSymbol f = g.add("mul", {first[0], first[1]});
  Symbols outputs = gradient(g, Symbols{f}, wrt);
  outputs.push_back(f);
  outputs.push_back(g.find("y"));
  g.set_outputs(outputs);
  return values_of(g, inputs);
}

TEST(SecondOrder, IsThatOfTheUnrolledGraph) {
  // Products and sums of small integers have no rounding, in whatever order they are summed.
  const Inputs inputs = {{"x", vector(-1, 3)}, {"w", vector(-2, 3)}};
  for (const std::int64_t n : {1, 2, 5})
    EXPECT_EQ(mixed(loop_of(n, "neg"), inputs), mixed(unrolled(n, "neg"), inputs)) << n;
}

TEST(SecondOrder, ChangesGoThroughLoops) {
  // The change of y x^n along (1, 2) of x and y.
  for (const std::int64_t n : {0, 1, 4}) {
    SymbolicGraph g = parse_graph(kPower);
    const Symbols of = {g.find("z")}, wrt = {g.find("x"), g.find("y")};
    const TensorSymbol tx = g.input("tx", g.form(wrt[0])), ty = g.input("ty", g.form(wrt[1]));
    g.set_outputs(jvp(g, of, wrt, Symbols{tx, ty}));
    const auto e = static_cast<double>(n);
    const auto expected = [&](double x, double y, double dx, double dy) {
      return (n == 0 ? 0 : e * std::pow(x, e - 1) * y * dx) + std::pow(x, e) * dy;
    };
    EXPECT_EQ(values_of(g, {{"x", vector(2, 2)},
                            {"y", vector(1, 2)},
                            {"n", integer(n)},
                            {"tx", vector(1, 2)},
                            {"ty", vector(3, 2)}}),
              (Numbers{expected(2, 1, 1, 3), expected(3, 2, 2, 4)}));
  }
}

}  // namespace
}  // namespace mote
