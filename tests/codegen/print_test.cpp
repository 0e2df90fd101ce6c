// SPDX-License-Identifier: Apache-2.0
// Tests the printed form of loop programs, statements, values and conditions.
#include <gtest/gtest.h>

#include "loop_variables.h"

namespace mote {
namespace {

using namespace test;

TEST(Print, WritesOneRowLoopForSoftmax) {
  EXPECT_EQ(to_string(softmax_rows()),
            "softmax(x f32[R, N]) -> (y f32[R, N])\n"
            "for r in 0..R {\n"
            "  for n in 0..N with m = max {\n"
            "    m max= x[r, n]\n"
            "  }\n"
            "  for n2 in 0..N with s = sum {\n"
            "    s += exp(x[r, n2] - m)\n"
            "  }\n"
            "  for n3 in 0..N {\n"
            "    y[r, n3] = exp(x[r, n3] - m)/s\n"
            "  }\n"
            "}\n");
}

TEST(Print, NamesDerivedSizesWhereTheirValuesStand) {
  const Uop x = input("x", DType::f32, {"H"});
  const Expr stride = Expr::param("stride");
  const Expr value = (size("H") - 3) / stride + 1;
  const Uop y = reindex(x, {Axis(value, "oh")}, {Expr::loop(0) * stride});
  const ParamDecl param{"stride", true, 1.0, 1, std::nullopt, ""};
  const LoopProgram p =
      loops_of({"pool", "", {param}, {x}, {{"y", y}}, {{"OH", value}}, {}},
               {loop("oh", value,
                     {when({nonneg(value - 2 - var("oh"))},
                           {store("y", {var("oh")}, at("x", {var("oh") * stride}))})})},
               {temporary("t", {value, 2})});
  EXPECT_EQ(to_string(p),
            "pool(x f32[H], $stride) -> (y f32[OH])\n"
            "where OH = (H - 3)/$stride + 1\n"
            "temporary t f32[OH, 2]\n"
            "for oh in 0..OH {\n"
            "  if oh < OH - 1 {\n"
            "    y[oh] = x[oh*$stride]\n"
            "  }\n"
            "}\n");
}

TEST(Print, WritesConditionsAsComparisons) {
  EXPECT_EQ(to_string(Conditions{nonneg(i - 2)}), "i >= 2");
  EXPECT_EQ(to_string(Conditions{nonneg(i)}), "i >= 0");
  EXPECT_EQ(to_string(Conditions{nonneg(-i)}), "i <= 0");
  EXPECT_EQ(to_string(Conditions{nonneg(3 - i)}), "i <= 3");
  EXPECT_EQ(to_string(Conditions{nonneg(i - j)}), "i >= j");
  EXPECT_EQ(to_string(Conditions{nonneg(i - j - 1)}), "i > j");
  EXPECT_EQ(to_string(Conditions{nonneg(size("H") - 1 - i - 2 * j)}), "i + 2*j < H");
  EXPECT_EQ(to_string(Conditions{nonneg(size("H") - i)}), "i <= H");
  EXPECT_EQ(to_string(Conditions{nonneg(size("H") - i - 3)}), "i < H - 2");
  EXPECT_EQ(to_string(Conditions{nonneg(i + 2)}), "i >= -2");
  EXPECT_EQ(to_string(Conditions{nonneg(i - j + 2)}), "i + 2 >= j");
  EXPECT_EQ(to_string(Conditions{nonneg(i - j - 2)}), "i >= j + 2");
  EXPECT_EQ(to_string(Conditions{zero(i + 3)}), "i == -3");
  EXPECT_EQ(to_string(Conditions{zero(i - size("H") + 1)}), "i == H - 1");
  EXPECT_EQ(to_string(Conditions{zero(size("H") - i - 1)}), "H - 1 == i");
  EXPECT_EQ(to_string(Conditions{zero(i - j)}), "i == j");
  EXPECT_EQ(to_string(Conditions{zero((i + 1) % size("S"))}), "(i + 1)%S == 0");
  EXPECT_EQ(to_string(Conditions{nonneg(i - 1), zero(j % 2)}), "i >= 1 && j%2 == 0");
}

TEST(Print, PutsParenthesesOnlyWhereTheyAreNeeded) {
  const Value a = at("a", {i});
  const Value b = at("b", {i});
  const Value c = at("c", {i});
  const auto sum = [](const Value& x, const Value& y) { return op(MapOp::add, {x, y}); };
  const auto product = [](const Value& x, const Value& y) { return op(MapOp::mul, {x, y}); };
  const auto difference = [](const Value& x, const Value& y) { return op(MapOp::sub, {x, y}); };
  EXPECT_EQ(to_string(sum(sum(a, b), c)), "a[i] + b[i] + c[i]");
  EXPECT_EQ(to_string(sum(a, sum(b, c))), "a[i] + (b[i] + c[i])");
  EXPECT_EQ(to_string(product(sum(a, b), c)), "(a[i] + b[i])*c[i]");
  EXPECT_EQ(to_string(sum(product(a, b), c)), "a[i]*b[i] + c[i]");
  EXPECT_EQ(to_string(op(MapOp::div, {a, product(b, c)})), "a[i]/(b[i]*c[i])");
  EXPECT_EQ(to_string(op(MapOp::neg, {sum(a, b)})), "-(a[i] + b[i])");
  EXPECT_EQ(to_string(difference(a, op(MapOp::neg, {b}))), "a[i] - (-b[i])");
  EXPECT_EQ(to_string(op(MapOp::neg, {op(MapOp::neg, {a})})), "-(-a[i])");
  EXPECT_EQ(to_string(op(MapOp::where, {op(MapOp::lt, {sum(a, b), c}), a, real(-0.5)})),
            "where(a[i] + b[i] < c[i], a[i], -0.5)");
  EXPECT_EQ(to_string(op(MapOp::max, {a, real(0)})), "max(a[i], 0)");
  EXPECT_EQ(to_string(op_value(MapOp::cast, {a}, DType::f32, DType::i64)), "i64(a[i])");
}

TEST(Print, WritesGuardsIndicesAndParameters) {
  const Value guarded = guard_value({nonneg(i - 1)}, at("x", {i - 1}), 0.0);
  EXPECT_EQ(to_string(op(MapOp::mul, {guarded, param_value("eps", DType::f32)})),
            "(i >= 1 ? x[i - 1] : 0)*$eps");
  EXPECT_EQ(to_string(op(MapOp::mul, {index_value(i + 1), index_value(2 * j)})), "(i + 1)*(2*j)");
  EXPECT_EQ(to_string(at("x", {load("index", {i}), j})), "x[index[i], j]");
  EXPECT_EQ(to_string(at("t", {})), "t[]");
}

TEST(Print, WritesEveryKindOfStatement) {
  Stmt strided =
      loop("i", size("H") + 2,
           {fold("best", ReduceOp::argmax, at("x", {i}), 2 * i + j),
            when({zero(i % 2)}, {{StoreReduce{"y", {i}, ScatterOp::add, real(1)}}}),
            let("twice", op(MapOp::mul, {at("x", {i}), real(2)})),
            fold("least", ReduceOp::min, named_value("twice", DType::f32))},
           {{"best", ReduceOp::argmax, DType::f32}, {"least", ReduceOp::min, DType::f32}});
  std::get<Loop>(strided.kind).step = Expr::param("s");
  std::get<Loop>(strided.kind).begin = max(j, 0);
  EXPECT_EQ(to_string(strided, 1),
            "  for i in max(0, j)..(H + 2) step $s with best = argmax, least = min {\n"
            "    best argmax= x[i] at 2*i + j\n"
            "    if i%2 == 0 {\n"
            "      y[i] += 1\n"
            "    }\n"
            "    twice = x[i]*2\n"
            "    least min= twice\n"
            "  }\n");
}

TEST(Print, KeepsSpecialNumbersApart) {
  EXPECT_EQ(to_string(real(0.1)), "0.1");
  EXPECT_EQ(to_string(real(-0.0)), "-0");
  EXPECT_EQ(to_string(real(std::numeric_limits<double>::infinity())), "inf");
  EXPECT_EQ(to_string(real(-std::numeric_limits<double>::quiet_NaN())), "nan");
  EXPECT_EQ(to_string(constant(7, DType::i64)), "7");
}

}  // namespace
}  // namespace mote
