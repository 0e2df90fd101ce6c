// SPDX-License-Identifier: Apache-2.0
// Tests wrong program texts: errors give line and column, and no text exhausts the stack.
#include <gtest/gtest.h>

#include <algorithm>

#include "caught.h"
#include "property.h"

namespace mote {
namespace {

using test::error_of;

std::string message(const std::string& text) {
  return error_of([&] { parse_program(text); });
}
// Returns the error of one more line after the declarations of x f32[N, C], n i64[N, C] and $k.
std::string line(const std::string& text) {
  return message("op p\nparam k int\ninput x f32[N, C]; input n i64[N, C]\n" + text +
                 "\noutput y = x");
}

TEST(ProgramText, ErrorsOfValuesSayWhere) {
  EXPECT_EQ(line("e = exp(foo)"),
            "program text: line 4, column 9: unknown name 'foo' (known: x, n)");
  EXPECT_EQ(line("e = x + $q"),
            "program text: line 4, column 9: unknown parameter '$q' (known: k)");
  EXPECT_EQ(line("e = x * (x + )"), "program text: line 4, column 14: expected a value, got ')'");
  EXPECT_EQ(line("e = x x"),
            "program text: line 4, column 7: expected the end of the statement, got 'x'");
  EXPECT_EQ(line("e = x +\n"),
            "program text: line 4, column 8: expected a value, got the end of the line");
  EXPECT_EQ(line("e = x + n"),
            "program text: line 4, column 7: Map add: dtypes of the arguments differ: f32 and i64");
  EXPECT_EQ(line("e = n + 2.5"), "program text: line 4, column 9: 2.5 is not a value of i64");
  EXPECT_EQ(line("e = 1/3"),
            "program text: line 4, column 5: the dtype of the value is unknown, write f32(...) "
            "or another");
  EXPECT_EQ(line("e = 0 < x < 1"),
            "program text: line 4, column 11: comparisons do not chain, join them by &&");
  EXPECT_EQ(line("e = pow(x)"), "program text: line 4, column 5: pow takes 2 arguments, got 1");
  EXPECT_EQ(line("e = sum[2](x)"),
            "program text: line 4, column 5: Reduce sum: axis 2 is out of range for f32[N, C]");
  EXPECT_TRUE(line("e = x[i0, i1 +\n  over N, C]")
                  .starts_with("program text: line 4, column 15: expected a number"));
  EXPECT_EQ(line("e = x[i0, i1]"),
            "program text: line 4, column 13: expected ',' or 'over', got "
            "']'");
  EXPECT_EQ(line("e = x[i0, i2 over N, C]"),
            "program text: line 4, column 6: Reindex: index i2 mentions i2, but the rank is 2");
  EXPECT_EQ(line("e = x * over"), "program text: line 4, column 9: 'over' cannot stand here");
}

TEST(ProgramText, ErrorsOfUnknownNamesSayTheNearest) {
  EXPECT_EQ(
      line("e = slect[0](x, n)"),
      "program text: line 4, column 5: unknown name 'slect', did you mean select? (known: x, n)");
  EXPECT_EQ(line("e = sum(x)"),
            "program text: line 4, column 8: expected '[' and the axes, as in sum[0](…), got '('");
  EXPECT_EQ(line("e = sqtr(x)"),
            "program text: line 4, column 5: unknown function 'sqtr', did you mean sqrt or rsqrt?");
  EXPECT_EQ(line("value = x; e = valeu"),
            "program text: line 4, column 16: unknown name 'valeu', did you mean value? (known: x, "
            "n, value)");
  EXPECT_EQ(line("e = x + $kk"),
            "program text: line 4, column 9: unknown parameter '$kk', did you mean k? (known: k)");
  EXPECT_EQ(line("inptu z f32[N]"),
            "program text: line 4, column 1: unknown statement 'inptu', did you mean input? "
            "(known: op, param, input, size, require, output, NAME = VALUE)");
  EXPECT_EQ(line("e = scatter[ad](x, x to i0, i1)"),
            "program text: line 4, column 13: unknown scatter op 'ad', did you mean add? (known: "
            "add, mul, max, min, set)");
  EXPECT_EQ(line("output yy = x; output yz"),
            "program text: line 4, column 23: output 'yz' is no earlier value, write output yz = "
            "VALUE, did you mean yy?");
  EXPECT_EQ(message("op p\ninput x f32[ROWS]\noutput y = x[i0 over ROW]"),
            "program text: line 3, column 13: p: size ROW does not follow from the inputs (x "
            "f32[ROWS]), did you mean ROWS?");
}

TEST(ProgramText, ErrorsOfStatementsSayWhere) {
  EXPECT_EQ(line("frob x"),
            "program text: line 4, column 1: unknown statement 'frob' (known: op, param, input, "
            "size, require, output, NAME = VALUE)");
  EXPECT_EQ(line("x = n"), "program text: line 4, column 1: 'x' has a value already");
  EXPECT_EQ(line("sum = x"),
            "program text: line 4, column 1: 'sum' is a word of the language, not a name");
  EXPECT_EQ(line("input z f8[N]"),
            "program text: line 4, column 9: unknown dtype 'f8', did you mean i8 or u8? (known: "
            "f32, f64, f16, bf16, i32, i64, i8, u8, bool)");
  EXPECT_EQ(line("input z1 f32[N]"),
            "program text: line 4, column 7: Input z1: an input's name must not end in a digit "
            "(dz10 would be ambiguous)");
  EXPECT_EQ(line("param k int"), "program text: line 4, column 7: a second parameter 'k'");
  EXPECT_EQ(line("param q int = 1.5"), "program text: line 4, column 15: 1.5 is not an integer");
  EXPECT_EQ(
      line("output z"),
      "program text: line 4, column 8: output 'z' is no earlier value, write output z = VALUE");
  EXPECT_EQ(line("op p \"never ends"), "program text: line 4, column 1: a second 'op'");
  EXPECT_EQ(message("input x f32[N]\noutput y = x"),
            "program text: line 1, column 1: there is no 'op NAME'");
  EXPECT_EQ(message("op p \"abc"),
            "program text: line 1, column 6: the string does not end on its line");
  EXPECT_EQ(message("op p\ninput x f32[N"),
            "program text: line 2, column 14: expected ']', got the end of the text");
}

TEST(ProgramText, ErrorsOfTheWholeProgramPointAtTheNode) {
  EXPECT_EQ(message("op p\ninput a f32[N]\ninput b f32[N + 1]\noutput y = a\n  # sum\noutput z = "
                    "exp(a + b)"),
            "program text: line 6, column 18: p: Map add: axis 0: sizes N and N + 1 differ");
  EXPECT_EQ(
      message("op p\ninput x f32[N]\noutput y = x[i0 over Q]"),
      "program text: line 3, column 13: p: size Q does not follow from the inputs (x f32[N])");
}

TEST(ProgramText, DeepAndLongTextsAreRefusedOrRead) {
  const std::string head = "op p\ninput x f32[N]\n";
  const auto repeat = [](const std::string& s, int n) {
    std::string result;
    for (int k = 0; k < n; ++k) result += s;
    return result;
  };
  EXPECT_TRUE(
      message(head + "output y = " + repeat("(", 100000)).ends_with("nested deeper than 400"));
  EXPECT_TRUE(message(head + "output y = " + repeat("-", 100000) + "x")
                  .ends_with("nested deeper than 400"));
  EXPECT_TRUE(message(head + "output y = x*(1" + repeat("+1", 100000) + ")")
                  .ends_with("literals without a tensor"));
  EXPECT_TRUE(message(std::string(2 << 20, ' ')).ends_with("longer than 1048576 bytes"));
  const Program sum = parse_program(head + "output y = x" + repeat("+x", kMaxDepth - 2));
  EXPECT_TRUE(equal(sum, parse_program(to_string(sum))));
  EXPECT_NE(message(head + "output y = x" + repeat("+x", 100000)).find("more than 1000: let"),
            std::string::npos);
}

}  // namespace
}  // namespace mote
