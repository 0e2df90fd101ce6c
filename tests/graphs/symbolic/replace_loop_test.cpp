// SPDX-License-Identifier: Apache-2.0
// Patterns of the pass replace that hold a loop.
#include <gtest/gtest.h>

#include <string>

#include "error_of.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/replace.h"
#include "mote/symbolic/text.h"
#include "pass_case.h"

namespace mote {
namespace {

using test::apply_and_compare;
using test::error_of;

/// The loop computes u = relu(u) and v = neg(neg(v)) twice, so that u is relu(a) and v is b. Each
/// text that differs is a loop of its own.
std::string loop(const std::string& head, const std::string& body, const std::string& rest = "") {
  return "graph g(a f32[3], b f32[3]) -> (" + std::string(rest.empty() ? "u" : "r") + ")\n  " +
         head + " counter {\n    graph body(" + body + "  }\n" + rest;
}
const std::string kBody =
    "p f32[3], q f32[3], t i64[]) -> (p_new, q_new, left)\n"
    "      two = constant i64[] [2]\n      left = sub(two, t)\n      p_new = relu(p)\n"
    "      n = neg(q)\n      q_new = neg(n)\n";
const std::string kHead = "u, v = while (a, b)";

/// Registers the row that the tests share, once.
void register_loop() {
  static const bool done = [] {
    register_replacement({.name = "test_loop",
                          .pattern = loop(kHead, kBody),
                          .by = "graph by(a f32[3], b f32[3]) -> (u)\n  u = relu(a)\n",
                          .is_exact = true,
                          .reason = "relu is its own repetition, and v is not read"});
    return true;
  }();
  static_cast<void>(done);
}

/// Returns what the pass says of the text, after comparing the graph before and after it.
std::string says(const std::string& text) {
  register_loop();
  SymbolicGraph g = parse_graph(text);
  return apply_and_compare(g, {"replace"});
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ReplaceLoop, OneCommandForALoop) {
  EXPECT_EQ(says(loop(kHead, kBody)), "replace: replaced 1 by test_loop");
  EXPECT_EQ(says(loop(kHead, kBody, "  r = sin(u)\n")), "replace: replaced 1 by test_loop");
}

TEST(ReplaceLoop, WhateverTheShapesAndTheOrderOfTheCarriedValues) {
  const std::string other =
      "graph g(a f64[2,5], b f64[4]) -> (u)\n  v, u = while (b, a) counter {\n"
      "    graph mine(x f64[4], y f64[2,5], t i64[]) -> (x_new, y_new, left)\n"
      "      y_new = relu(y)\n      n = neg(x)\n      x_new = neg(n)\n"
      "      two = constant i64[] [2]\n      left = sub(two, t)\n  }\n";
  EXPECT_EQ(says(other), "replace: replaced 1 by test_loop");
}

TEST(ReplaceLoop, NotALoopThatDiffers) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"[2]", "[3]"},
           {"sub(two, t)", "sub(t, two)"},
           {"relu(p)", "abs(p)"},
           {"q_new = neg(n)", "q_new = neg(q)"},
           {"(p_new, q_new, left)", "(q_new, p_new, left)"},
           {"relu(p)", "relu(q)"}})
    EXPECT_EQ(says(loop(kHead, changed(kBody, from, to))), "replace: nothing") << from;
  EXPECT_EQ(says(changed(loop(kHead, kBody), "counter {", "counter limit 9 {")),
            "replace: nothing");
}

/// v is a value that the replacement does not give.
TEST(ReplaceLoop, NotWhereAResultIsReadThatTheReplacementHasNot) {
  EXPECT_EQ(says(loop(kHead, kBody, "  r = add(u, v)\n")), "replace: nothing");
}

TEST(ReplaceLoop, NotALoopWithANodeMore) {
  const std::string more =
      changed(kBody, "      n = neg(q)\n", "      n = neg(q)\n      o = sin(q)\n");
  EXPECT_EQ(says(loop(kHead, more)), "replace: nothing");
}

TEST(ReplaceLoop, InsideAnotherLoop) {
  const std::string text =
      "graph g(a f32[3], b f32[3]) -> (u)\n  u = while (a, b) counter {\n"
      "    graph outer(a f32[3], b f32[3], k i64[]) -> (c, left)\n"
      "      three = constant i64[] [3]\n      left = sub(three, k)\n"
      "      c, d = while (a, b) counter {\n        graph body(" +
      kBody + "      }\n  }\n";
  EXPECT_EQ(says(text), "replace: 1 graph inside changed");
}

TEST(ReplaceLoop, RowsSayWhatIsNoPattern) {
  const auto refused = [](const std::string& pattern, const std::string& by) {
    return error_of([&] {
      register_replacement({.name = "test_refused", .pattern = pattern, .by = by, .reason = ""});
    });
  };
  const std::string by = "graph by(a f32[3], b f32[3]) -> (u)\n  u = relu(a)\n";
  EXPECT_EQ(refused("graph g(k i64[], a f32[3]) -> (u)\n  u = case (k) of (a) {\n"
                    "    graph one(a f32[3]) -> (b)\n      b = relu(a)\n  }\n",
                    by),
            "symbolic graph: replacement test_refused: nodes of a pattern are commands, functions "
            "and loops, in no "
            "order of their own");
  EXPECT_EQ(
      refused("graph g(a f32[3], b f32[3]) -> (u, w)\n  u = relu(a)\n  w = relu(b)\n", by),
      "symbolic graph: replacement test_refused: the outputs of a pattern are those of one node");
  EXPECT_EQ(refused("graph g(a f32[3], b f32[3]) -> (u)\n  u = relu(a)\n  w = relu(b)\n", by),
            "symbolic graph: replacement test_refused: the outputs of a pattern need all its "
            "nodes, which have no "
            "axis");
  EXPECT_EQ(refused(loop(kHead, kBody), "graph by(a f32[3], b f32[3]) -> (a)\n  u = relu(a)\n"),
            "symbolic graph: replacement test_refused: an output of the pattern is what no node "
            "computes");
}

}  // namespace
}  // namespace mote
