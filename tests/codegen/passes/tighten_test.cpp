// SPDX-License-Identifier: Apache-2.0
// Tests tighten: guards become loop limits, congruences become strides, others stay.
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

constexpr auto kWindow = R"(
op window_sum
param stride int = 1 in 1..8
param pad int = 0 in 0..8
size OH = (H + 2*$pad - KH)/$stride + 1
input x f64[H]
input w f64[KH]
p = x[i0*$stride + i1 - $pad over OH, KH] * w[i1 over OH, KH]
)";

TEST(Tighten, Golden) {
  expect_golden_pass(tighten, lower(program(std::string(kWindow) + R"(
row = iota(i0*$stride + i1 - $pad over OH, KH)
output y = sum[1](where(row >= 0 && row < iota(H over OH, KH), p, 0))
)")));
}

/// Without the where, a tap outside is 0·w: NaN for an infinite w, so it must be computed.
TEST(Tighten, KeepsAPaddedFactor) {
  expect_unchanged(tighten, lower(program(std::string(kWindow) + "output y = sum[1](p)\n")));
}

TEST(Tighten, CongruenceBecomesAStride) {
  expect_golden_pass(tighten, lower(program(R"(
op every_third
input x f64[N]
input z f64[M]
output y = sum[1](where(iota((i1 - i0) % 3 over M, N) == 0, x[i1 over M, N], 0)) + z
)")));
}

TEST(Tighten, KeepsAGuardWhoseFillIsNotNeutral) {
  expect_unchanged(tighten, lower(program(R"(
op padded
input x f64[N]
output y = sum[1](x[i0 + i1 over N, N else 3])
)")));
}

TEST(Tighten, KeepsADataDependentGuard) {
  expect_unchanged(tighten, lower(program(R"(
op taken
input x f64[V]
input at i64[N]
output y = sum[0](select[0](x, at))
)")));
}

TEST(Tighten, MaxSkipsWhatIsPaddedWithMinusInfinity) {
  const LoopProgram after = run_checked(tighten, lower(program(R"(
op window_max
input x f64[H]
output y = max[1](x[i0 + i1 - 1 over H, k: 3 else -inf])
)")));
  EXPECT_EQ(count(after).conditions, 0);
}

/// With N = 0 nothing divides by C, which may then be 0.
TEST(Tighten, DividesByNothingWhereTheLoopIsEmpty) {
  const auto p = program(R"(
op every_other
input x f64[N]
input w f64[C]
input u f64[M]
output y = u + sum[1](where(iota((i1 + i0 + 1)%C over M, N) == 0, x[i1 over M, N], 0))
output z = w
)");
  run_checked(tighten, lower(p));
  expect_right(compile(p));
}

TEST(Tighten, HoistsNoDivisionOutOfAnEmptyLoop) {
  const auto p = program(R"(
op blocks
input x f64[N]
input w f64[C]
input u f64[M]
output y = u + sum[1](where(iota((i0 + 1)%C over M, N) == 0, x[i1 over M, N], 0))
output z = w
)");
  run_checked(tighten, lower(p));
  expect_right(compile(p));
}

}  // namespace
}  // namespace mote
