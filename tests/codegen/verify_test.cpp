// SPDX-License-Identifier: Apache-2.0
// Tests that each broken invariant of a loop program is an InternalError that names the loop or
// statement.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "loop_variables.h"
#include "mote/base/error.h"

namespace mote {
namespace {

using namespace test;

/// Returns "" if verify accepts the program, else the message after the common beginning.
std::string complaint(const LoopProgram& p) {
  try {
    verify(p);
  } catch (const InternalError& e) {
    const std::string text = e.what();
    return text.substr(text.find("): ") + 3);
  }
  return "";
}
std::string complaint(Body body, std::vector<TensorDecl> temporaries = {}) {
  return complaint(loops_of(copy_spec("inc"), std::move(body), std::move(temporaries)));
}

Value next() { return op(MapOp::add, {at("x", {n}), real(1)}); }
Stmt store_all() { return loop("n", end, {store("y", {n}, next())}); }

TEST(Verify, AcceptsWellFormedPrograms) {
  EXPECT_EQ(complaint({store_all()}), "");
  EXPECT_EQ(complaint(softmax_rows()), "");
  EXPECT_EQ(complaint(matmul_loops()), "");
}

TEST(Verify, NamesTheStatementWithAVariableOutsideItsLoop) {
  EXPECT_EQ(complaint({store_all(), store("y", {n}, real(0))}),
            "inc: `y[n] = 0`: variable n is used outside its loop");
  EXPECT_EQ(complaint({loop("n", var("m"), {store("y", {n}, next())})}),
            "inc: `for n in 0..m {`: variable m is used outside its loop");
}

TEST(Verify, NamesTheLoopWhoseVariableIsBoundTwice) {
  EXPECT_EQ(complaint({store_all(), store_all()}),
            "inc: `for n in 0..N {`: variable n is bound twice");
  EXPECT_EQ(complaint({loop("x", end, {store("y", {var("x")}, real(0))})}),
            "inc: `for x in 0..N {`: x is the name of a tensor");
}

TEST(Verify, RejectsOrdersOfNoInput) {
  const auto ordered = [](std::vector<Expr> shape, const AxesOfInput& axes) {
    TensorDecl t = temporary("t", std::move(shape));
    t.ordered_like = axes;
    LoopProgram p = matmul_loops();
    p.tensors.push_back(std::move(t));
    return complaint(p);
  };
  EXPECT_EQ(ordered({2, 3}, {"a", 0, 1}), "");
  EXPECT_EQ(ordered({3}, {"a", 0, 1}),
            "matmul: t has no two axes that may be ordered like another tensor's");
  for (const auto& [tensor, first, last] :
       {std::tuple("c", 0, 1), std::tuple("z", 0, 1), std::tuple("a", 1, 1), std::tuple("a", 0, 2),
        std::tuple("a", -1, 1)})
    EXPECT_EQ(ordered({2, 3}, {tensor, first, last}),
              "matmul: t is ordered like axes " + std::to_string(first) + " and " +
                  std::to_string(last) + " of " + tensor + ", which no input has");
}

TEST(Verify, RejectsUnknownTensorsRanksAndDtypes) {
  const std::string where = "inc: `y[n] = z[n]` in loops n: ";
  EXPECT_EQ(complaint({loop("n", end, {store("y", {n}, at("z", {n}))})}),
            where + "unknown tensor z");
  EXPECT_EQ(complaint({loop("n", end, {store("z", {n}, real(0))})}),
            "inc: `z[n] = 0` in loops n: unknown tensor z");
  EXPECT_EQ(complaint({loop("n", end, {store("y", {n, n}, real(0))})}),
            "inc: `y[n, n] = 0` in loops n: y has rank 1, its index has 2");
  EXPECT_EQ(complaint({loop("n", end, {store("y", {n}, at("x", {}))})}),
            "inc: `y[n] = x[]` in loops n: x has rank 1, its index has 0");
  EXPECT_EQ(complaint({loop("n", end, {store("y", {n}, index_value(n))})}),
            "inc: `y[n] = n` in loops n: y is f32, the value is i64");
  EXPECT_EQ(complaint({loop("n", end, {store("y", {n}, at("x", {n}, DType::f64))})}),
            "inc: `y[n] = x[n]` in loops n: x is f32, read as f64");
  EXPECT_EQ(complaint({loop("n", end, {store("y", {load("x", {n})}, real(0))})}),
            "inc: `y[x[n]] = 0` in loops n: x is f32, read as an index");
  EXPECT_NE(complaint({loop(
                "n", end,
                {store("y", {n},
                       op_value(MapOp::add, {real(1), index_value(n)}, DType::f32, DType::f32))})}),
            "");
}

TEST(Verify, RejectsSymbolsThatTheSourceDoesNotHave) {
  EXPECT_EQ(complaint({loop("n", size("Q"), {store("y", {n}, next())})}),
            "inc: `for n in 0..Q {`: Q is not a size or integer parameter of the source");
  EXPECT_EQ(complaint({loop("n", end, {store("y", {n}, param_value("eps", DType::f32))})}),
            "inc: `y[n] = $eps` in loops n: unknown parameter $eps");
}

TEST(Verify, KeepsAccumulatorsInTheirScopes) {
  const std::vector<Accumulator> sum = {{"s", ReduceOp::sum, DType::f32}};
  const Stmt add = fold("s", ReduceOp::sum, at("x", {n}));
  EXPECT_EQ(complaint({loop("n", end, {add, store("y", {n}, accumulated("s"))}, sum)}),
            "inc: `y[n] = s` in loops n: accumulator s is read before its loop has ended");
  EXPECT_EQ(complaint({loop("n", end, {add}, sum), fold("s", ReduceOp::sum, real(1))}),
            "inc: `s += 1`: accumulator s is folded outside its loop");
  EXPECT_EQ(complaint({loop("n", end, {fold("s", ReduceOp::max, at("x", {n}))}, sum)}),
            "inc: `s max= x[n]` in loops n: accumulator s is a sum, folded by max");
  EXPECT_EQ(complaint({loop("m", end, {loop("n", end, {add}, sum)}),
                       loop("k", end, {store("y", {var("k")}, accumulated("s"))})}),
            "inc: `y[k] = s` in loops k: accumulator s is read outside the body of its loop");
  EXPECT_EQ(complaint({loop("n", end, {add}, sum), loop("m", end, {}, sum)}),
            "inc: `for m in 0..N with s = sum {`: s is bound twice");
}

TEST(Verify, LetsAccumulatorsButNothingElseOutOfABranch) {
  const Body inner = {let("a", real(1)),
                      loop("k", end, {fold("s", ReduceOp::sum, at("x", {var("k")}))},
                           {{"s", ReduceOp::sum, DType::f32}})};
  const auto after = [&](const Value& v) {
    return complaint({loop("n", end, {when({nonneg(n - 1)}, inner), store("y", {n}, v)})});
  };
  EXPECT_EQ(after(accumulated("s")), "");
  EXPECT_EQ(after(named_value("a", DType::f32)),
            "inc: `y[n] = a` in loops n: a is used out of its scope");
}

TEST(Verify, KeepsLetsInTheirScopes) {
  const Value a = named_value("a", DType::f32);
  EXPECT_EQ(complaint({loop("n", end, {store("y", {n}, a), let("a", real(1))})}),
            "inc: `y[n] = a` in loops n: a is used out of its scope");
  EXPECT_EQ(complaint({loop("m", end, {let("a", real(1))}), loop("n", end, {store("y", {n}, a)})}),
            "inc: `y[n] = a` in loops n: a is used out of its scope");
  EXPECT_EQ(complaint({let("a", real(1)), loop("n", end, {store("y", {n}, a)})}), "");
  EXPECT_EQ(complaint({let("a", real(1)), loop("n", end, {store("y", {load("a", {})}, a)})}),
            "inc: `y[a[]] = a` in loops n: a is f32, read as an index");
  EXPECT_EQ(complaint({let("a", index_value(0)),
                       loop("n", end, {store("y", {n + load("a", {})}, real(0))})}),
            "");
  EXPECT_EQ(complaint({let("a", real(1)), let("a", real(2)), store_all()}),
            "inc: `a = 2`: a is bound twice");
}

TEST(Verify, ProtectsInputsAndAsksForOutputs) {
  EXPECT_EQ(complaint({loop("n", end, {store("x", {n}, real(0))}), store_all()}),
            "inc: `x[n] = 0` in loops n: input x is written");
  EXPECT_EQ(complaint({loop("n", end, {store("t", {n}, next())})}, {temporary("t", {end})}),
            "inc: output y is never stored");
}

TEST(Verify, NamesAReadBeforeAnyStore) {
  const std::vector<TensorDecl> t = {temporary("t", {end})};
  EXPECT_EQ(complaint({loop("n", end, {store("y", {n}, at("t", {n}))})}, t),
            "inc: `y[n] = t[n]` in loops n: t is read before any store");
  EXPECT_EQ(complaint({loop("n", end, {{StoreReduce{"y", {n}, ScatterOp::add, next()}}})}),
            "inc: `y[n] += x[n] + 1` in loops n: y is read before any store");
  EXPECT_EQ(complaint({when({nonneg(load("t", {0}))}, {}), store_all()},
                      {temporary("t", {end}, DType::i64)}),
            "inc: `if t[0] >= 0 {`: t is read before any store");
}

TEST(Verify, ChecksStepsAndTheInterface) {
  LoopProgram p = loops_of(copy_spec("inc"), {store_all()});
  std::get<Loop>(p.body.front().kind).step = 0;
  EXPECT_EQ(complaint(p), "inc: `for n in 0..N step 0 {`: the step is not positive");
  LoopProgram q = loops_of(copy_spec("inc"), {store_all()});
  q.tensors[0].dtype = DType::f64;
  EXPECT_EQ(complaint(q), "inc: inputs are x f64, the source's are x f32");
  q.source = nullptr;
  EXPECT_EQ(complaint(q), "inc: the program has no source");
}

}  // namespace
}  // namespace mote
