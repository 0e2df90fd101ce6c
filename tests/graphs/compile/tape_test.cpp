// SPDX-License-Identifier: Apache-2.0
// Tests the tapes of loops: which bytes they keep, when these are free, and gradients of gradients
// and changes through loops against known derivatives and the unrolled graph.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::integer;
using test::kPower;
using test::scalar;
using test::vector;
using Inputs = std::vector<std::pair<std::string, Tensor>>;
using Numbers = std::vector<double>;
using Symbols = std::vector<TensorSymbol>;

std::vector<TensorBinding> bindings_of(const SymbolicGraph& g, const Inputs& inputs) {
  std::vector<TensorBinding> bindings;
  for (const auto& [name, value] : inputs) bindings.emplace_back(g.find(name), value);
  return bindings;
}

void append(Numbers& numbers, const Tensor& x) {
  const std::int64_t count = x.element_count();
  const Tensor flat = clone(x).reshape({count});
  for (std::int64_t k = 0; k < count; ++k) numbers.push_back(flat.real_at({k}));
}

/// Returns the values of the graph's outputs, evaluated; it is compiled, and read back from its
/// text, too.
Numbers values_of(const SymbolicGraph& g, const Inputs& inputs) {
  verify(g);
  const std::vector<TensorBinding> bindings = bindings_of(g, inputs);
  Numbers expected;
  for (const Tensor& x : evaluate(g, bindings, g.outputs())) append(expected, x);
  const SymbolicGraph read = parse_graph(to_text(g));
  Numbers of_text;
  for (const Tensor& x : evaluate(read, bindings_of(read, inputs), read.outputs()))
    append(of_text, x);
  EXPECT_EQ(of_text, expected);
  Context context;
  for (const int streams : {1, 2}) {
    Executable e = compile(g, {.streams = streams, .poison = streams == 1}, context);
    for (int run = 0; run < 2; ++run) {
      e.run(bindings);
      Numbers got;
      for (const TensorSymbol output : g.outputs()) append(got, e.output(output));
      EXPECT_EQ(got, expected) << streams << " streams, run " << run;
    }
  }
  EXPECT_EQ(tape_bytes().now, 0);
  return expected;
}

/// Returns the derivatives of `of`, of that order, with respect to x, each time of their sum.
Numbers derivative(const std::string& text, const std::string& of, const std::string& x, int order,
                   const Inputs& inputs) {
  SymbolicGraph g = parse_graph(text);
  Symbols f = {g.find(of)};
  for (int k = 0; k < order; ++k) f = gradient(g, f, Symbols{g.find(x)});
  g.set_outputs(f);
  return values_of(g, inputs);
}

// y = tanh(x w + x) n times
std::string loop_of(std::int64_t n, const std::string& function = "tanh") {
  return "graph g(x f32[3], w f32[3]) -> (y)\n  y = while (x, w) counter {\n"
         "    graph step(x f32[3], w f32[3], c i64[]) -> (t, left)\n"
         "      n = constant i64[] [" +
         std::to_string(n) +
         "]\n      left = sub(n, c)\n"
         "      h = mul(x, w)\n      s = add(h, x)\n      t = " +
         function + "(s)\n  }\n";
}

std::string unrolled(std::int64_t n, const std::string& function = "tanh") {
  std::string text = "graph g(x f32[3], w f32[3]) -> (y)\n";
  std::string x = "x";
  for (std::int64_t c = 0; c < n; ++c) {
    const std::string k = std::to_string(c);
    text += "  h" + k + " = mul(" + x + ", w)\n  s" + k + " = add(h" + k + ", " + x + ")\n";
    x = c + 1 == n ? "y" : "t" + k;
    text += "  " + x + " = " + function + "(s" + k + ")\n";
  }
  return text;
}

/// Returns the most bytes that tapes kept while the graph ran.
std::int64_t most_bytes(const SymbolicGraph& g, const Inputs& inputs) {
  Context context;
  Executable e = compile(g, {}, context);
  reset_tape_bytes();
  e.run(bindings_of(g, inputs));
  EXPECT_EQ(tape_bytes().now, 0);
  return tape_bytes().most;
}

TEST(Tape, KeepsWhatTheGradientOfTheBodyReadsAndNoMore) {
  // What the gradient of the body reads of the body, without the weight.
  SymbolicGraph body = parse_graph(
      "graph step(x f32[3], w f32[3]) -> (t)\n  h = mul(x, w)\n  s = add(h, x)\n  t = tanh(s)\n");
  const Symbols of = {body.find("t")}, wrt = {body.find("x"), body.find("w")};
  const Symbols grads = gradient(body, of, wrt, Symbols{body.input("seed", body.form(of[0]))});
  std::int64_t expected = 0;
  std::set<std::string> names;
  for (const SavedTensor& tensor : saved(body, of, grads)) {
    const std::string name = body.text(tensor.tensor);
    if (name == "w" || name == "seed") continue;
    names.insert(name);
    expected += tensor.bytes;
  }
  EXPECT_EQ(names, (std::set<std::string>{"t", "x"}));
  for (const std::int64_t n : {0, 1, 7, 30}) {
    SymbolicGraph g = parse_graph(loop_of(n));
    g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
    EXPECT_EQ(most_bytes(g, {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}}), n * expected) << n;
  }
}

TEST(Tape, KeepsAPartOfATensorIfOnlyThatIsRead) {
  // The gradient of the product reads 2 of 8 elements of e, and that of exp reads all of it.
  const auto bytes = [](const std::string& function) {
    const std::string text =
        "graph g(x f32[8]) -> (f)\n  f = while (x) counter {\n"
        "    graph step(x f32[8], c i64[]) -> (f, left)\n"
        "      n = constant i64[] [5]\n      left = sub(n, c)\n      e = " +
        function +
        "(x)\n      a = e.slice(0, 0, 2, 1)\n      b = e.slice(0, 2, 6, 1)\n"
        "      f = tensor f32[8]\n      f0 = f.slice(0, 0, 2, 1)\n"
        "      f1 = f.slice(0, 2, 6, 1)\n"
        "      f0 <- mul(a, a)\n      f1 <- copy(b)\n  }\n";
    SymbolicGraph g = parse_graph(text);
    const Inputs inputs = {{"x", vector(-8, 8)}};
    g.set_outputs(gradient(g, Symbols{g.find("f")}, Symbols{g.find("x")}));
    values_of(g, inputs);
    return most_bytes(g, inputs);
  };
  EXPECT_EQ(bytes("neg"), 5 * 2 * 4);
  EXPECT_EQ(bytes("exp"), 5 * 8 * 4);
}

TEST(Tape, NothingIsComputedAgain) {
  for (const bool asks_again : {false, true}) {
    std::int64_t forward = 0, back = 0;
    SymbolicGraph g, body;
    const TensorSymbol x = body.input("x", {DType::f32, {2}});
    const TensorSymbol c = body.input("c", {DType::i64, {}});
    const TensorSymbol y = body.tensor({DType::f32, {2}});
    NamedFunction square{.name = "square",
                         .run = [&](std::span<const Tensor> in, std::span<const Tensor> out) {
                           ++forward;
                           run(Command("mul"), {&in[0], &in[0]}, {const_cast<Tensor*>(&out[0])});
                         }};
    square.gradient = [&](SymbolicGraph& graph, const FunctionCall& call) {
      const TensorSymbol gx = graph.tensor({DType::f32, {2}});
      graph.call({.name = "square back",
                  .run =
                      [&](std::span<const Tensor> in, std::span<const Tensor> out) {
                        ++back;
                        run(Command("mul"), {&in[0], &in[1]}, {const_cast<Tensor*>(&out[0])});
                        run(Command("add"), {&out[0], &out[0]}, {const_cast<Tensor*>(&out[0])});
                      }},
                 Symbols{call.inputs[0], call.gradients[0]}, Symbols{gx});
      return Symbols{gx};
    };
    body.call(square, Symbols{x}, Symbols{y});
    body.set_outputs({y, body.add("sub", {body.constant({}, integer(4)), c})});
    const TensorSymbol start = g.input("x", {DType::f32, {2}});
    const NodeSymbol loop = g.add_while(body, {start}, {.has_counter = true});
    const TensorSymbol end = g.output(loop, 0);
    Symbols outputs = gradient(g, Symbols{end}, Symbols{start});
    if (asks_again)  // a second way back, which reads the tape too
      outputs.push_back(gradient(g, Symbols{g.add("neg", {end})}, Symbols{start})[0]);
    g.set_outputs(outputs);
    Context context;
    Executable e = compile(g, {}, context);
    reset_tape_bytes();
    e.run({{start, vector(1, 2)}});
    EXPECT_EQ(forward, 4);
    EXPECT_EQ(back, asks_again ? 8 : 4);
    EXPECT_EQ(e.output(outputs[0]).real_at({1}), 16 * std::pow(2.0, 15));
    if (asks_again) {
      EXPECT_EQ(e.output(outputs[1]).real_at({1}), -16 * std::pow(2.0, 15));
    }
    EXPECT_EQ(tape_bytes().most, 4 * 8);
    EXPECT_EQ(tape_bytes().now, 0);
  }
}

TEST(Tape, IsFreedAsTheWayBackGoes) {
  SymbolicGraph g = parse_graph(loop_of(6));
  g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x")}));
  std::vector<std::int64_t> bytes;
  // A copy of the loop's way back that looks after each iteration.
  SymbolicGraph watched(g.name());
  watched = g;
  for (std::uint32_t k = 0; k < watched.node_count(); ++k) {
    const NodeInfo& node = watched.nodes()[k];
    if (node.kind != NodeKind::control) continue;
    auto control = std::make_shared<ControlInfo>(*node.control);
    SymbolicGraph& body = control->graphs[0];
    if (!body.name().ends_with("_back")) continue;
    body.call({.name = "look", .run = [&](auto, auto) { bytes.push_back(tape_bytes().now); }},
              Symbols{body.outputs()[0]}, {});
    watched.set_control(watched.node_at(k), std::move(control));
  }
  Context context;
  Executable e = compile(watched, {}, context);
  e.run(bindings_of(watched, {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}}));
  // x is not asked for w: the gradient reads t alone.
  ASSERT_EQ(bytes.size(), 6U);
  for (std::size_t k = 0; k < bytes.size(); ++k)
    EXPECT_EQ(bytes[k], bytes.front() / 5 * static_cast<std::int64_t>(5 - k));
}

TEST(Tape, TakesTheSameMemoryInEachOf1000Runs) {
  SymbolicGraph g = parse_graph(loop_of(5));
  g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
  Context context;
  Executable e = compile(g, {}, context);
  const std::vector<TensorBinding> bindings =
      bindings_of(g, {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}});
  reset_tape_bytes();
  e.run(bindings);
  const std::int64_t most = tape_bytes().most;
  for (int run = 0; run < 1000; ++run) e.run(bindings);
  EXPECT_EQ(tape_bytes().most, most);
  EXPECT_EQ(tape_bytes().now, 0);
}

TEST(Tape, ARunThatFailsLeavesNothing) {
  std::string text = loop_of(5);
  text.replace(text.find("counter"), 7, "counter limit 3");
  SymbolicGraph g = parse_graph(text);
  g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x")}));
  Context context;
  Executable e = compile(g, {}, context);
  EXPECT_THROW(e.run(bindings_of(g, {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}})),
               StatusError);
  EXPECT_EQ(tape_bytes().now, 0);
}

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
    // At most sqrt(2 n) states are kept, and parts of at most so many iterations.
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
      std::int64_t stride = 1;
      while ((n + stride - 1) / stride > most) stride *= 2;
      EXPECT_LE(most_bytes(g, inputs),
                std::min(n, most) * kState + std::min(n, stride) * kIteration)
          << n << " " << most;
    }
}

TEST(Checkpoints, NoIterationRunsMoreThanTwice) {
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
  body.set_outputs({y, body.add("sub", {body.constant({}, integer(50)), c})});
  const TensorSymbol start = g.input("x", {DType::f32, {2}});
  const NodeSymbol loop =
      g.add_while(body, {start}, {.has_counter = true, .checkpoints = kKeepSquareRoot});
  const TensorSymbol end = g.output(loop, 0);
  g.set_outputs({end, gradient(g, Symbols{end}, Symbols{start})[0]});
  Context context;
  Executable e = compile(g, {}, context);
  e.run({{start, vector(1, 2)}});
  EXPECT_EQ(count, 2 * 50);
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
  // y = x w^(2 n)
  const char* const text = R"(graph g(x f32[], w f32[], n i64[]) -> (y)
  y = while (x, w, n) counter {
    graph outer(x f32[], w f32[], n i64[], c i64[]) -> (y, left)
      left = sub(n, c)
      y = while (x, w) counter {
        graph inner(x f32[], w f32[], c i64[]) -> (y, left)
          two = constant i64[] [2]
          left = sub(two, c)
          y = mul(x, w)
      }
  }
)";
  for (const std::int64_t n : {0, 1, 3}) {
    const Inputs inputs = {{"x", scalar(3)}, {"w", scalar(2)}, {"n", integer(n)}};
    const double e = 2.0 * static_cast<double>(n);
    EXPECT_EQ(derivative(text, "y", "w", 1, inputs), (Numbers{3 * e * std::pow(2.0, e - 1)}));
    EXPECT_EQ(derivative(text, "y", "w", 2, inputs),
              (Numbers{3 * e * (e - 1) * std::pow(2.0, e - 2)}));
    EXPECT_EQ(derivative(text, "y", "w", 3, inputs),
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
