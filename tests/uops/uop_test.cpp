// SPDX-License-Identifier: Apache-2.0
// Tests builders of uops: shapes, names, dtypes, simplifications that keep the meaning, errors.
#include "mote/uops/uop.h"

#include <gtest/gtest.h>

#include "caught.h"

namespace mote {
namespace {

using test::error_of;
using Uops = std::vector<Uop>;

const Uop kRows = input("x", DType::f32, {"N", "C"});

template <typename K>
const K& kind(const Uop& u) {
  return std::get<K>(u.node().kind);
}
std::string text(const std::vector<Expr>& shape) {
  std::string result;
  for (const Expr& e : shape) result += (result.empty() ? "" : ", ") + e.to_string();
  return result;
}
std::vector<std::string> names(const Uop& u) { return u.node().axis_names; }
using Names = std::vector<std::string>;

TEST(Axis, ReadsItsText) {
  EXPECT_EQ(Axis("KH").name, "kh");
  EXPECT_EQ(Axis("ci: $groups*CG").name, "ci");
  EXPECT_EQ(Axis("ci: $groups*CG").extent, Expr::param("groups") * Expr::size("CG"));
  EXPECT_EQ(Axis("$groups*CG").name, "");
  EXPECT_TRUE(Axis(" 1 | P").broadcast);
  EXPECT_EQ(Axis("1|P").extent, Expr::size("P"));
  EXPECT_EQ(Axis("p: 1|P + 1").name, "p");
  EXPECT_FALSE(Axis("1").broadcast);
  EXPECT_EQ(Axis("dA1[=dB0]").constraints.size(), 1U);
  EXPECT_EQ(Axis(Expr::size("OH")).name, "oh");
  EXPECT_EQ(Axis(Expr(4), "k").name, "k");
}

TEST(Axis, ErrorsSayWhere) {
  EXPECT_EQ(error_of([] { Axis("2x: N"); }),
            "index text: line 1, column 1: '2x' is not a name for an axis");
  EXPECT_TRUE(error_of([] { Axis("c: N +"); }).starts_with("index text: line 1, column 7:"));
}

TEST(Input, KnowsShapeAndNames) {
  EXPECT_EQ(text(kRows.shape()), "N, C");
  EXPECT_EQ(names(kRows), (Names{"n", "c"}));
  EXPECT_EQ(text(input("q", DType::i32, 3).shape()), "dq0, dq1, dq2");
  EXPECT_EQ(describe(kRows), "Input x");
}

TEST(Input, RefusesBadDeclarations) {
  EXPECT_EQ(error_of([] { input("x1", DType::f32, {"N"}); }),
            "Input x1: an input's name must not end in a digit (dx10 would be ambiguous)");
  EXPECT_EQ(error_of([] { input("x", DType::f32, {"i0"}); }),
            "Input x: axis 0: extent i0 mentions the loop variable i0");
  EXPECT_EQ(error_of([] {
              input("x", DType::f32, {"N", "-2"});
            }),
            "Input x: axis 1: extent -2 is negative");
  EXPECT_EQ(error_of([] { input("x", DType::f32, Shape(17, Axis("N"))); }),
            "Input x: rank 17 is above 16");
  EXPECT_EQ(error_of([] { input("b c", DType::f32, {"N"}); }),
            "Input b c: an input's name is letters, digits and _");
}

/// No conversion is ambiguous: an integer of any type becomes an integer, a float a real.
TEST(Number, IsMadeOfEveryArithmeticType) {
  for (const Number& n : std::vector<Number>{3, 3U, 3L, 3UL, 3LL, 3ULL, static_cast<short>(3),
                                             std::uint8_t{3}, std::size_t{3}, '\3'})
    EXPECT_TRUE(same(n, Number(3)) && !n.is_real());
  EXPECT_TRUE(same(Number(true), Number(1)));
  for (const Number& n : std::vector<Number>{0.5, 0.5F, 0.5L})
    EXPECT_TRUE(same(n, Number(0.5)) && n.is_real());
  EXPECT_EQ(Number(UINT64_MAX).real(), 0x1p64);
  EXPECT_EQ(Expr(3U), Expr(3));
  EXPECT_EQ(Expr(std::size_t{3}), Expr(3));
  EXPECT_EQ(Expr(3LL) + 2U, Expr(5));
  const Uop x = input("x", DType::f32, {"N"});
  EXPECT_EQ((x * 2U + std::size_t{1} - 0.5F).dtype(), DType::f32);
}

TEST(Map, RepeatsAxesOfExtentOne) {
  const Uop row = input("r", DType::f32, {"1", "C"});
  const Uop y = kRows + row;
  EXPECT_EQ(text(y.shape()), "N, C");
  const Uop& spread = kind<uop::Map>(y).args[1];
  EXPECT_EQ(kind<uop::Reindex>(spread).x.id(), row.id());
  EXPECT_EQ(text(kind<uop::Reindex>(spread).from), "0, i1");
  EXPECT_EQ(text((row + input("k", DType::f32, {"N", "1"})).shape()), "N, C");
}

TEST(Map, SpreadsValuesOfRankZero) {
  const Uop total = sum_over(kRows, {0, 1});
  const Uop y = kRows / total;
  EXPECT_EQ(text(y.shape()), "N, C");
  EXPECT_EQ(kind<uop::Map>(y).args[1].rank(), 2);
  const Uop z = kRows * param("alpha", DType::f32);
  EXPECT_EQ(kind<uop::Map>(z).args[1].rank(), 0);
}

TEST(Map, TakesNamesFromTheFirstThatHasOne) {
  const Uop unnamed = input("u", DType::f32, {"$p", "2*C"});
  const Uop named = input("v", DType::f32, {"a: $p", "b: 2*C"});
  EXPECT_EQ(names(unnamed + named), (Names{"a", "b"}));
}

TEST(Map, FoldsConstants) {
  const Uop half = scalar(1, DType::f32) / scalar(2, DType::f32);
  EXPECT_EQ(kind<uop::Scalar>(half).value.real(), 0.5);
  const Uop truth = scalar(3, DType::i32) < scalar(4, DType::i32);
  EXPECT_EQ(kind<uop::Scalar>(truth).value.integer(), 1);
  EXPECT_EQ(truth.dtype(), DType::boolean);
  EXPECT_EQ(kind<uop::Scalar>(cast(scalar(2.7, DType::f64), DType::i64)).value.integer(), 2);
}

TEST(Map, KeepsAnI32ConstantThatLeavesItsRange) {
  const Uop sum = scalar(2147483647, DType::i32) + scalar(1, DType::i32);
  EXPECT_EQ(describe(sum), "Map add");
}

TEST(Map, ErrorsNameTheUopTheAxisAndTheSizes) {
  const Uop a = input("a", DType::f32, {"N", "3"});
  const Uop b = input("b", DType::f32, {"N", "5"});
  EXPECT_EQ(error_of([&] { a + b; }),
            "Map add: axis 1: sizes 3 and 5 differ (f32[N, 3], f32[N, 5])");
  EXPECT_EQ(error_of([&] { a* sum_over(b, {1}); }),
            "Map mul: ranks 2 and 1 differ (f32[N, 3], f32[N])");
  EXPECT_EQ(error_of([&] { a + cast(b, DType::f64); }),
            "Map add: dtypes of the arguments differ: f32 and f64");
  EXPECT_EQ(error_of([&] { cast(a, DType::i32) * 2.5; }), "Map mul: 2.5 is not a value of i32");
  EXPECT_EQ(error_of([&] { map(MapOp::cast, Uops{a}); }), "Map cast: use cast(x, dtype)");
}

TEST(Cast, IsDroppedOnlyWhereItDoesNothing) {
  const Uop d = input("d", DType::f64, {"N"});
  EXPECT_EQ(cast(d, DType::f64).id(), d.id());
  EXPECT_EQ(describe(cast(kRows, DType::f32)), "Map cast");  // it rounds
}

TEST(Reduce, DropsAxesAndKeepsNames) {
  EXPECT_EQ(text(sum_over(kRows, {0}).shape()), "C");
  EXPECT_EQ(names(sum_over(kRows, {0})), (Names{"c"}));
  EXPECT_EQ(text(max(kRows, {1}).shape()), "N, 1");
  EXPECT_EQ(names(max(kRows, {1})), (Names{"n", "c"}));
  EXPECT_EQ(argmax_over(kRows, {1}).dtype(), DType::i64);
  EXPECT_EQ(kind<uop::Reduce>(sum_over(kRows, {1, 0})).axes, (std::vector<int>{0, 1}));
}

TEST(Reduce, RefusesBadAxesAndDtypes) {
  EXPECT_EQ(error_of([] { sum_over(kRows, {2}); }),
            "Reduce sum: axis 2 is out of range for f32[N, C]");
  EXPECT_EQ(error_of([] { sum_over(kRows, {1, 1}); }), "Reduce sum: axis 1 is given twice");
  EXPECT_EQ(error_of([] { sum_over(kRows, {}); }), "Reduce sum: no axes are given");
  EXPECT_EQ(error_of([] { reduce(ReduceOp::any, kRows, {0}); }),
            "Reduce any: the argument must be bool, got f32[N, C]");
  EXPECT_EQ(error_of([] { sum_over(kRows < 0.0, {0}); }),
            "Reduce sum: the argument must not be bool, got bool[N, C]");
  EXPECT_EQ(error_of([] { mean(iota("i0", {"N"}), {0}); }),
            "mean: the dtype must be f32 or f64, got i64[N]");
}

TEST(Reindex, OfItselfIsTheSameNode) {
  EXPECT_EQ(reindex(kRows, shape_of(kRows), {"i0", "i1"}).id(), kRows.id());
  EXPECT_NE(reindex(kRows, shape_of(kRows), {"i0", "i1 - 1"}).id(), kRows.id());
  EXPECT_NE(reindex(kRows, {"N", "C + 1"}, {"i0", "i1"}).id(), kRows.id());
}

TEST(Reindex, MergesWhereTheInnerIsReadInRange) {
  const Uop shifted = reindex(kRows, {"N", "C"}, {"i0", "i1 - 1"}, -1.0);
  const Uop y = broadcast(shifted, {"N", "K", "C"}, {0, 2});
  EXPECT_EQ(kind<uop::Reindex>(y).x.id(), kRows.id());
  EXPECT_EQ(text(kind<uop::Reindex>(y).from), "i0, i2 - 1");
  EXPECT_EQ(kind<uop::Reindex>(y).fill.real(), -1.0);
}

TEST(Reindex, DoesNotMergeWhereFillsWouldMix) {
  const Uop shifted = reindex(kRows, {"N", "C"}, {"i0", "i1 - 1"}, -1.0);
  const Uop back = reindex(shifted, {"N", "C"}, {"i0", "i1 + 1"}, -2.0);
  EXPECT_EQ(kind<uop::Reindex>(back).x.id(), shifted.id());
}

TEST(Reindex, RefusesBadIndices) {
  EXPECT_EQ(error_of([] { reindex(kRows, {"N"}, {"i0"}); }),
            "Reindex: f32[N, C] needs 2 indices, got 1");
  EXPECT_EQ(error_of([] {
              reindex(kRows, {"N"}, {"i0", "i1"});
            }),
            "Reindex: index i1 mentions i1, but the rank is 1");
  EXPECT_EQ(error_of([] { reindex(iota("i0", {"N"}), {"N"}, {"i0 - 1"}, -test::kInf); }),
            "Reindex: fill: -inf is not a value of i64");
  EXPECT_EQ(error_of([] {
              reindex(kRows, {"1|N"}, {"i0", "0"});
            }),
            "Reindex: axis 0: 1|N is for axes of inputs only");
}

TEST(Broadcast, RunsAxesAlongOthers) {
  const Uop v = input("v", DType::f32, {"C"});
  EXPECT_EQ(text(kind<uop::Reindex>(broadcast(v, {"N", "C"}, {1})).from), "i1");
  const Uop one = input("v", DType::f32, {"1"});
  EXPECT_EQ(text(kind<uop::Reindex>(broadcast(one, {"N", "C"}, {1})).from), "0");
  const Uop three = input("v", DType::f32, {"3"});
  EXPECT_EQ(error_of([&] {
              broadcast(three, {"N", "5"}, {1});
            }),
            "broadcast: axis 0 of f32[3] runs along axis 1 of [N, 5]: sizes 3 and 5 differ");
}

TEST(Squeeze, DropsAxesOfExtentOne) {
  EXPECT_EQ(describe(squeeze(max(kRows, {1}), {1})),
            "Reduce max");  // the axis is kept by the reduction, then dropped
  EXPECT_EQ(text(squeeze(max(kRows, {1}), {1}).shape()), "N");
  EXPECT_EQ(error_of([] { squeeze(input("x", DType::f32, {"4"}), {0}); }),
            "squeeze: axis 0 of f32[4] has size 4, expected 1");
}

TEST(Select, ChecksIndexAndSizes) {
  const Uop index = input("index", DType::i32, {"N", "K"});
  EXPECT_EQ(text(select(kRows, 1, index).shape()), "N, K");
  EXPECT_EQ(error_of([&] { select(kRows, 2, index); }),
            "Select: axis 2 is out of range for f32[N, C]");
  EXPECT_EQ(error_of([&] { select(kRows, 1, kRows); }),
            "Select: the index must be an integer, got f32[N, C]");
  EXPECT_EQ(error_of([&] { select(kRows, 0, input("j", DType::i64, {"K"})); }),
            "Select: ranks of f32[N, C] and of the index i64[K] differ");
  const Uop a = input("a", DType::f32, {"3", "C"});
  const Uop j = input("j", DType::i64, {"4", "C"});
  EXPECT_EQ(error_of([&] { select(a, 1, j); }),
            "Select: axis 0: sizes 3 and 4 differ (f32[3, C], index i64[4, C])");
}

TEST(Topological, PutsOperandsFirstAndEachOnce) {
  const Uop e = exp(kRows);
  const Uop y = e / sum(e, {1});
  const Uops order = topological(Uops{y});
  EXPECT_EQ(order.size(), 5U);
  EXPECT_EQ(order.front().id(), kRows.id());
  EXPECT_EQ(order[1].id(), e.id());
  EXPECT_EQ(order.back().id(), y.id());
}

TEST(Uop, TheLongestChainIsBuiltAndFreed) {
  Uop u = kRows;
  for (int k = 1; k < kMaxDepth; ++k) u = u + 1.0;
  EXPECT_EQ(topological(Uops{u}).size(), 2U * kMaxDepth - 1U);
}

}  // namespace
}  // namespace mote
