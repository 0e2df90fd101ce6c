// SPDX-License-Identifier: Apache-2.0
// Tests lowering: values that are pulled into their reader, that get a tensor, and that get a name.
#include "mote/codegen/walk.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

LoopProgram lowered(const std::string& text) {
  LoopProgram p = lower(program(text));
  verify(p);
  expect_right(p);
  return p;
}

TEST(Lower, Golden) {
  expect_golden(to_string(lowered(R"(
op scaled_rows
param shift int = 1 in 0..4
input x f64[R, N]
e = exp(x[i0, i1 + $shift over R, N])
output y = e / sum[1 keep](e) + e * e
)")));
}

/// min(a, b) >= 0 is a >= 0 and b >= 0, and one of them is known here; likewise for the maximum.
TEST(Lower, AnIndexMovedToTheNearestEndIsInRangeWhereThereIsAnElement) {
  for (const char* at : {"min(max(i0 - 2, 0), N - 1)", "max(min(i0 - 2, N - 1), 0)"}) {
    const auto text = std::string("op f\ninput x f64[N]\noutput y = x[") + at + " over 6]\n";
    EXPECT_NE(to_string(lowered(text)).find("(N >= 1 ? x["), std::string::npos) << at;
  }
}

TEST(Lower, PullsAReductionThatIsReadOnce) {
  const LoopProgram p = lowered("op f\ninput x f64[R, N]\noutput y = tanh(sum[1](x) + 1)\n");
  EXPECT_EQ(count(p).nests, 1);
  EXPECT_EQ(count(p).temporaries, 0);
}

TEST(Lower, KeepsAReductionThatEveryElementOfARowReads) {
  const LoopProgram p = lowered("op f\ninput x f64[R, N]\noutput y = x - sum[1 keep](x)\n");
  EXPECT_EQ(count(p).nests, 2);
  EXPECT_EQ(count(p).temporaries, 1);
}

/// Both outputs read the products of t and x, which are N times as many as the elements of t.
TEST(Lower, KeepsNoProductsThatAreMoreThanTheirFactors) {
  const LoopProgram p = compile(program(R"(
op products
input y f64[N, H]
input x f64[N, I]
t = exp(y) - sum[1 keep](exp(y))
p = t[i0, i1 over N, H, I] * x[i0, i2 over N, H, I]
output gw = sum[3](p[i3, i1, i2 over 2, H, I, N])
output gb = sum[1](t[i1, i0 over H, N])
)"));
  expect_right(p);
  for (const TensorDecl& tensor : p.tensors) {
    if (tensor.role != TensorRole::temporary) continue;
    EXPECT_LT(tensor.shape.size(), 3U) << to_string(p);
  }
}

TEST(Lower, NeverReadsAnOutputBack) {
  // y is narrower than t: z must be computed from the double, not from the stored value.
  const LoopProgram p = lowered(R"(
op f
input x f32[N]
t = x / 3
output y = t
output z = f64(t) * 3
)");
  for_each(p.body, [](const Stmt& s) {
    const auto* store = std::get_if<Store>(&s.kind);
    if (store) {
      EXPECT_EQ(to_string(store->value).find("y["), std::string::npos);
    }
  });
}

TEST(Lower, ComputesUnderItsGuardOnly) {
  // The reduction reads x[i0 - 1], which does not exist for row 0.
  const LoopProgram p = lowered(R"(
op f
input x f64[R, N]
s = sum[1](exp(x))
output y = s[i0 - 1 over R else 7]
)");
  EXPECT_GE(count(p).conditions, 1);
}

}  // namespace
}  // namespace mote
