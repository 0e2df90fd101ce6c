// SPDX-License-Identifier: Apache-2.0
// Tests that errors found only in the complete program report the line and column of their cause.
#include <gtest/gtest.h>

#include "caught.h"

namespace mote {
namespace {

using test::error_of;

// Returns the position of the error of "op p" followed by these lines.
std::string place(const std::string& lines) {
  const std::string text = error_of([&] { parse_program("op p\n" + lines); });
  const std::string_view start = "program text: line ";
  if (!text.starts_with(start)) return text;
  return text.substr(start.size(), text.find(':', start.size()) - start.size());
}

TEST(Positions, OfSizesThatDoNotFollow) {
  EXPECT_EQ(place("input x f32[N]\n\noutput y = x[i0 over M]"), "4, column 13");
  EXPECT_EQ(place("input x f32[N]\nt = exp(x[i0 over M])\noutput y = t*2"), "3, column 10");
  EXPECT_EQ(place("input x f32[N]\noutput y = x\n  output z = iota(i0 over M)"), "4, column 14");
  EXPECT_EQ(place("input w f32[3]\ninput x f32[A*B]\noutput y = w"), "3, column 1");
  EXPECT_EQ(place("input x f32[N]\noutput y = x\nsize Q = N + M"), "4, column 1");
  EXPECT_EQ(place("input x f32[N]\nrequire M*M = N\noutput y = x"), "3, column 1");
  EXPECT_EQ(place("input x f32[N]\nt = x[i0 over N[=M*M]]\noutput y = t"), "3, column 6");
}

TEST(Positions, OfParameters) {
  EXPECT_EQ(place("input x f32[N]\n param a int = 5 in 1..3\noutput y = x"), "3, column 2");
  EXPECT_EQ(place("param b int\nparam a int in 5..3\ninput x f32[N]\noutput y = x"), "3, column 1");
  EXPECT_EQ(place("param a real\ninput x i32[N]\noutput y = x\noutput z = x + $a"), "5, column 14");
  EXPECT_EQ(place("input x f32[N]\nparam e real\noutput y = x[i0 + $e over N]"), "4, column 13");
  EXPECT_EQ(place("param a int\ninput x f32[N + $b]\noutput y = x"), "3, column 1");
}

TEST(Positions, OfNamesThatAreTaken) {
  EXPECT_EQ(place("param a int\ninput b f32[N]\ninput a f32[N]\noutput y = a"), "4, column 1");
  EXPECT_EQ(place("param a int\ninput x f32[N]\noutput a = x"), "4, column 1");
  EXPECT_EQ(place("input x f32[N]\nsize Q = 1\nsize Q = 2\noutput y = x"), "4, column 1");
}

TEST(Positions, OfSizesThatContradict) {
  EXPECT_EQ(place("input x f32[3]\ninput w f32[4]\nrequire 3 = 4\noutput y = x"), "4, column 1");
  EXPECT_EQ(place("input x f32[N]\nsize A = A + 1\noutput y = x"), "3, column 1");
  EXPECT_EQ(place("input x f32[N]\ninput w f32[N + 1]\nt = 2*exp(x + w)\noutput y = t"),
            "4, column 13");
  EXPECT_EQ(place("input x f32[N]\nsize A = $k + 1\noutput y = x"), "3, column 1");
}

// Nodes that builders insert (the count of a mean, the repetition of an axis) have the position of
// their cause.
TEST(Positions, OfNodesThatBuildersInsert) {
  EXPECT_EQ(place("input x f32[$k]\noutput y = x"), "2, column 1");
  EXPECT_EQ(place("input x f32[N]\ninput w f32[4]\nt = 2\noutput y = x"), "4, column 5");
}

}  // namespace
}  // namespace mote
