// SPDX-License-Identifier: Apache-2.0
// Tests contraction: axes of a temporary that are dropped, and axes that stay because an outer loop
// carries a value.
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

TEST(Contract, Golden) {
  const auto p = program(R"(
op standard_score
input x f64[R, N]
d = x - mean[1 keep](x)
output y = d / sqrt(mean[1 keep](d * d))
)");
  expect_golden_pass(contract, fuse(lower(p)));
}

TEST(Contract, KeepsWhatALaterNestReads) {
  const auto p = program(R"(
op ahead
input x f64[N]
t = x * 2
output y = t[i0 + 1 over N]
)");
  const LoopProgram before = substitute(contract(fuse(lower_per_uop(p))));
  EXPECT_EQ(count(before).temporary_axes, 1);
  expect_unchanged(contract, before);
}

/// t is written in one iteration of r and read in the next, so its axis must stay, although within
/// an iteration every access has the same index n.
TEST(Contract, KeepsAnAxisThatAnOuterLoopCarries) {
  const Uop x = input("x", DType::f64, {"R", "N"});
  const Expr r = var("r");
  const Expr i = var("i");
  const Expr j = var("j");
  const Value carried = guard_value({nonneg(r - 1)}, at("t", {r - 1, i}, DType::f64), 0.0);
  const Value twice = op(MapOp::mul, {at("x", {r, j}, DType::f64), constant(2.0, DType::f64)});
  const LoopProgram p = loops_of(
      {"carry", "", {}, {x}, {{"y", x + reindex(x * 2, shape_of(x), {"i0 - 1", "i1"})}}, {}, {}},
      {loop("r", size("R"),
            {loop("j", size("N"), {store("t", {r, j}, twice)}),
             loop("i", size("N"),
                  {store("y", {r, i}, op(MapOp::add, {at("x", {r, i}, DType::f64), carried}))})})},
      {temporary("t", {size("R"), size("N")}, DType::f64)});
  expect_right(p);
  const LoopProgram after = run_checked(contract, p);
  EXPECT_EQ(count(after).temporary_axes, 2);
}

/// Row 0 stores t, and every row reads it: in one iteration of r all accesses have the same index
/// n, but a scalar would hold the value of the last iteration of n.
TEST(Contract, KeepsARowThatALoopWithoutAnAxisCarries) {
  const Uop x = input("x", DType::f64, {"R", "N"});
  const Value x_here = at("x", {var("r"), var("i")}, DType::f64);
  const LoopProgram p = loops_of(
      {"first_row", "", {}, {x}, {{"y", x * reindex(x * 2, shape_of(x), {"0", "i1"})}}, {}, {}},
      {loop("r", size("R"),
            {loop("i", size("N"),
                  {when({zero(var("r"))},
                        {store("t", {var("i")},
                               op(MapOp::mul, {x_here, constant(2.0, DType::f64)}))}),
                   store("y", {var("r"), var("i")},
                         op(MapOp::mul, {x_here, at("t", {var("i")}, DType::f64)}))})})},
      {temporary("t", {size("N")}, DType::f64)});
  expect_right(p);
  expect_unchanged(contract, p);
}

/// t[i % 3] is stored in the first three iterations only.
TEST(Contract, KeepsAnAxisThatComesRoundAgain) {
  const Uop x = input("x", DType::f64, {"N"});
  const Expr i = var("i");
  const LoopProgram p =
      loops_of({"again", "", {}, {x}, {{"y", reindex(x, shape_of(x), {"i0 % 3"})}}, {}, {}},
               {loop("i", size("N"),
                     {when({nonneg(2 - i)}, {store("t", {i % 3}, at("x", {i}, DType::f64))}),
                      store("y", {i}, at("t", {i % 3}, DType::f64))})},
               {temporary("t", {3}, DType::f64)});
  expect_right(p);
  expect_unchanged(contract, p);
}

/// Every iteration of r stores the whole row again before it reads it.
TEST(Contract, DropsAnAxisUnderALoopThatItDoesNotName) {
  const Uop x = input("x", DType::f64, {"R", "N"});
  const LoopProgram p = loops_of(
      {"rows", "", {}, {x}, {{"y", x * 2}}, {}, {}},
      {loop("r", size("R"),
            {loop("i", size("N"),
                  {store("t", {var("i")}, at("x", {var("r"), var("i")}, DType::f64)),
                   store("y", {var("r"), var("i")},
                         op(MapOp::mul,
                            {at("t", {var("i")}, DType::f64), constant(2.0, DType::f64)}))})})},
      {temporary("t", {size("N")}, DType::f64)});
  expect_right(p);
  EXPECT_EQ(count(run_checked(contract, p)).temporaries, 0);
}

}  // namespace
}  // namespace mote
