// SPDX-License-Identifier: Apache-2.0
// Tests the steps that mote-gen writes for the extent of an axis.
#include "size_program.h"

#include <gtest/gtest.h>

#include <string>

#include "mote/base/error.h"
#include "mote/uops/expr.h"

namespace mote {
namespace {

/// Returns the steps without what all have: "N 2 MULTIPLY".
std::string steps_of(const std::string& extent) {
  std::string steps;
  const std::string program = size_program(parse_expr(extent).expr);
  for (std::size_t at = 0; (at = program.find("{MOTE_SIZE_", at)) != std::string::npos;) {
    at += std::string("{MOTE_SIZE_").size();
    const std::string step = program.substr(at, program.find('}', at) - at);
    const std::string code = step.substr(0, step.find(','));
    const std::string name = step.substr(step.find(',') + 2, step.rfind(',') - step.find(',') - 2);
    const std::string number = step.substr(step.rfind(',') + 2);
    steps += (steps.empty() ? "" : " ") + (code == "NUMBER"                    ? number
                                           : code == "NAME" || code == "PARAM" ? code + name
                                                                               : code);
  }
  return steps;
}

TEST(SizeProgram, IsThePolynomialInPostfixOrder) {
  EXPECT_EQ(size_program(Expr::size("N") * 2),
            "{MOTE_SIZE_NUMBER, NULL, INT64_C(2)}, {MOTE_SIZE_NAME, \"N\", 0}, "
            "{MOTE_SIZE_MULTIPLY, NULL, 0}, {MOTE_SIZE_END, NULL, 0}");
  EXPECT_EQ(steps_of("0"), "INT64_C(0) END");
  EXPECT_EQ(steps_of("7"), "INT64_C(7) END");
  EXPECT_EQ(steps_of("$n"), "PARAM\"n\" END");
  EXPECT_EQ(steps_of("N*N*M"), "NAME\"M\" NAME\"N\" MULTIPLY NAME\"N\" MULTIPLY END");
  EXPECT_EQ(steps_of("-N"), "INT64_C(-1) NAME\"N\" MULTIPLY END");
  // Terms that are added come before those that are subtracted.
  EXPECT_EQ(steps_of("1 - K + N"),
            "NAME\"N\" INT64_C(1) ADD INT64_C(-1) NAME\"K\" MULTIPLY ADD END");
}

TEST(SizeProgram, HasTheOperandsOfQuotientsAndMaxima) {
  EXPECT_EQ(steps_of("N/$s + 1"), "NAME\"N\" PARAM\"s\" DIVIDE INT64_C(1) ADD END");
  EXPECT_EQ(steps_of("3*(N % 4)"), "INT64_C(3) NAME\"N\" INT64_C(4) MOD MULTIPLY END");
  EXPECT_EQ(steps_of("max(min(N, M), 2)"), "NAME\"M\" NAME\"N\" MIN INT64_C(2) MAX END");
  EXPECT_EQ(steps_of("min(A, B, C)"), "NAME\"A\" NAME\"B\" MIN NAME\"C\" MIN END");
}

TEST(SizeProgram, NoExtentDependsOnLoopsOrData) {
  EXPECT_THROW((void)size_program(Expr::loop(0)), InternalError);
  EXPECT_THROW((void)size_program(load("x", {Expr(0)})), InternalError);
}

}  // namespace
}  // namespace mote
