// SPDX-License-Identifier: Apache-2.0
// Tests the forms that the compiler must reach: nests, conditions and temporaries of the table in
// loops.md, and the loops and the C themselves as golden files.
#include "mote/codegen/emit_c.h"
#include "mote/macroops/catalogue.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

struct Compiled {
  int nests_lowered;
  LoopProgram program;
};

Compiled compiled(const std::shared_ptr<const Program>& p) {
  int nests = -1;
  LoopProgram final = compile(p, [&](const char*, const LoopProgram& stage) {
    verify(stage);
    if (nests < 0) nests = count(stage).nests;
  });
  return {nests, std::move(final)};
}

std::shared_ptr<const Program> full_instance(const std::string& name) {
  const OpRecord& record = find_op(name);
  return instantiate(record, {DType::f32, full_mask(record)});
}

/// Expects one nest, no temporary, no condition and no scatter; and the text of the golden file.
void expect_form(const std::shared_ptr<const Program>& p, int least_lowered, int most_lowered) {
  const Compiled c = compiled(p);
  EXPECT_GE(c.nests_lowered, least_lowered);
  EXPECT_LE(c.nests_lowered, most_lowered);
  const LoopCount n = count(c.program);
  EXPECT_EQ(n.nests, 1);
  EXPECT_EQ(n.temporaries, 0);
  EXPECT_EQ(n.conditions, 0);
  EXPECT_EQ(n.scatters, 0);
  expect_right(c.program);
  expect_golden(to_string(c.program) + "\n" +
                emit_c(c.program, {.function = "", .standalone = true}));
}

TEST(Forms, Matmul) { expect_form(full_instance("matmul"), 1, 1); }
TEST(Forms, Conv2d) { expect_form(full_instance("conv2d"), 1, 1); }

/// The dilation is a parameter, so the taps that contribute are a condition on each spatial axis.
TEST(Forms, ConvTranspose2d) {
  const Compiled c = compiled(full_instance("conv_transpose2d"));
  const LoopCount n = count(c.program);
  EXPECT_EQ(n.nests, 1);
  EXPECT_EQ(n.temporaries, 0);
  EXPECT_EQ(n.conditions, 2);
  expect_right(c.program);
  expect_golden(to_string(c.program) + "\n" + emit_c(c.program, {}));
}

/// With a dilation of 1 the contributing taps are a stride apart.
TEST(Forms, ConvTranspose1dWithoutDilationHasStridedLoops) {
  expect_form(program(R"(
op conv_transpose1d "y[n, co, o] = sum of x[n, ci, h]*w[ci, co, k] where h*stride + k - pad = o"
param stride int = 1 in 1..8
param pad int = 0 in 0..8
size O = (H - 1)*$stride + K - 2*$pad
input x f32[N, CI, H]
input w f32[CI, CO, K]
row = iota(i2 + $pad - i4 over N, CO, O, CI, K)
hits = iota((i2 + $pad - i4)%$stride over N, CO, O, CI, K) == 0 && row >= 0 && iota((i2 + $pad - i4)/$stride over N, CO, O, CI, K) < iota(H over N, CO, O, CI, K)
xs = x[i0, i3, (i2 + $pad - i4)/$stride over N, CO, O, CI, K]
output y = sum[3, 4](where(hits, xs * w[i3, i1, i4 over N, CO, O, CI, K], 0))
)"),
              1, 1);
}

TEST(Forms, Softmax) { expect_form(full_instance("softmax"), 3, 4); }
TEST(Forms, LayerNorm) { expect_form(full_instance("layer_norm"), 3, 4); }

TEST(Forms, ElementwiseChainOfEight) {
  expect_form(program(R"(
op chain "y[n] = tanh(1/sqrt(|exp(2*x[n] + b[n]) - 1| + eps)) for each n"
param eps real = 0.5
input x f32[N]
input b f32[N]
output y = tanh(1 / sqrt(abs(exp(x * 2 + b) - 1) + $eps))
)"),
              1, 1);
}

TEST(Forms, TanhOfMatmul) {
  const Compiled c = compiled(program(R"(
op tanh_matmul
input a f32[M, K]
input b f32[K, N]
output y = tanh(sum[2](a[i0, i2 over M, N, K] * b[i2, i1 over M, N, K]))
)"));
  EXPECT_EQ(c.nests_lowered, 1);
  EXPECT_EQ(count(c.program).nests, 1);
  EXPECT_EQ(count(c.program).temporaries, 0);
}

TEST(Forms, GroupNorm) {
  const Compiled c = compiled(program(R"(
op group_norm
param groups int = 1 in 1..8
param eps real = 0.00001
input x f32[N, $groups*C, H]
input gamma f32[$groups*C]
x4 = x[i0, i1*C + i2, i3 over N, g: $groups, C, H]
d = x4 - mean[2, 3 keep](x4)
y4 = d * rsqrt(mean[2, 3 keep](d * d) + $eps)
output y = y4[i0, i1/C, i1%C, i2 over N, $groups*C, H] * gamma[i1 over N, $groups*C, H]
)"));
  EXPECT_GE(c.nests_lowered, 3);
  EXPECT_LE(c.nests_lowered, 4);
  EXPECT_EQ(count(c.program).nests, 1) << to_string(c.program);
  EXPECT_EQ(count(c.program).temporaries, 0) << to_string(c.program);
}

/// There are twelve levels of y·y + y: with names for shared values, the text stays linear in the
/// levels.
TEST(Forms, SharedValuesAreBoundNotRepeated) {
  std::string text = "op levels\ninput x f64[N]\ny0_ = x\n";
  for (int k = 0; k < 12; ++k) {
    const std::string from = "y" + std::to_string(k) + "_";
    text += "y" + std::to_string(k + 1) + "_ = " + from + " * " + from + " + " + from + "\n";
  }
  text += "output z = y12_\n";
  const Compiled c = compiled(program(text));
  EXPECT_LT(to_string(c.program).size(), 1500U);
  expect_right(c.program);
}

}  // namespace
}  // namespace mote
