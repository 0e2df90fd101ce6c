// SPDX-License-Identifier: Apache-2.0
// Tests the tapes of loops: which bytes they keep, and when these are free.
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
#include "runtime/expect_error.h"

namespace mote {
namespace {

using namespace test;

TEST(Tape, KeepsWhatTheGradientOfTheBodyReadsAndNoMore) {
  // These are the values of the body, apart from the weight, that its gradient reads.
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

/// The gradients read a as it is and transposed, as many elements as t has, of which no node writes
/// the last ones.
TEST(Tape, KeepsPartsOfATensorThatIsNotWrittenWhole) {
  const std::string text =
      "graph g(x f32[2,2]) -> (y)\n  y = while (x) counter {\n"
      "    graph step(x f32[2,2], c i64[]) -> (y, left)\n"
      "      n = constant i64[] [3]\n      left = sub(n, c)\n      t = tensor f32[4,2]\n"
      "      a = t.slice(0, 0, 2, 1)\n      a <- exp(x)\n      b = a.permute(1, 0)\n"
      "      p = mul(a, x)\n      q = mul(b, p)\n      y = neg(q)\n  }\n";
  SymbolicGraph g = parse_graph(text);
  Tensor x(DType::f32, {2, 2});
  for (std::int64_t k = 0; k < 4; ++k)
    x.reshape({4}).set({k}, -0.5 + 0.25 * static_cast<double>(k));
  const Inputs inputs = {{"x", x}};
  g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x")}));
  values_of(g, inputs);
}

/// h is an input of a branch whose gradient does not read it.
TEST(Tape, KeepsNothingForABranchOrALoopThatDoesNotReadIt) {
  const auto bytes = [](const std::string& inside, const std::string& unread) {
    const std::string text =
        "graph g(x f32[8], w f32[8]) -> (y)\n  y = while (x, w) counter {\n"
        "    graph step(x f32[8], w f32[8], c i64[]) -> (y, left)\n"
        "      n = constant i64[] [5]\n      left = sub(n, c)\n"
        "      two = constant i64[] [2]\n      k = mod(c, two)\n"
        "      h = neg(x)\n      m = add(x, w)\n" +
        inside + "  }\n";
    std::string of = text;
    of.replace(of.find("UNREAD"), 6, unread);
    SymbolicGraph g = parse_graph(of);
    const Inputs inputs = {{"x", vector(-2, 8)}, {"w", vector(-1, 8)}};
    g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
    values_of(g, inputs);
    return most_bytes(g, inputs);
  };
  const std::string branches =
      "      y = case (k) of (h) {\n        graph a(h f32[8]) -> (y)\n          y = UNREAD\n"
      "      } of (m) {\n        graph b(m f32[8]) -> (y)\n          y = mul(m, m)\n      }\n";
  // The second branch runs twice.
  EXPECT_EQ(bytes(branches, "neg(h)"), 2 * 8 * 4);
  EXPECT_EQ(bytes(branches, "mul(h, h)"), 5 * 8 * 4);
  // A loop that adds h, or multiplies with it: its carried m is kept by its own tape then.
  const std::string loop =
      "      y = while (m, h) counter {\n        graph inner(m f32[8], h f32[8], c i64[]) -> (y, "
      "go)\n          one = constant i64[] [1]\n          go = sub(one, c)\n"
      "          y = UNREAD\n      }\n";
  constexpr std::int64_t kTokens = 5 * 8;
  EXPECT_EQ(bytes(loop, "add(m, h)"), kTokens);
  EXPECT_EQ(bytes(loop, "mul(m, h)"), kTokens + 5 * 2 * 8 * 4);
}

/// Iteration c takes the branch c mod 3 - 1: h is kept only where branch 0 runs, and m where branch
/// 1 does, but m always if something else reads it.
TEST(Tape, KeepsWhatABranchReadsOnlyWhereItRuns) {
  const auto bytes = [](std::int64_t n, const std::string& result) {
    const std::string text =
        "graph g(x f32[8], w f32[8]) -> (y)\n  y = while (x, w) counter {\n"
        "    graph step(x f32[8], w f32[8], c i64[]) -> (y, left)\n"
        "      n = constant i64[] [" +
        std::to_string(n) +
        "]\n      left = sub(n, c)\n      three = constant i64[] [3]\n"
        "      one = constant i64[] [1]\n      r = mod(c, three)\n      k = sub(r, one)\n"
        "      h = neg(x)\n      m = add(x, w)\n"
        "      z = case (k) else (x) of (h) {\n        graph a(h f32[8]) -> (y)\n"
        "          y = mul(h, h)\n      } of (m, h) {\n        graph b(m f32[8], h f32[8]) -> (y)\n"
        "          s = mul(m, m)\n          y = add(s, h)\n      }\n      y = " +
        result + "\n  }\n";
    SymbolicGraph g = parse_graph(text);
    const Inputs inputs = {{"x", vector(-1, 8)}, {"w", vector(-0.5, 8)}};
    g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
    values_of(g, inputs);
    return most_bytes(g, inputs);
  };
  constexpr std::int64_t kValue = 8 * 4;
  for (const std::int64_t n : {0, 1, 2, 3}) {
    const std::int64_t first = (n + 1) / 3, second = n / 3;  // how often each branch runs
    EXPECT_EQ(bytes(n, "neg(z)"), (first + second) * kValue) << n;
    EXPECT_EQ(bytes(n, "mul(z, m)"), (first + 2 * n) * kValue) << n;
  }
}

TEST(Tape, RulesForMoreThanThereIsAreErrorsInWords) {
  const auto push = [](const std::string& rules) {
    return parse_graph(
        "graph g(x f64[], v f64[], k i64[]) -> (t)\n  t = tensor f64[]\n  t <- "
        "function \"tape push 1" +
        rules + "\"(x, v, k)\n");
  };
  for (const std::string rules : {" if", " if 0", " if 0 0", " if 0 0 x", " unless 0 0 0"})
    EXPECT_THROW(push(rules), StatusError) << rules;
  for (const std::string rules : {" if 1 0 0", " if 0 2 0", " if 65535 65535 0"})
    expect_error(MOTE_INVALID, "tape push: its rules are for", [&] { push(rules); });
  const SymbolicGraph g = push(" if 0 0 0");
  EXPECT_EQ(
      values_of(g, {{"x", scalar_of_f64(0)}, {"v", scalar_of_f64(1)}, {"k", integer(0)}}).size(),
      1U);
}

/// Such functions stand in texts only: the loop's own tape is another one.
TEST(Tape, OneThatIsNotOfTheLoopIsAFunctionLikeOthers) {
  const auto gradients = [](const std::string& checkpoints, const std::string& function,
                            const std::string& carried, const std::string& more) {
    SymbolicGraph g = parse_graph(
        "graph g(x f32[3], w f32[3]) -> (y)\n  z = constant f64[] [0]\n"
        "  y, a = while (x, z, w) counter limit 9 " +
        checkpoints + " {\n    graph step(x f32[3], z f64[], w f32[3], c i64[]) -> (t, " + carried +
        ", left)\n      n = constant i64[] [4]\n      left = sub(n, c)\n      h = mul(x, w)\n"
        "      t = tanh(h)\n      token = tensor f64[]\n      at = tensor i64[]\n" +
        function + more + "  }\n");
    g.set_outputs(gradient(g, Symbols{g.find("y")}, Symbols{g.find("x"), g.find("w")}));
    return values_of(g, {{"x", vector(0.25, 3)}, {"w", vector(-0.5, 3)}});
  };
  const Numbers expected = gradients("", "", "z", "");
  const std::string push = "      token, at <- function \"tape push 1\"(z, x)\n";
  const std::string keep = "      token <- function \"tape keep 1 2\"(z, x)\n";
  for (const char* const checkpoints : {"", "checkpoint sqrt", "checkpoint 2"}) {
    EXPECT_EQ(gradients(checkpoints, "", "z", ""), expected) << checkpoints;
    for (const std::string& function : {push, keep})
      EXPECT_EQ(gradients(checkpoints, function, "next", "      next = neg(z)\n"), expected)
          << checkpoints << function;
    EXPECT_EQ(
        gradients(checkpoints, push, "next",
                  "      m = tensor f32[3]\n      m <- function \"tape get 1 v 0\"(token, at)\n"
                  "      next = neg(z)\n"),
        expected)
        << checkpoints;
  }
  // The loop carries the token, which something else reads too.
  const std::string count = "      m = tensor i64[]\n      m <- function \"tape count 1\"(token)\n";
  EXPECT_EQ(gradients("", push, "token", count), expected);
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

}  // namespace
}  // namespace mote
