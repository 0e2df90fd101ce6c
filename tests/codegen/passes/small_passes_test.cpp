// SPDX-License-Identifier: Apache-2.0
// Tests the passes unguard, split, dead code and simplify.
#include "mote/codegen/walk.h"
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

/// Each iteration of g has one of the sums; b may be -0, and 0 + -0 is 0.
constexpr const char* kCases = R"(
op cases
input t f64[N, H]
input u f64[N, H]
input x f64[N, I]
input b f64[H]
at = t[i3, i1 over 2, H, I, N] * x[i3, i2 over 2, H, I, N]
au = u[i3, i1 over 2, H, I, N] * x[i3, i2 over 2, H, I, N]
v = sum[3](where(iota(i0 over 2, H, I, N) == 0, at, 0))
w = sum[3](where(iota(1 - i0 over 2, H, I, N) == 0, au, 0))
output y = v + (w + b[i1 over 2, H, I])
)";

TEST(Unroll, Golden) { expect_golden_pass(unroll, lower(program(kCases))); }

TEST(Unroll, IsRightInTheReference) {
  const LoopProgram p = compile(program(kCases));
  expect_right(p);
  for_each(p.body, [](const Stmt& s) { EXPECT_FALSE(std::holds_alternative<If>(s.kind)); });
}

TEST(Unroll, KeepsLoopsWhoseSumsBelongToSeveralIterations) {
  for (const char* condition :
       {"iota(i0/2 over 2, N) == 0", "iota(i0 over 2, N) < 1", "iota(i0 - i1 over 2, N) == 0"})
    expect_unchanged(unroll, lower(program("op several\ninput x f64[N]\n"
                                           "a = x[i1 over 2, N]\n"
                                           "output y = sum[1](where(" +
                                           std::string(condition) + ", a, 0)) + sum[1](a)\n")));
  expect_unchanged(unroll, lower(program(R"(
op one
input x f64[N]
output y = sum[1](where(iota(i0 over 2, N) == 0, x[i1 over 2, N], 0))
)")));
}

/// The sum is that of a loop around the cases.
TEST(Unroll, KeepsALoopThatAddsToASumOfOthers) {
  const Uop x = input("x", DType::f64, {"N"});
  const Value v = at("x", {var("n")}, DType::f64);
  const auto is_iteration = [](int k) { return Conditions{{Condition::Kind::zero, var("g") - k}}; };
  expect_unchanged(
      unroll,
      loops_of({"around", "", {}, {x}, {{"y", sum(x, {0})}}, {}, {}},
               {loop("n", size("N"),
                     {loop("g", 2,
                           {fold("s", ReduceOp::sum, guard_value(is_iteration(0), v, 0.0)),
                            fold("t", ReduceOp::sum, guard_value(is_iteration(1), v, 0.0))})},
                     {{"s", ReduceOp::sum, DType::f64}, {"t", ReduceOp::sum, DType::f64}}),
                store("y", {0}, sum_of("s"))},
               {}));
}

TEST(Unroll, KeepsALoopOfManyIterations) {
  expect_unchanged(unroll, lower(program(R"(
op many
input x f64[N]
a = x[i1 over 9, N]
v = sum[1](where(iota(i0 over 9, N) == 0, a, 0))
output y = v + sum[1](where(iota(1 - i0 over 9, N) == 0, a, 0))
)")));
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
