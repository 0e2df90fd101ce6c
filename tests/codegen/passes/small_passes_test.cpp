// SPDX-License-Identifier: Apache-2.0
// Tests the passes unguard, split, dead code and simplify.
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

TEST(Unguard, Golden) {
  expect_golden_pass(unguard, lower_per_uop(program(R"(
op shifted
input x f64[N]
t = x[i0 - 1 over N]
output y = exp(t) + t
)")));
}

TEST(Unguard, KeepsAGuardThatDependsOnData) {
  expect_unchanged(unguard, lower_per_uop(program(R"(
op taken
input x f64[V]
input at i64[N]
output y = exp(select[0](x, at))
)")));
}

TEST(Unguard, ReadsInRangeOfAShiftedTemporary) {
  const auto p = program(R"(
op twice_shifted
input x f64[N]
t = exp(x[i0 + 2 over N else 1])
output y = t[i0 - 1 over N] + t[-i0 + 3 over N]
)");
  expect_right(compile(p));
  run_checked(unguard, lower_per_uop(p));
}

TEST(Split, Golden) {
  expect_golden_pass(split, lower(program(R"(
op grouped
param groups int = 1 in 1..8
input x f64[N, $groups*C]
input w f64[$groups]
output y = x * w[i1/C over N, $groups*C]
)")));
}

TEST(Split, KeepsALoopThatIsNotAProduct) {
  expect_unchanged(split, lower(program(R"(
op halves
input x f64[N]
output y = x[i0/2 over N]
)")));
}

TEST(DeadCode, Golden) {
  const Uop x = input("x", DType::f64, {"N"});
  const Expr i = var("i");
  const Value v = at("x", {i}, DType::f64);
  const LoopProgram p =
      loops_of({"twice", "", {}, {x}, {{"y", x * 2}}, {}, {}},
               {loop("j", size("N"), {fold("s", ReduceOp::sum, at("x", {var("j")}, DType::f64))},
                     {{"s", ReduceOp::sum, DType::f64}}),
                loop("k", size("N"), {store("t", {var("k")}, at("x", {var("k")}, DType::f64))}),
                loop("i", size("N"),
                     {let("unused", op(MapOp::neg, {v})),
                      store("y", {i}, op(MapOp::mul, {v, constant(2.0, DType::f64)}))})},
               {temporary("t", {size("N")}, DType::f64)});
  expect_golden_pass(eliminate_dead_code, p);
}

TEST(DeadCode, KeepsWhatIsNeeded) {
  expect_unchanged(eliminate_dead_code, lower(program(R"(
op softmax
input x f64[R, N]
e = exp(x - max[1 keep](x))
output y = e / sum[1 keep](e)
)")));
}

TEST(Simplify, Golden) {
  const Uop x = input("x", DType::f64, {"N"});
  const Expr i = var("i");
  const Value inner = guard_value({nonneg(i)}, at("x", {(i * 4 + 3) / 4}, DType::f64), 0.0);
  const LoopProgram p = loops_of(
      {"copy", "", {}, {x}, {{"y", x + 0.0}}, {}, {}},
      {loop("i", size("N"),
            {when({nonneg(size("N") - i - 1)}, {store("y", {i}, inner)}),
             when({nonneg(i - size("N"))}, {store("y", {i}, constant(1.0, DType::f64))})})});
  expect_golden_pass(simplify, p);
}

TEST(Simplify, KeepsAConditionThatIsNotDecided) {
  expect_unchanged(simplify, simplify(lower_per_uop(program(R"(
op shifted
input x f64[N]
output y = x[i0 - 1 over N]
)"))));
}

}  // namespace
}  // namespace mote
