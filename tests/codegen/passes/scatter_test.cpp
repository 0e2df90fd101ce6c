// SPDX-License-Identifier: Apache-2.0
// Tests scatters: their lowering, the forms that they reach, and loops that each pass must leave
// unchanged because iterations that write one element keep their order.
#include "mote/codegen/emit_c.h"
#include "mote/codegen/walk.h"
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

LoopProgram compiled_text(const std::string& text) {
  const LoopProgram p =
      compile(program(text), [](const char*, const LoopProgram& stage) { verify(stage); });
  expect_right(p);
  return p;
}

/// Compares the loops as lowered, as compiled, and the C with the golden file.
void expect_forms(const std::string& text) {
  const LoopProgram p = compiled_text(text);
  expect_golden("lowered\n" + to_string(lower(program(text))) + "\ncompiled\n" + to_string(p) +
                "\n" + emit_c(p, {}));
}

TEST(Scatter, IndexAdd) {
  expect_forms(R"(
op index_add "y = base; y[index[n], d] += x[n, d]"
input base f32[V, D]
input x f32[N, D]
input index i64[N]
output y = select_scatter[0, add](base, x, index[i0 over N, D])
)");
}

/// The windows overlap: this is the adjoint of a strided window, by scattering.
TEST(Scatter, AffineWindows) {
  expect_forms(R"(
op col2im "y[o*stride + k - pad] += x[o, k]"
param stride int = 1 in 1..8
param pad int = 0 in 0..8
input x f32[O, K]
input base f32[H]
output y = scatter[add](base, x to i0*$stride + i1 - $pad)
)");
}

TEST(Scatter, ADoubleOutputHoldsTheSums) {
  const LoopProgram p = compiled_text(R"(
op histogram
input x i64[N]
input bins f64[B]
output y = select_scatter[0, add](f64(0)[over 7], f64(1)[over N], x)
output z = bins
)");
  EXPECT_EQ(count(p).temporaries, 0) << to_string(p);
  EXPECT_EQ(count(p).scatters, 1);
}

TEST(Scatter, ANarrowOutputIsRoundedOnce) {
  const LoopProgram p = compiled_text(R"(
op narrow
input x f32[N]
input at i64[N]
output y = select_scatter[0, add](f32(0)[over 3], x, at)
)");
  EXPECT_EQ(count(p).temporaries, 1) << to_string(p);
}

TEST(Scatter, EveryOpWithDuplicatesAndOutOfRange) {
  for (const char* op : {"add", "mul", "max", "min", "set"}) {
    SCOPED_TRACE(op);
    compiled_text(std::string(R"(
op joined
input base f64[V]
input x f64[N, M]
input at i64[N, M]
output y = select_scatter[0, )") +
                  op + "](base[i0 over V, M], x, at)\noutput z = scatter[" + op +
                  "](base, x to i0 + i1 - 1)\n");
    compiled_text(std::string("op whole\ninput base i32[V]\ninput x i32[N]\noutput y = scatter[") +
                  op + "](base, x to i0/2)\n");
  }
}

TEST(Scatter, OfASum) {
  const LoopProgram p = compiled_text(R"(
op rows
input base f64[V]
input x f64[N, D]
input at i64[N]
output y = select_scatter[0, add](base, sum[1](x * x), at)
)");
  EXPECT_EQ(count(p).scatters, 1);
  EXPECT_EQ(count(p).nests, 3) << to_string(p);
}

/// A value that is scattered twice gets a name, under the range's condition too.
TEST(Scatter, SharedValuesAreBound) {
  const LoopProgram p = compiled_text(R"(
op shared
input base f64[V]
input x f64[N]
e = exp(x[i0 - 1 over N]) + 1
output y = scatter[add](base, e * e + e to i0 - 1)
)");
  EXPECT_EQ(to_string(p).find("exp"), to_string(p).rfind("exp")) << to_string(p);
}

/// Each element of t is complete before any is read: its readers stay after the scatter.
TEST(Scatter, KeepsReadersApart) {
  const LoopProgram before = lower(program(R"(
op after
input base f64[N]
input x f64[N]
input at i64[N]
t = select_scatter[0, add](base, x, at)
output y = t * 2
)"));
  const LoopProgram after = run_checked(fuse, before);
  EXPECT_EQ(count(after).nests, 3) << to_string(after);
}

/// In for i { for j { y[(i + j)/2] = … } } both loops reach one element, and the order of the sum
/// counts.
TEST(Scatter, KeepsTheOrderOfLoopsThatMeet) {
  for (const ScatterOp op : {ScatterOp::add, ScatterOp::set}) {
    const Uop x = input("x", DType::f64, {"M", "N"});
    const Uop u = reindex(x, {Axis("N"), Axis("M")}, {"i1", "i0"});
    const Value v = at("x", {var("i"), var("j")}, DType::f64);
    const LoopProgram p = loops_of(
        {"meeting",
         "",
         {},
         {x},
         {{"u", u}, {"y", scatter(op, x, x, {"i0", "(i0 + i1)/2"})}},
         {},
         {}},
        {loop(
             "k", size("N"),
             {loop("l", size("M"),
                   {store("u", {var("k"), var("l")}, at("x", {var("l"), var("k")}, DType::f64))})}),
         loop(
             "p", size("M"),
             {loop("q", size("N"),
                   {store("t", {var("p"), var("q")}, at("x", {var("p"), var("q")}, DType::f64))})}),
         loop("i", size("M"),
              {loop("j", size("N"),
                    {when({nonneg(size("N") - 1 - (var("i") + var("j")) / 2)},
                          {{StoreReduce{"t", {var("i"), (var("i") + var("j")) / 2}, op, v}}})})}),
         loop("m", size("M"),
              {loop(
                  "n", size("N"),
                  {store("y", {var("m"), var("n")}, at("t", {var("m"), var("n")}, DType::f64))})})},
        {temporary("t", {size("M"), size("N")}, DType::f64)});
    expect_right(p);
    run_checked(fuse, p);
  }
}

TEST(Scatter, KeepsLoopsWhoseRoundsMeetInOrder) {
  // s[i + j] += x[i, j] is next to a nest over (j, i): interchanging the loops would change the
  // sums.
  const Uop x = input("x", DType::f64, {"M", "N"});
  const Uop u = reindex(x, {Axis("N"), Axis("M")}, {"i1", "i0"});
  const Uop z = reindex(scalar(0.0, DType::f64), {Axis(Expr::size("M") + Expr::size("N"))}, {});
  const Value v = at("x", {var("i"), var("j")}, DType::f64);
  const LoopProgram p = loops_of(
      {"diagonals",
       "",
       {},
       {x},
       {{"u", u}, {"y", scatter(ScatterOp::add, z, x, {"i0 + i1"})}},
       {},
       {}},
      {loop("p", size("M") + size("N"), {store("y", {var("p")}, constant(0.0, DType::f64))}),
       loop("k", size("N"),
            {loop("l", size("M"),
                  {store("u", {var("k"), var("l")}, at("x", {var("l"), var("k")}, DType::f64))})}),
       loop("i", size("M"),
            {loop("j", size("N"),
                  {{StoreReduce{"y", {var("i") + var("j")}, ScatterOp::add, v}}})})});
  expect_right(p);
  expect_unchanged(fuse, p);
}

TEST(Scatter, AnIndexOfOneByteNeedsNoLowerCheck) {
  const LoopProgram p = compiled_text(R"(
op bytes
input at u8[N]
output y = select_scatter[0, add](f64(0)[over 300], f64(1)[over N], at)
)");
  EXPECT_EQ(count(p).conditions, 0) << to_string(p);
}

}  // namespace
}  // namespace mote
