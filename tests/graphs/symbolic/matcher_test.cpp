// SPDX-License-Identifier: Apache-2.0
// Tests how graphs are compared with patterns: numbers as what they are, and loops of many values
// that are alike without trying all their orders.
#include "passes/matcher.h"

#include <gtest/gtest.h>

#include <string>

#include "mote/symbolic/text.h"

namespace mote {
namespace {

bool matches(const std::string& pattern, const std::string& graph) {
  const SymbolicGraph wanted = parse_graph(pattern), got = parse_graph(graph);
  Matcher matcher(wanted, got);
  return matcher.node(wanted.producer(wanted.outputs()[0]).index,
                      got.producer(got.outputs()[0]).index);
}

TEST(Matcher, NumbersAreComparedAsWhatTheyAre) {
  const auto adding = [](const std::string& number) {
    const std::string dtype = number.substr(0, number.find('['));
    return "graph g(x " + dtype + "[2]) -> (y)\n  c = constant " + number + "\n  y = add(x, c)\n";
  };
  const auto are_equal = [&](const std::string& a, const std::string& b) {
    EXPECT_EQ(matches(adding(a), adding(b)), matches(adding(b), adding(a))) << a << " " << b;
    return matches(adding(a), adding(b));
  };
  EXPECT_TRUE(are_equal("i64[] [7]", "i64[2] [7, 7]"));
  EXPECT_TRUE(are_equal("i64[] [7]", "f32[] [7]"));
  EXPECT_TRUE(are_equal("f32[] [0.5]", "f64[] [0.5]"));
  EXPECT_TRUE(are_equal("f32[] [nan]", "f64[] [nan]"));
  EXPECT_TRUE(are_equal("i64[] [9007199254740993]", "i64[1] [9007199254740993]"));
  EXPECT_FALSE(are_equal("i64[] [9007199254740993]", "i64[] [9007199254740992]"));
  EXPECT_FALSE(are_equal("i64[] [9007199254740993]", "f64[] [9007199254740992]"));
  EXPECT_FALSE(are_equal("i64[] [9223372036854775807]", "f64[] [9223372036854775808]"));
  EXPECT_FALSE(are_equal("f32[] [0]", "f32[] [-0]"));
  EXPECT_FALSE(are_equal("i64[] [0]", "f32[] [-0]"));
  EXPECT_FALSE(are_equal("f32[] [0.1]", "f64[] [0.1]"));
  EXPECT_FALSE(are_equal("i64[] [1]", "i64[2] [1, 2]"));
}

/// A loop of `count` values, each multiplied with w, but the last one with `last`.
std::string loop_of_values(int count, const std::string& last) {
  std::string header, given, results, next, body;
  for (int k = 0; k < count; ++k) {
    const std::string x = "x" + std::to_string(k);
    header += x + " f32[], ";
    given += x + ", ";
    results += (k == 0 ? "y" : ", y") + std::to_string(k);
    next += "n" + std::to_string(k) + ", ";
    body +=
        "      n" + std::to_string(k) + " = mul(" + x + ", " + (k + 1 < count ? "w" : last) + ")\n";
  }
  return "graph g(" + header + "w f32[], v f32[]) -> (y0)\n  " + results + " = while (" + given +
         "w, v) counter {\n    graph b(" + header + "w f32[], v f32[], c i64[]) -> (" + next +
         "left)\n      n = constant i64[] [4]\n      left = sub(n, c)\n" + body + "  }\n";
}

TEST(Matcher, LoopsOfManyValuesThatAreAlikeAreNotTriedInAllOrders) {
  // 20 values have 2.4·10^18 orders.
  EXPECT_TRUE(matches(loop_of_values(20, "w"), loop_of_values(20, "w")));
  EXPECT_TRUE(matches(loop_of_values(20, "v"), loop_of_values(20, "v")));
  EXPECT_FALSE(matches(loop_of_values(20, "w"), loop_of_values(20, "v")));
  EXPECT_TRUE(matches(loop_of_values(20, "v"), loop_of_values(20, "w")));  // v may be w
}

}  // namespace
}  // namespace mote
