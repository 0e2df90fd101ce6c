// SPDX-License-Identifier: Apache-2.0
// Tests coalesce: temporaries that may and must not share storage; and the form of attention, which
// needs demand and coalesce to keep one row of scores.
#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

Value value_at(const std::string& tensor, std::vector<Expr> index) {
  return at(tensor, std::move(index), DType::f64);
}
Value twice(Value v) { return op(MapOp::mul, {std::move(v), constant(2.0, DType::f64)}); }
Value exp_of(Value v) { return op(MapOp::exp, {std::move(v)}); }
Stmt each(const std::string& v, const std::string& tensor, Value stored) {
  return loop(v, size("N"), {store(tensor, {var(v)}, std::move(stored))});
}
/// acc = sum of tensor[v]
Stmt sum_up(const std::string& acc, const std::string& v, const std::string& tensor) {
  return loop(v, size("N"), {fold(acc, ReduceOp::sum, value_at(tensor, {var(v)}))},
              {{acc, ReduceOp::sum, DType::f64}});
}
TensorDecl row(const std::string& name, DType dtype = DType::f64) {
  return temporary(name, {size("N")}, dtype);
}

/// for r: the body; x f64[R, N], y f64[R]
LoopProgram by_row(Body body, std::vector<TensorDecl> temporaries) {
  const Uop x = input("x", DType::f64, {"R", "N"});
  return loops_of({"by_row", "", {}, {x}, {{"y", sum_over(x, {1})}}, {}, {}},
                  {loop("r", size("R"), std::move(body))}, std::move(temporaries));
}
Value x_at(const std::string& v) { return value_at("x", {var("r"), var(v)}); }
Stmt y_is(const std::string& acc) {
  return store("y", {var("r")}, accumulated_value(acc, DType::f64));
}

TEST(Coalesce, Golden) {
  expect_golden_pass(
      coalesce,
      by_row({each("i", "a", twice(x_at("i"))), sum_up("s", "j", "a"),
              each("k", "b",
                   op(MapOp::div, {value_at("a", {var("k")}), accumulated_value("s", DType::f64)})),
              sum_up("q", "l", "b"), y_is("q")},
             {row("a"), row("b")}));
}

TEST(Coalesce, AChainOfThreeIsOneBuffer) {
  const LoopProgram p = run_checked(
      coalesce, by_row({each("i", "a", twice(x_at("i"))), sum_up("s", "i2", "a"),
                        each("j", "b", exp_of(value_at("a", {var("j")}))), sum_up("s2", "j2", "b"),
                        each("k", "c", twice(value_at("b", {var("k")}))), sum_up("s3", "k2", "c"),
                        y_is("s3")},
                       {row("a"), row("b"), row("c")}));
  EXPECT_EQ(count(p).temporaries, 1) << to_string(p);
}

// Without an outer loop there is only one iteration, and no contents to prove anything about.
TEST(Coalesce, AScatteredSumMoves) {
  const Uop x = input("x", DType::f64, {"N"});
  const Uop to = input("to", DType::i64, {"N"});
  const Expr location = load("to", {var("j")}) % size("N");
  const LoopProgram p = run_checked(
      coalesce,
      loops_of({"scattered", "", {}, {x, to}, {{"y", sum_over(x, {0})}}, {}, {}},
               {each("i", "a", constant(0.0, DType::f64)),
                loop("j", size("N"),
                     {{StoreReduce{"a", {location}, ScatterOp::add, value_at("x", {var("j")})}}}),
                each("k", "b", exp_of(value_at("a", {var("k")}))), sum_up("s", "l", "b"),
                store("y", {}, accumulated_value("s", DType::f64))},
               {row("a"), row("b")}));
  EXPECT_EQ(count(p).temporaries, 1) << to_string(p);
}

TEST(Coalesce, KeepsATemporaryThatIsReadLater) {
  expect_unchanged(coalesce, by_row({each("i", "a", twice(x_at("i"))),
                                     each("j", "b", exp_of(value_at("a", {var("j")}))),
                                     sum_up("s", "k", "b"), sum_up("q", "l", "a"),
                                     store("y", {var("r")},
                                           op(MapOp::add, {accumulated_value("s", DType::f64),
                                                           accumulated_value("q", DType::f64)}))},
                                    {row("a"), row("b")}));
}

TEST(Coalesce, KeepsATemporaryThatIsReadAtAnotherElement) {
  expect_unchanged(coalesce,
                   by_row({each("i", "a", twice(x_at("i"))),
                           each("j", "b", exp_of(value_at("a", {size("N") - 1 - var("j")}))),
                           sum_up("s", "k", "b"), y_is("s")},
                          {row("a"), row("b")}));
}

TEST(Coalesce, KeepsATemporaryThatIsReadAfterTheStoreOfItsElement) {
  expect_unchanged(coalesce,
                   by_row({each("i", "a", twice(x_at("i"))),
                           loop("j", size("N"),
                                {store("b", {var("j")}, exp_of(value_at("a", {var("j")}))),
                                 fold("f", ReduceOp::sum, value_at("a", {var("j")}))},
                                {{"f", ReduceOp::sum, DType::f64}}),
                           sum_up("s", "k", "b"),
                           store("y", {var("r")},
                                 op(MapOp::add, {accumulated_value("s", DType::f64),
                                                 accumulated_value("f", DType::f64)}))},
                          {row("a"), row("b")}));
}

TEST(Coalesce, KeepsDifferentDtypes) {
  const Value narrow = op_value(MapOp::cast, {value_at("a", {var("j")})}, DType::f64, DType::f32);
  const Value wide = op_value(MapOp::cast, {at("b", {var("k")})}, DType::f32, DType::f64);
  expect_unchanged(coalesce, by_row({each("i", "a", twice(x_at("i"))), sum_up("s", "i2", "a"),
                                     each("j", "b", narrow),
                                     loop("k", size("N"), {fold("q", ReduceOp::sum, wide)},
                                          {{"q", ReduceOp::sum, DType::f64}}),
                                     y_is("q")},
                                    {row("a"), row("b", DType::f32)}));
}

// A random program found this: if a and b shared memory, the second iteration of r would read
// elements of a that the first has overwritten.
TEST(Coalesce, KeepsATemporaryReadInALoopThatDoesNotRewriteIt) {
  const Uop x = input("x", DType::f64, {"R", "N"});
  const Uop w = input("w", DType::f64, {"N"});
  expect_unchanged(
      coalesce,
      loops_of({"weighted", "", {}, {x, w}, {{"y", sum_over(x, {1})}}, {}, {}},
               {each("i", "a", twice(value_at("w", {var("i")}))),
                loop("r", size("R"),
                     {each("j", "b", op(MapOp::mul, {value_at("a", {var("j")}), x_at("j")})),
                      sum_up("s", "k", "b"), y_is("s")})},
               {row("a"), row("b")}));
}

// b keeps its values of the first iteration; a's values of later iterations would overwrite them.
TEST(Coalesce, KeepsAHostThatLaterRoundsRead) {
  expect_unchanged(
      coalesce, by_row({each("i", "a", twice(x_at("i"))), sum_up("s", "j", "a"),
                        when({zero(var("r"))}, {each("k", "b", exp_of(value_at("a", {var("k")})))}),
                        sum_up("q", "l", "b"),
                        store("y", {var("r")},
                              op(MapOp::add, {accumulated_value("s", DType::f64),
                                              accumulated_value("q", DType::f64)}))},
                       {row("a"), row("b")}));
}

TEST(Coalesce, KeepsATemporaryThatIsAnIndex) {
  const Value turned = index_value(size("N") - 1 - var("i"));
  const Value taken = value_at("x", {var("r"), load("a", {var("k")})});
  expect_unchanged(coalesce,
                   by_row({each("i", "a", turned),
                           loop("k", size("N"), {fold("s", ReduceOp::sum, taken)},
                                {{"s", ReduceOp::sum, DType::f64}}),
                           each("j", "b", at("a", {var("j")}, DType::i64)),
                           loop("l", size("N"),
                                {fold("q", ReduceOp::sum,
                                      op_value(MapOp::cast, {at("b", {var("l")}, DType::i64)},
                                               DType::i64, DType::f64))},
                                {{"q", ReduceOp::sum, DType::f64}}),
                           store("y", {var("r")},
                                 op(MapOp::add, {accumulated_value("s", DType::f64),
                                                 accumulated_value("q", DType::f64)}))},
                          {row("a", DType::i64), row("b", DType::i64)}));
}

/// y[r, n] = a[n] / sum a, a[n] = exp(x[r] * w[n]): x has one element a row, y a row of them.
LoopProgram outer_softmax(DType dtype, const std::vector<Uop>& more_inputs = {}) {
  const Uop x = input("x", dtype, {"R"});
  const Uop w = input("w", dtype, {"N"});
  const Shape shape = {"R", "N"};
  std::vector<Uop> inputs = {x, w};
  inputs.insert(inputs.end(), more_inputs.begin(), more_inputs.end());
  const Value product = op(MapOp::mul, {at("x", {var("r")}, dtype), at("w", {var("i")}, dtype)});
  const Value a = at("a", {var("k")}, dtype);
  return loops_of(
      {"outer",
       "",
       {},
       inputs,
       {{"y", broadcast(x, shape, {0}) * broadcast(w, shape, {1})}},
       {},
       {}},
      {loop("r", size("R"),
            {loop("i", size("N"), {store("a", {var("i")}, exp_of(product))}),
             loop("j", size("N"), {fold("s", ReduceOp::sum, at("a", {var("j")}, dtype))},
                  {{"s", ReduceOp::sum, dtype}}),
             loop("k", size("N"),
                  {store("y", {var("r"), var("k")},
                         op(MapOp::div, {a, accumulated_value("s", dtype)}))})})},
      {temporary("a", {size("N")}, dtype)});
}

TEST(Coalesce, ARowLivesInAnOutputOfDoubles) {
  expect_golden_pass(coalesce, outer_softmax(DType::f64));
}

TEST(Coalesce, KeepsAnF32Output) { expect_unchanged(coalesce, outer_softmax(DType::f32)); }

TEST(Coalesce, KeepsAnOutputThatMayShareMemoryWithAnInput) {
  expect_unchanged(coalesce, outer_softmax(DType::f64, {input("z", DType::f64, {"R", "N"})}));
}

// In an output each iteration has its own elements, which do not hold the values of the first
// iteration.
TEST(Coalesce, KeepsARowThatIsCarriedFromRoundToRound) {
  const Uop x = input("x", DType::f64, {"R"});
  const Uop w = input("w", DType::f64, {"N"});
  const Shape shape = {"R", "N"};
  expect_unchanged(
      coalesce,
      loops_of({"carried",
                "",
                {},
                {x, w},
                {{"y", broadcast(x, shape, {0}) * broadcast(w, shape, {1})}},
                {},
                {}},
               {loop("r", size("R"),
                     {when({zero(var("r"))},
                           {loop("i", size("N"),
                                 {store("a", {var("i")}, twice(value_at("w", {var("i")})))})}),
                      loop("k", size("N"),
                           {store("y", {var("r"), var("k")},
                                  op(MapOp::mul,
                                     {value_at("a", {var("k")}), value_at("x", {var("r")})}))})})},
               {row("a")}));
}

// The sum reads values that the second of two stores wrote in the previous iteration.
TEST(Coalesce, KeepsARowThatIsReadBeforeItIsStoredAnew) {
  const Uop x = input("x", DType::f64, {"R"});
  const Uop w = input("w", DType::f64, {"N"});
  const Shape shape = {"R", "N"};
  const Value next =
      op(MapOp::add, {accumulated_value("s", DType::f64), value_at("x", {var("r")})});
  expect_unchanged(
      coalesce,
      loops_of({"feedback",
                "",
                {},
                {x, w},
                {{"y", broadcast(x, shape, {0}) * broadcast(w, shape, {1})}},
                {},
                {}},
               {loop("r", size("R"),
                     {when({zero(var("r"))}, {each("i", "a", value_at("w", {var("i")}))}),
                      sum_up("s", "j", "a"), each("i2", "a", next),
                      loop("k", size("N"),
                           {store("y", {var("r"), var("k")}, twice(value_at("a", {var("k")})))})})},
               {row("a")}));
}

// a is computed in every iteration of r, but y has one row less: in the last iteration it has no
// room for a.
TEST(Coalesce, KeepsARowThatTheHostHasNoRoomFor) {
  const Uop x = input("x", DType::f64, {"R", "N"});
  const Uop y = reindex(x, {Axis(Expr::size("R") - 1), Axis(Expr::size("N"))}, {"i0", "i1"}) * 2;
  expect_unchanged(
      coalesce,
      loops_of(
          {"all_but_one", "", {}, {x}, {{"y", y}, {"z", sum_over(x, {1})}}, {}, {}},
          {loop("r", size("R"),
                {each("i", "a", twice(x_at("i"))), sum_up("s", "j", "a"),
                 store("z", {var("r")}, accumulated_value("s", DType::f64)),
                 when({nonneg(size("R") - 2 - var("r"))},
                      {loop("k", size("N"),
                            {store("y", {var("r"), var("k")}, value_at("a", {var("k")}))})})})},
          {row("a")}));
}

/// The scores are masked by -inf, their exponentials by 0, and masked terms are not summed (the
/// mask of the last product says that such a term does not exist: 0 * v is NaN for infinite v).
std::shared_ptr<const Program> attention(bool causal) {
  std::string text = R"(
op attention
input q f32[B, H, T, D]
input k f32[B, H, Z, D]
input v f32[B, H, Z, E]
s = 0.5 * sum[4](q[i0, i1, i2, i4 over B, H, T, Z, d: D] * k[i0, i1, i3, i4 over B, H, T, Z, d: D])
)";
  text += causal ? R"(
seen = iota(i3 over B, H, T, Z) <= iota(i2 over B, H, T, Z)
m = where(seen, s, -inf)
e = where(seen, exp(m - max[3 keep](m)), 0)
)"
                 : "e = exp(s - max[3 keep](s))\n";
  text += R"(
p = e / sum[3 keep](e)
pv = p[i0, i1, i2, i4 over B, H, T, E, Z] * v[i0, i1, i4, i3 over B, H, T, E, Z]
)";
  text += causal ? R"(
used = iota(i4 over B, H, T, E, Z) <= iota(i2 over B, H, T, E, Z)
output y = sum[4](where(used, pv, 0))
)"
                 : "output y = sum[4](pv)\n";
  return program(text);
}

/// Expects one nest and one temporary, which is a row of scores.
LoopProgram expect_one_row(const std::shared_ptr<const Program>& source) {
  LoopProgram p = compile(source, [](const char*, const LoopProgram& stage) { verify(stage); });
  EXPECT_EQ(count(p).nests, 1) << to_string(p);
  EXPECT_EQ(count(p).temporaries, 1) << to_string(p);
  EXPECT_EQ(p.tensors.back().shape, std::vector<Expr>{size("Z")});
  EXPECT_EQ(count(p).conditions, 0) << to_string(p);
  expect_right(p);
  return p;
}

TEST(Attention, KeepsOneRowOfScores) { expect_golden(to_string(expect_one_row(attention(false)))); }

TEST(Attention, CausalLoopsEndAtTheDiagonal) {
  expect_golden(to_string(expect_one_row(attention(true))));
}

}  // namespace
}  // namespace mote
