// SPDX-License-Identifier: Apache-2.0
// Tests program texts that the fuzzers (tests/fuzz) found to be accepted although their printed
// form is not.
#include <gtest/gtest.h>

#include "caught.h"

namespace mote {
namespace {

using test::error_of;

void expect_refused(const std::string& statements, const std::string& reason) {
  const std::string error = error_of([&] { parse_program("op p\n" + statements); });
  EXPECT_NE(error.find(reason), std::string::npos) << error;
}

TEST(FuzzFindings, EqualitiesOfSizesHaveNoLoopVariables) {
  const std::string inputs = "input x f32[A]\ninput y f32[C]\n";
  expect_refused(inputs + "require A = C + i8\noutput z = x",
                 "require: i8 + C mentions the loop variable i8");
  expect_refused(inputs + "size Q = A + i0\noutput z = x[i0 over Q]",
                 "size Q: i0 + A mentions the loop variable i0");
  expect_refused(inputs + "output z = x[(i0)[=i1 + 1] over A, C]", "mentions the loop variable i");
}

}  // namespace
}  // namespace mote
