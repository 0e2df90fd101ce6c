// SPDX-License-Identifier: Apache-2.0
// Tests fusion: worked examples, and cases in which a careless fuser is wrong.
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

constexpr auto kCopyThenRead = R"(
op copy_then_read
input x f64[N]
t = x + 1
output u = t[%s over N]
)";

std::shared_ptr<const Program> copy_then_read(const std::string& index) {
  std::string text = kCopyThenRead;
  text.replace(text.find("%s"), 2, index);
  return program(text);
}

Stmt range(const std::string& name, const Expr& begin, const Expr& end, Body body,
           std::vector<Accumulator> accumulators = {}) {
  return {Loop{variable(name), begin, end, 1, std::move(accumulators), std::move(body)}};
}

ProgramSpec seed_spec() {
  const Uop x = input("x", DType::f64, {Axis(Expr(10)), Axis(Expr(5)), Axis(Expr(2))});
  const Uop part =
      reindex(x, {Axis(Expr(10)), Axis(Expr(3)), Axis(Expr(2))}, {"i0", "i1 + 2", "i2"});
  return {"seed", "", {}, {x}, {{"y", sum_over(part, {2})}, {"z", sum_over(part, {1})}}, {}, {}};
}

Value x_at(const std::string& i, const std::string& j, const std::string& k) {
  return at("x", {var(i), var(j), var(k)}, DType::f64);
}

TEST(Fuse, SeedPairThatMatchesOneToOneStaysApart) {
  // These are for i { for j { a = 0; for k a += x; y[i, j] = a } } and for i { for k { b over j;
  // z[i, k] = b } }: the three limits of each match one to one, but j and k stand on different
  // sides of a pivot.
  const LoopProgram p =
      loops_of(seed_spec(),
               {range("i", 0, 10,
                      {range("j", 2, 5,
                             {range("k", 0, 2, {fold("a", ReduceOp::sum, x_at("i", "j", "k"))},
                                    {{"a", ReduceOp::sum, DType::f64}}),
                              store("y", {var("i"), var("j") - 2}, sum_of("a"))})}),
                range("i2", 0, 10,
                      {range("k2", 0, 2,
                             {range("j2", 2, 5, {fold("b", ReduceOp::sum, x_at("i2", "j2", "k2"))},
                                    {{"b", ReduceOp::sum, DType::f64}}),
                              store("z", {var("i2"), var("k2")}, sum_of("b"))})})});
  expect_right(p);
  expect_unchanged(fuse, p);
}

TEST(Fuse, SeedPairWithSumsInMemoryMergesByReordering) {
  const auto zero = [](const std::string& t, const std::string& a, const Expr& na,
                       const std::string& b, const Expr& nb) {
    return range(a, 0, na,
                 {range(b, 0, nb, {store(t, {var(a), var(b)}, constant(0.0, DType::f64))})});
  };
  const LoopProgram p = loops_of(
      seed_spec(),
      {zero("y", "p", 10, "q", 3), zero("z", "p2", 10, "q2", 2),
       range("i", 0, 10,
             {range(
                 "j", 2, 5,
                 {range(
                     "k", 0, 2,
                     {{StoreReduce{
                         "y", {var("i"), var("j") - 2}, ScatterOp::add, x_at("i", "j", "k")}}})})}),
       range("i2", 0, 10,
             {range("k2", 0, 2,
                    {range("j2", 2, 5,
                           {{StoreReduce{"z",
                                         {var("i2"), var("k2")},
                                         ScatterOp::add,
                                         x_at("i2", "j2", "k2")}}})})})});
  expect_right(p);
  expect_golden_pass(fuse, p);
}

TEST(Fuse, SeedResetBlockMergesToTheRight) {
  // The nests are y = 2x; g = 0; h = y·w + g[1]. The first and the last match; the last needs the
  // middle, the middle does not need the first, so the first moves right over it.
  const Uop x = input("x", DType::f64, {"N"});
  const Uop w = input("w", DType::f64, {"N"});
  const Uop y = x * 2;
  const Uop g = cast(iota(0, {Axis(Expr(3))}), DType::f64);
  const Expr n = size("N");
  const auto real = [](double v) { return constant(v, DType::f64); };
  const auto element = [](const std::string& t, const Expr& i) { return at(t, {i}, DType::f64); };
  const LoopProgram p = loops_of(
      {"reset", "", {}, {x, w}, {{"y", y}, {"g", g}, {"h", y * w + 0.0}}, {}, {}},
      {loop("i", n, {store("y", {var("i")}, op(MapOp::mul, {element("x", var("i")), real(2.0)}))}),
       loop("m", 3, {store("g", {var("m")}, real(0.0))}),
       loop("k", n,
            {store("h", {var("k")},
                   op(MapOp::add, {op(MapOp::mul, {element("y", var("k")), element("w", var("k"))}),
                                   element("g", 1)}))})});
  expect_right(p);
  expect_golden_pass(fuse, p);
}

/// Expects two nests, since the reader runs ahead of the writer or in the opposite direction.
void expect_two_nests(const std::string& index) {
  const LoopProgram fused = run_checked(fuse, lower_per_uop(copy_then_read(index)));
  EXPECT_EQ(count(fused).nests, 2);
  expect_unchanged(fuse, fused);
}

TEST(Fuse, KeepsACopyThatIsReadAhead) { expect_two_nests("i0 + 1"); }

TEST(Fuse, KeepsACopyThatIsReadInReverse) { expect_two_nests("N - 1 - i0"); }

/// The fuser's own symbols must not clash with a program's: here a size of the user is called
/// _delta.
TEST(Fuse, KeepsACopyThatIsReadAheadByASizeWithAnyName) {
  const auto p = program(R"(
op ahead
input z f64[N, K]
input w f64[_delta]
t = sum[1](z)
output a = t
output u = t[i0 + _delta over N] + 1
output q = w
)");
  expect_right(compile(p));
}

/// The inner loops of f must not be interchanged to match those of e: its sum is around them, and
/// would add its terms in another order.
TEST(Fuse, KeepsTheOrderOfASumAroundTheLoops) {
  run_checked(fuse, lower(program(R"(
op sums
input x f64[3, 3]
v = sum[1](x[i0, 0 over 3, 3, 3])[i1, 0 over 3, 3, 3][0, i1, 0 over 3, 5, 3]
output e = sum[1](v)
output f = sum[0, 1, 2](v)
)")));
}

TEST(Fuse, MergesACopyThatIsReadBehind) {
  const LoopProgram after = run_checked(fuse, lower_per_uop(copy_then_read("i0 - 1")));
  EXPECT_EQ(count(after).nests, 1);
}

TEST(Fuse, KeepsAReductionOverAllAxesApartFromItsReader) {
  const auto p = program(R"(
op centre
input x f64[M, N]
t = x * x
s = sum[0, 1](t)
output y = t - s
)");
  const LoopProgram after = run_checked(fuse, lower_per_uop(p));
  expect_right(compile(p));
  EXPECT_GE(count(after).nests, 2);
}

TEST(Fuse, MatmulWithTwoNamesForOneExtentIsOneNest) {
  const auto p = program(R"(
op product
input a f64 rank 2
input b f64 rank 2
output y = sum[2](a[i0, i2 over da0, db1, da1[=db0]] * b[i2, i1 over da0, db1, db0])
)");
  const LoopProgram per_uop = lower_per_uop(p);
  EXPECT_GT(count(per_uop).nests, 1);
  const LoopProgram final = compile(p);
  EXPECT_EQ(count(final).nests, 1);
  EXPECT_EQ(count(final).temporaries, 0);
  expect_right(final);
}

/// The program has forty nests, each of which reads all previous ones.
TEST(Fuse, AChainOfRowReductionsIsOneRowLoop) {
  std::string text = "op chain\ninput x f64[R, N]\na0_ = x\n";
  for (int k = 0; k < 40; ++k) {
    const std::string from = "a" + std::to_string(k) + "_";
    text += "a" + std::to_string(k + 1) + "_ = " + from + " - max[1 keep](" + from + ")\n";
  }
  const LoopProgram after = run_checked(fuse, lower(program(text + "output y = a40_\n")));
  EXPECT_EQ(count(after).nests, 1);
}

TEST(Fuse, RotatesAPermutedReader) {
  const auto p = program(R"(
op transposed
input x f64[M, N]
t = exp(x)
output z = t[i1, i0 over N, M]
)");
  expect_golden_pass(fuse, eliminate_dead_code(lower_per_uop(p)));
}

TEST(Fuse, Golden) {
  const auto p = program(R"(
op softmax
input x f64[R, N]
e = exp(x - max[1 keep](x))
output y = e / sum[1 keep](e)
)");
  expect_golden_pass(fuse, lower(p));
}

}  // namespace
}  // namespace mote
