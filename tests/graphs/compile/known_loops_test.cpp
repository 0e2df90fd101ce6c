// SPDX-License-Identifier: Apache-2.0
// Tests loops whose values and derivatives are known by other means: powers, nests, scaled
// branches, pieces of lines, logarithms, carried inputs that are outputs, very many iterations, and
// where delayed values lie.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using namespace test;

/// The graph's outputs, and the derivatives of the first one.
struct ValuesAndGradients {
  Numbers values, gradients;
};
ValuesAndGradients all_of(const std::string& text, const std::vector<std::string>& wrt,
                          const Inputs& inputs) {
  SymbolicGraph g = parse_graph(text);
  ValuesAndGradients all;
  all.values = values_of(g, inputs);
  Symbols symbols;
  for (const std::string& name : wrt) symbols.push_back(g.find(name));
  g.set_outputs(gradient(g, Symbols{g.outputs()[0]}, symbols));
  all.gradients = values_of(g, inputs);
  return all;
}

TEST(KnownLoops, PowersByAWhile) {
  const char* const text = R"(graph g(x f64[], y f64[], n i64[]) -> (z)
  z = while (x, y, n) counter {
    graph step(z f64[], y f64[], n i64[], c i64[]) -> (next, left)
      left = sub(n, c)
      next = mul(z, y)
  }
)";
  for (const std::int64_t n : {0, 1, 2, 7}) {
    const auto e = static_cast<double>(n);
    const auto all = all_of(
        text, {"x", "y"}, {{"x", scalar_of_f64(0.75)}, {"y", scalar_of_f64(2)}, {"n", integer(n)}});
    EXPECT_EQ(all.values, (Numbers{0.75 * std::pow(2, e)}));
    EXPECT_EQ(all.gradients, (Numbers{std::pow(2, e), 0.75 * e * std::pow(2, e - 1)}));
  }
}

/// The inner condition reads the counters of both loops: iteration c of the outer one has c + 1 of
/// the inner one, so that y has n (n + 1) / 2 factors w.
TEST(KnownLoops, AWhileWithinAWhileWhoseConditionReadsBothCounters) {
  const char* const text = R"(graph g(x f64[], w f64[], n i64[]) -> (y)
  y = while (x, w, n) counter {
    graph outer(x f64[], w f64[], n i64[], c i64[]) -> (y, left)
      left = sub(n, c)
      y = while (x, w, c) counter {
        graph inner(x f64[], w f64[], outer i64[], inner i64[]) -> (y, left)
          one = constant i64[] [1]
          most = add(outer, one)
          left = sub(most, inner)
          y = mul(x, w)
      }
  }
)";
  for (const std::int64_t n : {0, 1, 2, 4}) {
    const auto e = static_cast<double>(n * (n + 1) / 2);
    const auto all =
        all_of(text, {"x", "w"},
               {{"x", scalar_of_f64(1.5)}, {"w", scalar_of_f64(0.5)}, {"n", integer(n)}});
    EXPECT_EQ(all.values, (Numbers{1.5 * std::pow(0.5, e)}));
    EXPECT_EQ(all.gradients, (Numbers{std::pow(0.5, e), 1.5 * e * std::pow(0.5, e - 1)}));
  }
}

/// x <- 4·f(x/2) where f adds w in even iterations, multiplies with w in those whose number leaves
/// 1 by 3, and else is none of the branches.
TEST(KnownLoops, ACaseOfWithinAWhileScaledBeforeAndAfter) {
  const char* const text = R"(graph g(x f64[], w f64[], n i64[]) -> (y)
  y = while (x, w, n) counter {
    graph step(x f64[], w f64[], n i64[], c i64[]) -> (y, left)
      left = sub(n, c)
      three = constant i64[] [3]
      one = constant i64[] [1]
      rest = mod(c, three)
      k = sub(one, rest)
      half = constant f64[] [0.5]
      scaled = mul(x, half)
      r = case (k) else (scaled) of (scaled, w) {
        graph product(a f64[], b f64[]) -> (c)
          c = mul(a, b)
      } of (scaled, w) {
        graph sum(a f64[], b f64[]) -> (c)
          c = add(a, b)
      }
      four = constant f64[] [4]
      y = mul(r, four)
  }
)";
  for (std::int64_t n = 0; n <= 7; ++n) {
    constexpr double kX = 1.25, kW = 0.5;
    double y = kX, by_x = 1, by_w = 0;
    for (std::int64_t c = 0; c < n; ++c) {
      const double half = y / 2, half_by_x = by_x / 2, half_by_w = by_w / 2;
      const std::int64_t k = 1 - c % 3;
      y = 4 * (k == 0 ? half * kW : k == 1 ? half + kW : half);
      by_x = 4 * (k == 0 ? half_by_x * kW : half_by_x);
      by_w = 4 * (k == 0 ? half_by_w * kW + half : k == 1 ? half_by_w + 1 : half_by_w);
    }
    const auto all = all_of(
        text, {"x", "w"}, {{"x", scalar_of_f64(kX)}, {"w", scalar_of_f64(kW)}, {"n", integer(n)}});
    EXPECT_EQ(all.values, (Numbers{y})) << n;
    EXPECT_EQ(all.gradients, (Numbers{by_x, by_w})) << n;
  }
}

/// x <- 1 - |2x - 1|, a tent of two lines: after n iterations f has 2^n lines of the slopes 2^n and
/// -2^n.
TEST(KnownLoops, PiecesOfLinesAndTheirDerivative) {
  const char* const text = R"(graph g(x f64[8], n i64[]) -> (y)
  y = while (x, n) counter {
    graph step(x f64[8], n i64[], c i64[]) -> (y, left)
      left = sub(n, c)
      two = constant f64[] [2]
      one = constant f64[] [1]
      d = mul(x, two)
      e = sub(d, one)
      a = abs(e)
      y = sub(one, a)
  }
)";
  for (const int n : {0, 1, 2, 5}) {
    const Tensor x(DType::f64, {8});
    Numbers values, slopes;
    for (std::int64_t k = 0; k < 8; ++k) {
      const double at = (static_cast<double>(k) + 0.3) / 8;
      x.set({k}, at);
      double y = at, slope = 1;
      for (int c = 0; c < n; ++c) {
        slope *= 2 * y - 1 > 0 ? -2 : 2;
        y = 1 - std::abs(2 * y - 1);
      }
      values.push_back(y);
      slopes.push_back(slope);
    }
    const auto all = all_of(text, {"x"}, {{"x", x}, {"n", integer(n)}});
    EXPECT_EQ(all.values, values);
    EXPECT_EQ(all.gradients, slopes);
  }
}

/// A number, and a bound on the error of the double that the graph computes for it.
struct Enclosed {
  long double value, error;
};

/// Returns a result that errors of the operands change by at most `passed_on`, and that is rounded
/// so many times, each by at most half an ulp. One more covers the errors of long double.
Enclosed rounded(long double value, long double passed_on, int times) {
  const long double half_ulp = std::numeric_limits<double>::epsilon() / 2;
  return {value, passed_on + static_cast<long double>(times + 1) * half_ulp *
                                 (std::abs(value) + passed_on)};
}

Enclosed product(const Enclosed& a, const Enclosed& b) {
  const long double passed_on =
      std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error;
  return rounded(a.value * b.value, passed_on, 1);
}

Enclosed sum(const Enclosed& a, const Enclosed& b) {
  return rounded(a.value + b.value, a.error + b.error, 1);
}

/// Returns a/b for b > 0; a kernel may multiply by the reciprocal, which rounds twice.
Enclosed quotient(const Enclosed& a, const Enclosed& b) {
  const long double least = b.value - b.error;
  const long double passed_on = (a.error + std::abs(a.value / b.value) * b.error) / least;
  return rounded(a.value / b.value, passed_on, 2);
}

/// Returns log(x), of which libm's error is below an ulp: two roundings.
Enclosed logarithm(const Enclosed& x) {
  return rounded(std::log(x.value), x.error / (x.value - x.error), 2);
}

void expect_enclosed(double got, const Enclosed& expected, std::int64_t n) {
  EXPECT_LE(std::abs(static_cast<long double>(got) - expected.value), expected.error)
      << got << " after " << n;
}

/// z <- log(z·y), as long as z·y is above 1. The way back is g <- g·y/(z·y), and y's gradient is
/// the sum of g·z/(z·y).
TEST(KnownLoops, LogarithmsAndTheirDerivative) {
  const char* const text = R"(graph g(x f64[], y f64[], n i64[]) -> (z)
  z = while (x, y, n) counter {
    graph step(z f64[], y f64[], n i64[], c i64[]) -> (next, left)
      left = sub(n, c)
      p = mul(z, y)
      next = log(p)
  }
)";
  const Enclosed y = {7.5L, 0};
  for (const std::int64_t n : {0, 1, 5}) {
    std::vector<Enclosed> z = {{1, 0}}, p;
    for (std::int64_t c = 0; c < n; ++c) {
      p.push_back(product(z.back(), y));
      z.push_back(logarithm(p.back()));
    }
    Enclosed by_x = {1, 0}, by_y = {0, 0};
    for (auto c = static_cast<std::size_t>(n); c-- > 0;) {
      const Enclosed by_p = quotient(by_x, p[c]);
      by_x = product(by_p, y);
      by_y = sum(by_y, product(by_p, z[c]));
    }
    const auto all = all_of(
        text, {"x", "y"}, {{"x", scalar_of_f64(1)}, {"y", scalar_of_f64(7.5)}, {"n", integer(n)}});
    expect_enclosed(all.values[0], z.back(), n);
    expect_enclosed(all.gradients[0], by_x, n);
    expect_enclosed(all.gradients[1], by_y, n);
  }
}

/// x is carried, an input of the graph and an output of it; u is passed on as it is, and given
/// twice.
TEST(KnownLoops, CarriedInputsThatAreAlsoOutputs) {
  const char* const text = R"(graph g(x f64[2], u f64[2], n i64[]) -> (y, x, v, u, w)
  y, v, w = while (x, u, u, n) counter {
    graph step(x f64[2], u f64[2], t f64[2], n i64[], c i64[]) -> (y, u, x, left)
      left = sub(n, c)
      y = add(x, u)
  }
)";
  const auto two = [](double a, double b) {
    const Tensor x(DType::f64, {2});
    x.set({0}, a);
    x.set({1}, b);
    return x;
  };
  for (const std::int64_t n : {0, 1, 2, 5}) {
    const auto e = static_cast<double>(n);
    const auto all =
        all_of(text, {"x", "u"}, {{"x", two(1, 2)}, {"u", two(8, 16)}, {"n", integer(n)}});
    const double before = n == 0 ? 8 : 1 + (e - 1) * 8, before_too = n == 0 ? 16 : 2 + (e - 1) * 16;
    EXPECT_EQ(all.values, (Numbers{1 + e * 8, 2 + e * 16, 1, 2, 8, 16, 8, 16, before, before_too}));
    EXPECT_EQ(all.gradients, (Numbers{1, 1, e, e}));
  }
}

/// x <- x·w + b in single precision: each operation rounds as here.
TEST(KnownLoops, OfNoneOneAndVeryManyIterationsWithTheirGradients) {
  const char* const text = R"(graph g(x f32[], w f32[], b f32[], n i64[]) -> (y)
  y = while (x, w, b, n) counter CHECKPOINT {
    graph step(x f32[], w f32[], b f32[], n i64[], c i64[]) -> (y, left)
      left = sub(n, c)
      p = mul(x, w)
      y = add(p, b)
  }
)";
  Context context;
  for (const std::int64_t n : {0, 1, 100000}) {
    constexpr float kX = 3, kW = 0.9990234375F, kB = 0.125F;
    std::vector<float> states = {kX};
    for (std::int64_t c = 0; c < n; ++c) {
      volatile const float product = states.back() * kW;  // no fused multiply-add
      states.push_back(product + kB);
    }
    float by_x = 1, by_w = 0, by_b = 0;
    for (std::int64_t c = n; c-- > 0;) {
      volatile const float term = by_x * states[static_cast<std::size_t>(c)];
      by_w += term;
      by_b += by_x;
      by_x *= kW;
    }
    for (const char* const words : {"", "checkpoint sqrt"}) {
      std::string of = text;
      of.replace(of.find("CHECKPOINT"), 10, words);
      SymbolicGraph g = parse_graph(of);
      const TensorSymbol y = g.find("y");
      Symbols outputs = gradient(g, Symbols{y}, Symbols{g.find("x"), g.find("w"), g.find("b")});
      outputs.insert(outputs.begin(), y);
      g.set_outputs(outputs);
      Executable e = compile(g, {}, context);
      EXPECT_EQ(e.report().copied_bytes, 0U);
      reset_tape_bytes();
      e.run(bindings_of(
          g, {{"x", scalar(kX)}, {"w", scalar(kW)}, {"b", scalar(kB)}, {"n", integer(n)}}));
      Numbers got;
      for (const TensorSymbol output : outputs) append(got, e.output(output));
      EXPECT_EQ(got, (Numbers{states.back(), by_x, by_w, by_b})) << n << " " << words;
      if (*words == '\0') {
        EXPECT_EQ(tape_bytes().most, n * 4);
      }
      EXPECT_EQ(tape_bytes().now, 0);
    }
  }
}

/// Returns the loop z <- (last of the delayed values), whose function notes where it writes.
SymbolicGraph delayed(int delay, std::vector<const void*>& written) {
  SymbolicGraph g("g"), body("step");
  Symbols carried, given;
  for (int k = 0; k < delay; ++k) {
    carried.push_back(body.input("x" + std::to_string(k), {DType::f64, {2}}));
    given.push_back(g.input("x" + std::to_string(k), {DType::f64, {2}}));
  }
  const TensorSymbol n = body.input("n", {DType::i64, {}}), c = body.input("c", {DType::i64, {}});
  given.push_back(g.input("n", {DType::i64, {}}));
  const TensorSymbol made = body.tensor({DType::f64, {2}}, "made");
  body.call({.name = "note",
             .run =
                 [&written](std::span<const Tensor> in, std::span<const Tensor> out) {
                   written.push_back(out[0].data());
                   run(Command("add"), {&in[0], &in[0]}, {const_cast<Tensor*>(&out[0])});
                 }},
            Symbols{carried.back()}, Symbols{made});
  // The newest is the first: x0 <- made, x1 <- x0, …; the oldest is read.
  Symbols outputs = {made};
  outputs.insert(outputs.end(), carried.begin(), carried.end() - 1);
  outputs.push_back(body.add("sub", {n, c}));
  body.set_outputs(outputs);
  const NodeSymbol loop = g.add_while(body, given, {.has_counter = true});
  Symbols results;
  for (int k = 0; k < delay; ++k) results.push_back(g.output(loop, static_cast<std::size_t>(k)));
  g.set_outputs(results);
  return g;
}

/// W10: a value that is read d iterations later lies in d + 1 places in turn; in iteration 0 the
/// loop reads where its inputs are.
TEST(KnownLoops, ADelayedValueHasItsPlacesInTurn) {
  for (const int delay : {1, 2, 3}) {
    std::vector<const void*> written;
    const SymbolicGraph g = delayed(delay, written);
    Context context;
    Executable e = compile(g, {}, context);
    EXPECT_EQ(e.report().copied_bytes, 0U);
    for (const std::int64_t n : {0, 1, 2, 3, 4, 5, 11}) {
      std::vector<TensorBinding> bindings = {{g.find("n"), integer(n)}};
      std::vector<double> state;
      for (int k = 0; k < delay; ++k) {
        const Tensor x(DType::f64, {2});
        fill(x, 1.0 + k);
        state.push_back(1.0 + k);
        bindings.emplace_back(g.find("x" + std::to_string(k)), x);
      }
      written.clear();
      e.run(bindings);
      for (std::int64_t c = 0; c < n; ++c) {
        const double made = 2 * state.back();
        state.pop_back();
        state.insert(state.begin(), made);
      }
      for (std::size_t k = 0; k < state.size(); ++k)
        EXPECT_EQ(clone(e.output(g.outputs()[k])).real_at({1}), state[k]) << delay << ", " << n;
      const auto repeat = static_cast<std::size_t>(delay + 1);
      ASSERT_EQ(written.size(), static_cast<std::size_t>(n));
      for (std::size_t c = repeat; c < written.size(); ++c)
        EXPECT_EQ(written[c], written[c - repeat]);
      EXPECT_EQ(std::set<const void*>(written.begin(), written.end()).size(),
                std::min(repeat, written.size()));
      for (const auto& [symbol, tensor] : bindings)
        EXPECT_EQ(std::ranges::count(written, tensor.data()), 0);
    }
  }
}

}  // namespace
}  // namespace mote
