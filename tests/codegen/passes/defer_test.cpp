// SPDX-License-Identifier: Apache-2.0
// Tests defer: stores wait for the readers of tensors that may share their memory, and for nothing
// else.
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

LoopProgram substituted(const std::string& text) {
  return substitute(contract(fuse(lower(program(text)))));
}

TEST(Defer, Golden) {
  expect_golden_pass(defer, substituted(R"(
op step
input w f32[N]
input m f32[N]
input g f32[N]
output w_next = w - 0.1 * (m + g)
output m_next = 0.9 * m + w * g
)"));
}

TEST(Defer, ThreeStatesAreComputedBeforeAnyIsStored) {
  const LoopProgram p = run_checked(defer, substituted(R"(
op rotate
input a f64[N]
input b f64[N]
input c f64[N]
output x = a + b * 2
output y = b + c * 2
output z = c + a * 2
)"));
  expect_golden(to_string(p));
}

TEST(Defer, KeepsOutputsOfOtherTypesThanTheInputs) {
  expect_unchanged(defer, substituted(R"(
op narrow
input x f64[N]
output y = f32(x)
output z = f32(x * 2)
)"));
}

TEST(Defer, KeepsOutputsOfOtherShapesThanTheInputs) {
  expect_unchanged(defer, substituted(R"(
op rows
input x f64[R, N]
output y = sum[1](x)
output z = max[1](x)
)"));
}

TEST(Defer, KeepsASingleOutput) {
  expect_unchanged(defer, substituted("op f\ninput x f64[N]\noutput y = x * x + x\n"));
}

}  // namespace
}  // namespace mote
