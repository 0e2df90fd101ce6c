// SPDX-License-Identifier: Apache-2.0
// Tests substitution of temporaries and names by their values.
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

LoopProgram fused(const std::string& text) { return contract(fuse(lower_per_uop(program(text)))); }

TEST(Substitute, Golden) {
  expect_golden_pass(substitute, fused(R"(
op chain
input x f64[N]
output y = tanh(exp(x) * 2 + 1)
)"));
}

TEST(Substitute, KeepsAValueThatIsReadTwice) {
  const LoopProgram after = run_checked(substitute, fused(R"(
op square
input x f64[N]
e = exp(x)
output y = e * e
)"));
  EXPECT_NE(to_string(after).find("*t"), std::string::npos) << to_string(after);
}

TEST(Substitute, KeepsAValueThatADeeperLoopReads) {
  const LoopProgram p = fused(R"(
op rows
input x f64[R]
input z f64[R, N]
output y = z * exp(x)[i0 over R, N]
)");
  expect_unchanged(substitute, substitute(p));
  EXPECT_EQ(to_string(substitute(p)).find("*exp("), std::string::npos) << to_string(substitute(p));
}

TEST(Substitute, XPlusXTimesX) {
  const auto p = program(R"(
op f
input x f64[N]
output y = x + x * x
)");
  const LoopProgram final = compile(p);
  expect_right(final);
  EXPECT_EQ(count(final).nests, 1);
  EXPECT_EQ(count(final).temporaries, 0);
}

}  // namespace
}  // namespace mote
