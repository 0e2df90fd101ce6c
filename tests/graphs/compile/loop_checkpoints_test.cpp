// SPDX-License-Identifier: Apache-2.0
// Tests loops with checkpoints: the same bits with less memory, and at most twice the work.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/loop_values.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using namespace test;

/// The loop with these words behind its inputs.
std::string with_words(std::string text, const std::string& words) {
  return text.replace(text.find("counter"), 7, "counter " + words);
}

TEST(Checkpoints, OfALoopGiveTheSameBits) {
  const Inputs inputs = {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}};
  for (const std::int64_t n : {0, 1, 2, 3, 7, 30}) {
    const auto gradients = [&](const std::string& text) {
      SymbolicGraph g = parse_graph(text);
      g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
      return values_of(g, inputs);
    };
    const Numbers expected = gradients(loop_of(n));
    for (const char* const words :
         {"checkpoint sqrt", "checkpoint 1", "checkpoint 2", "checkpoint 3", "checkpoint 100"})
      EXPECT_EQ(gradients(with_words(loop_of(n), words)), expected) << n << " " << words;
  }
}

/// Names of the body's own may be those that the way back gives.
TEST(Checkpoints, NamesOfTheBodyMayBeAny) {
  const auto gradients = [](const std::string& checkpoints, const std::string& x,
                            const std::string& w) {
    SymbolicGraph g =
        parse_graph("graph g(x f32[3], w f32[3], k i64[]) -> (y)\n  y, v, e = while (x, w, k) " +
                    checkpoints + " {\n    graph step(" + x + " f32[3], " + w +
                    " f32[3], left i64[]) -> (t, u, start, left)\n      one = constant "
                    "i64[] [1]\n      start = sub(left, one)\n      h = mul(" +
                    x + ", " + w + ")\n      t = tanh(h)\n      u = neg(" + w + ")\n  }\n");
    g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
    return values_of(g, {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}, {"k", integer(5)}});
  };
  const Numbers expected = gradients("", "x", "w");
  for (const char* const checkpoints : {"", "checkpoint sqrt", "checkpoint 2"})
    for (const char* const name : {"tape", "tape_", "end", "iteration", "g0", "sum1"})
      EXPECT_EQ(gradients(checkpoints, name, "w"), expected) << checkpoints << " " << name;
  EXPECT_EQ(gradients("checkpoint 2", "tape", "tape_"), expected);
}

TEST(Checkpoints, OfLoopsInLoopsGiveTheSameBits) {
  const auto text = [](const std::string& outer, const std::string& inner) {
    return "graph g(x f32[3], w f32[3]) -> (y)\n  y = while (x, w) counter " + outer +
           " {\n    graph outer(x f32[3], w f32[3], c i64[]) -> (y, left)\n"
           "      n = constant i64[] [6]\n      left = sub(n, c)\n      y = while (x, w, c) "
           "counter " +
           inner +
           " {\n        graph inner(x f32[3], w f32[3], k i64[], c i64[]) -> (t, left)\n"
           "          left = sub(k, c)\n          h = mul(x, w)\n          s = add(h, x)\n"
           "          t = tanh(s)\n      }\n  }\n";
  };
  const auto gradients = [&](const std::string& of) {
    SymbolicGraph g = parse_graph(of);
    g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
    return values_of(g, {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}});
  };
  const Numbers expected = gradients(text("", ""));
  for (const char* const outer : {"", "checkpoint sqrt", "checkpoint 2"})
    for (const char* const inner : {"", "checkpoint sqrt", "checkpoint 1"})
      EXPECT_EQ(gradients(text(outer, inner)), expected) << outer << ", " << inner;
}

TEST(Checkpoints, TakeMemoryByTheSquareRootOfTheIterations) {
  const Inputs inputs = {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}};
  constexpr std::int64_t kState = 3 * 4, kIteration = 2 * 3 * 4;
  for (const std::int64_t n : {1, 9, 64, 100, 500, 1024, 4000}) {
    SymbolicGraph g = parse_graph(with_words(loop_of(n), "checkpoint sqrt"));
    g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
    // At most sqrt(2 n) states are kept, and parts of at most that number of iterations.
    const std::int64_t root =
        static_cast<std::int64_t>(std::sqrt(2.0 * static_cast<double>(n))) + 1;
    EXPECT_LE(most_bytes(g, inputs), root * (kState + kIteration)) << n;
  }
}

TEST(Checkpoints, AreAtMostAsManyAsSaid) {
  const Inputs inputs = {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}};
  constexpr std::int64_t kState = 3 * 4, kIteration = 2 * 3 * 4;
  for (const std::int64_t n : {1, 10, 64, 100})
    for (const std::int64_t most : {1, 2, 5, 16, 200}) {
      SymbolicGraph g = parse_graph(with_words(loop_of(n), "checkpoint " + std::to_string(most)));
      g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
      EXPECT_LE(most_bytes(g, inputs), std::min(n, most) * kState + kIteration) << n << " " << most;
    }
}

/// Two ways back keep states one after the other: the first one must not add to what the loop has
/// kept for the second one.
TEST(Checkpoints, OfTwoGradientsAreAtMostAsManyAsSaid) {
  const Inputs inputs = {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}};
  constexpr std::int64_t kState = 3 * 4, kIteration = 2 * 3 * 4;
  for (const std::int64_t n : {1, 10, 64, 100})
    for (const std::int64_t most : {1, 2, 5, 16, 200}) {
      SymbolicGraph g = parse_graph(with_words(loop_of(n), "checkpoint " + std::to_string(most)));
      const Symbols of = {g.find("y")};
      const TensorSymbol by_x = gradient(g, of, Symbols{g.find("x")})[0];
      const TensorSymbol by_w = gradient(g, of, Symbols{g.find("w")})[0];
      g.set_outputs({by_x, by_w});
      EXPECT_LE(most_bytes(g, inputs), std::min(n, most) * kState + kIteration) << n << " " << most;
    }
}

/// Nothing of a way back runs, or stays in the graph, if nobody asks for the gradient.
TEST(Checkpoints, CostNothingWithoutAGradientThatIsAskedFor) {
  for (const char* const words : {"", "checkpoint sqrt", "checkpoint 3"}) {
    SymbolicGraph g = parse_graph(with_words(loop_of(30), words));
    gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")});
    Context context;
    const Inputs inputs = {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}};
    Executable e = compile(g, {}, context);
    EXPECT_EQ(e.report().nodes.size(), 1U) << words;
    EXPECT_EQ(most_bytes(g, inputs), 0) << words;
  }
}

/// Returns how often an iteration of a loop of n with those checkpoints runs, in all, with so many
/// gradients, and checks each: the product of 2 over the iterations.
std::int64_t runs_of(std::int64_t n, std::int64_t checkpoints, int gradients = 1) {
  std::int64_t count = 0;
  SymbolicGraph g, body;
  const TensorSymbol x = body.input("x", {DType::f32, {2}});
  const TensorSymbol c = body.input("c", {DType::i64, {}});
  const TensorSymbol y = body.tensor({DType::f32, {2}});
  body.call({.name = "look",
             .run =
                 [&](std::span<const Tensor> in, std::span<const Tensor> out) {
                   ++count;
                   copy(in[0], out[0]);
                 },
             .gradient =
                 [](SymbolicGraph& graph, const FunctionCall& call) {
                   return Symbols{graph.add("mul", {call.gradients[0], call.inputs[0]})};
                 }},
            Symbols{x}, Symbols{y});
  body.set_outputs({y, body.add("sub", {body.constant({}, integer(n)), c})});
  const TensorSymbol start = g.input("x", {DType::f32, {2}});
  const NodeSymbol loop =
      g.add_while(body, {start}, {.has_counter = true, .checkpoints = checkpoints});
  const TensorSymbol end = g.output(loop, 0);
  Symbols outputs = {end};
  for (int k = 0; k < gradients; ++k)
    outputs.push_back(gradient(g, Symbols{end}, Symbols{start})[0]);
  g.set_outputs(outputs);
  Context context;
  Executable e = compile(g, {}, context);
  e.run({{start, vector(1, 2)}});
  for (int k = 1; k <= gradients; ++k)
    EXPECT_EQ(e.output(outputs[static_cast<std::size_t>(k)]).real_at({1}),
              std::pow(2.0F, static_cast<float>(n)));
  EXPECT_EQ(tape_bytes().now, 0);
  return count;
}

TEST(Checkpoints, NoIterationRunsMoreThanTwice) { EXPECT_EQ(runs_of(50, kKeepSquareRoot), 2 * 50); }

/// K6: the number of iterations is not known when the loop begins, so that each runs once before
/// the binomial schedule does; states of that time may make it shorter.
TEST(Checkpoints, OfANumberAreThoseOfTheBinomialSchedule) {
  for (const std::int64_t n : {1, 2, 7, 30, 45, 100})
    for (const std::int64_t most : {1, 2, 3, 8, 200}) {
      const auto steps = static_cast<std::int64_t>(
          binomial_steps(static_cast<std::uint64_t>(n), static_cast<std::uint64_t>(most - 1)));
      const std::int64_t runs = runs_of(n, most);
      EXPECT_LE(runs, n + steps) << n << " " << most;
      EXPECT_GE(runs, steps) << n << " " << most;
      EXPECT_LE(runs_of(n, most, 2), n + 2 * steps) << n << " " << most;
    }
}

TEST(Checkpoints, MistakesAreErrorsInWords) {
  const auto says = [](const auto& call, const std::string& part) {
    try {
      call();
      ADD_FAILURE() << "no error: " << part;
    } catch (const StatusError& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  says([] { parse_graph(with_words(loop_of(3), "checkpoint 0")); },
       "expected 'sqrt' or a number of at least 1, got 0");
  SymbolicGraph g = parse_graph(with_words(loop_of(3), "checkpoint sqrt"));
  const Symbols first = gradient(g, Symbols{g.find("y")}, Symbols{g.find("x")});
  says([&] { gradient(g, first, Symbols{g.find("x")}); },
       "a loop with checkpoints, whose gradient has none itself");
  SymbolicGraph body = parse_graph("graph b(x f32[], go bool[]) -> (x, go)\n");
  says(
      [&] {
        g.add_while(body, {g.input("a", {DType::f32, {}}), g.input("b", {DType::boolean, {}})},
                    {.checkpoints = -2});
      },
      "the checkpoints of a while must be at least 1, or 0 or -1, got -2");
}

}  // namespace
}  // namespace mote
