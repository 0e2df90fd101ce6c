// SPDX-License-Identifier: Apache-2.0
// Tests the interpreter on handmade loop programs: its results equal those of evaluate, and it
// reports broken programs by name.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "loop_variables.h"
#include "mote/base/error.h"

namespace mote {
namespace {

using namespace test;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Array array(std::vector<std::int64_t> shape, const std::vector<double>& values) {
  return {DType::f32, std::move(shape), {values.begin(), values.end()}};
}
Array integers(std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values,
               DType dtype = DType::i64) {
  return {dtype, std::move(shape), {values.begin(), values.end()}};
}
std::vector<Array> run(const LoopProgram& p, const std::vector<Array>& inputs,
                       const std::map<std::string, Number>& params = {}) {
  return interpret(p, inputs, params);
}
std::string failure(const LoopProgram& p, const std::vector<Array>& inputs) {
  try {
    interpret(p, inputs, {});
  } catch (const InternalError& e) {
    const std::string text = e.what();
    return text.substr(text.find("): ") + 3);
  }
  return "";
}

LoopProgram argmax_loops(ReduceOp op) {
  const Uop x = input("x", DType::f32, {"N"});
  const Uop best = op == ReduceOp::argmax ? argmax_over(x, {0}) : argmin_over(x, {0});
  return loops_of({"best", "", {}, {x}, {{"y", best}}, {}, {}},
                  {loop("n", end, {fold("b", op, at("x", {n}), n)}, {{"b", op, DType::f32}}),
                   store("y", {}, accumulated_value("b", DType::i64))});
}

TEST(Interpret, MatmulEqualsEvaluate) {
  const LoopProgram p = matmul_loops();
  const std::vector<Array> inputs = {array({2, 3}, {1, 2, 3, 0.1, -5, 6}),
                                     array({3, 2}, {7, 8, 9, 0.25, 1, -2})};
  const std::vector<Array> got = run(p, inputs);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got, evaluate(*p.source, inputs, {}));
  EXPECT_EQ(got[0].values[0].real(), 28.0);
  const std::vector<Array> empty = {array({2, 0}, {}), array({0, 2}, {})};
  EXPECT_EQ(run(p, empty)[0], array({2, 2}, {0, 0, 0, 0}));
}

TEST(Interpret, SoftmaxEqualsEvaluateBitForBit) {
  const LoopProgram p = softmax_rows();
  const std::vector<Array> inputs = {array({2, 3}, {0.1, -3, 4.5, kNan, 1, 2})};
  EXPECT_EQ(run(p, inputs), evaluate(*p.source, inputs, {}));
}

/// Conditions on the least integer are compared, as the emitted C does, and not subtracted.
TEST(Interpret, ComparesTheLeastAndTheGreatestInteger) {
  const Uop x = input("x", DType::i64, {"N"});
  const Expr value = load("x", {n});
  const LoopProgram p = loops_of(
      {"least", "", {}, {x}, {{"y", x}}, {}, {}},
      {loop("n", end,
            {store("y", {n}, constant(Number(0), DType::i64)),
             when({nonneg(2 - value), nonneg(value * -1 - 1)},
                  {store("y", {n}, constant(Number(1), DType::i64))}),
             when({nonneg(value - 3)}, {store("y", {n}, constant(Number(2), DType::i64))})})});
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kGreatest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(run(p, {integers({5}, {kLeast, kGreatest, 0, 3, -1})})[0],
            integers({5}, {1, 2, 0, 2, 1}));
}

TEST(Interpret, IfAndStridedLoopsStoreEveryOther) {
  Stmt even = loop("n", end, {store("y", {n}, real(1))});
  std::get<Loop>(even.kind).step = 2;
  const Expr k = var("k");
  const Stmt odd =
      loop("k", end, {when({zero(k % 2 - 1), nonneg(k - 1)}, {store("y", {k}, at("x", {k}))})});
  const LoopProgram p = loops_of(copy_spec("mixed"), {even, odd});
  EXPECT_EQ(run(p, {array({5}, {5, 6, 7, 8, 9})})[0], array({5}, {1, 6, 1, 8, 1}));
}

TEST(Interpret, BranchesNotTakenLeaveAccumulatorsNeutral) {
  const Expr k = var("k");
  const Stmt sum =
      loop("k", end, {fold("s", ReduceOp::sum, at("x", {k}))}, {{"s", ReduceOp::sum, DType::f32}});
  const LoopProgram p =
      loops_of(copy_spec("branch"),
               {loop("n", end, {when({zero(n % 2)}, {sum}), store("y", {n}, accumulated("s"))})});
  EXPECT_EQ(run(p, {array({4}, {1, 2, 3, 4})})[0], array({4}, {10, 0, 10, 0}));
}

TEST(Interpret, CatchesAnArgmaxOfNothing) {
  LoopProgram p = argmax_loops(ReduceOp::argmax);
  std::get<Loop>(p.body.front().kind).begin = 1;
  EXPECT_EQ(run(p, {array({3}, {9, 1, 3})})[0], integers({}, {2}));
  EXPECT_EQ(failure(p, {array({1}, {9})}), "best: an argmax or argmin of nothing is read");
}

TEST(Interpret, GuardsDoNotEvaluateWhatTheyExclude) {
  const Value before = guard_value({nonneg(n - 1)}, at("x", {n - 1}), -1.0);
  const LoopProgram p = loops_of(copy_spec("shift"), {loop("n", end, {store("y", {n}, before)})});
  EXPECT_EQ(run(p, {array({3}, {5, 6, 7})})[0], array({3}, {-1, 5, 6}));
}

TEST(Interpret, ArgmaxTakesTheFirstAndTheFirstNan) {
  const LoopProgram most = argmax_loops(ReduceOp::argmax);
  EXPECT_EQ(run(most, {array({4}, {1, 3, 2, 3})})[0], integers({}, {1}));
  EXPECT_EQ(run(most, {array({4}, {1, kNan, 9, kNan})})[0], integers({}, {1}));
  EXPECT_EQ(run(most, {array({2}, {-INFINITY, -INFINITY})})[0], integers({}, {0}));
  const LoopProgram least = argmax_loops(ReduceOp::argmin);
  EXPECT_EQ(run(least, {array({4}, {2, 1, 3, 1})})[0], integers({}, {1}));
  EXPECT_EQ(run(least, {array({3}, {2, 1, kNan})})[0], integers({}, {2}));
}

TEST(Interpret, LetsAreReadAsValuesAndAsIndices) {
  const LoopProgram p = loops_of(
      copy_spec("reverse"), {let("last", index_value(end - 1)),
                             loop("n", end,
                                  {let("here", at("x", {load("last", {}) - n})),
                                   store("y", {n},
                                         op(MapOp::mul, {named_value("here", DType::f32),
                                                         named_value("here", DType::f32)}))})});
  EXPECT_EQ(run(p, {array({3}, {2, 3, 4})})[0], array({3}, {16, 9, 4}));
}

TEST(Interpret, LoadsInIndicesFollowTheData) {
  const Uop x = input("x", DType::f32, {"N"});
  const Uop index = input("index", DType::i32, {"K"});
  const Expr k = var("k");
  const LoopProgram p =
      loops_of({"take", "", {}, {x, index}, {{"y", select(x, 0, index)}}, {}, {}},
               {loop("k", size("K"), {store("y", {k}, at("x", {load("index", {k})}))})});
  EXPECT_EQ(run(p, {array({3}, {5, 6, 7}), integers({2}, {2, 0}, DType::i32)})[0],
            array({2}, {7, 5}));
  EXPECT_EQ(failure(p, {array({3}, {5, 6, 7}), integers({2}, {2, 3}, DType::i32)}),
            "take: x[3] is out of range, the shape is [3]");
}

TEST(Interpret, BroadcastInputsRepeat) {
  const Uop x = input("x", DType::f32, {"1|P", "1|Q"});
  const Uop z = input("z", DType::f32, {"1|P", "1|Q"});
  const Expr j = var("j");
  const LoopProgram p = loops_of(
      {"add", "", {}, {x, z}, {{"y", x + z}}, {}, {}},
      {loop("i", size("P"),
            {loop("j", size("Q"),
                  {store("y", {i, j}, op(MapOp::add, {at("x", {i, j}), at("z", {i, j})}))})})});
  const std::vector<Array> inputs = {array({2, 1}, {1, 2}), array({3}, {10, 20, 30})};
  EXPECT_EQ(run(p, inputs)[0], array({2, 3}, {11, 21, 31, 12, 22, 32}));
}

TEST(Interpret, OutputsAreRoundedAndTemporariesAreWide) {
  const double tiny = 1e-12;
  const Value sum = op(MapOp::add, {at("x", {n}), real(tiny)});
  const Value back = op(MapOp::sub, {at("t", {n}), at("x", {n})});
  const LoopProgram p =
      loops_of(copy_spec("wide"), {loop("n", end, {store("t", {n}, sum), store("y", {n}, back)})},
               {temporary("t", {end})});
  EXPECT_EQ(run(p, {array({1}, {1})})[0].values[0].real(),
            static_cast<double>(static_cast<float>(1.0 + tiny - 1.0)));
}

TEST(Interpret, IntegersWrapIn64BitsAndNarrowWhenStored) {
  const LoopProgram p =
      loops_of(copy_spec("product", DType::i32),
               {loop("m", end, {fold("s", ReduceOp::prod, at("x", {var("m")}, DType::i32))},
                     {{"s", ReduceOp::prod, DType::i32}}),
                loop("n", end, {store("y", {n}, accumulated_value("s", DType::i32))})});
  const std::int64_t big = 1 << 30;
  EXPECT_EQ(run(p, {integers({2}, {big, 6}, DType::i32)})[0],
            integers({2}, {-2147483648LL, -2147483648LL}, DType::i32));
  EXPECT_EQ(run(p, {integers({3}, {big, big, 16}, DType::i32)})[0],
            integers({3}, {0, 0, 0}, DType::i32));
}

TEST(Interpret, ScattersAddToWhatIsStored) {
  const Expr m = var("m");
  const LoopProgram p =
      loops_of(copy_spec("halves"),
               {loop("n", end, {store("y", {n}, real(0))}),
                loop("m", end, {{StoreReduce{"y", {m / 2}, ScatterOp::add, at("x", {m})}}})});
  EXPECT_EQ(run(p, {array({5}, {1, 2, 3, 4, 5})})[0], array({5}, {3, 7, 5, 0, 0}));
}

TEST(Interpret, ParametersTakeTheirDefaults) {
  const Uop x = input("x", DType::f32, {"N"});
  const ParamDecl eps{"eps", false, 0.5, std::nullopt, std::nullopt, ""};
  const Value sum = op(MapOp::add, {at("x", {n}), param_value("eps", DType::f32)});
  const LoopProgram p =
      loops_of({"add", "", {eps}, {x}, {{"y", x + param("eps", DType::f32)}}, {}, {}},
               {loop("n", end, {store("y", {n}, sum)})});
  EXPECT_EQ(run(p, {array({1}, {1})})[0], array({1}, {1.5}));
  EXPECT_EQ(run(p, {array({1}, {1})}, {{"eps", 2.0}})[0], array({1}, {3}));
}

TEST(Interpret, NamesTensorIndexAndShapeOfAnAccessOutOfRange) {
  const LoopProgram read =
      loops_of(copy_spec("off"), {loop("n", end, {store("y", {n}, at("x", {n + 1}))})});
  EXPECT_EQ(failure(read, {array({2}, {1, 2})}), "off: x[2] is out of range, the shape is [2]");
  const LoopProgram write =
      loops_of(copy_spec("off"), {loop("n", end, {store("y", {n - 1}, real(0))})});
  EXPECT_EQ(failure(write, {array({2}, {1, 2})}), "off: y[-1] is out of range, the shape is [2]");
}

TEST(Interpret, CatchesReadsOfWhatWasNeverStored) {
  const LoopProgram p =
      loops_of(copy_spec("hole"),
               {loop("m", end, {when({nonneg(var("m") - 1)}, {store("t", {var("m")}, real(0))})}),
                loop("n", end, {store("y", {n}, at("t", {n}))})},
               {temporary("t", {end})});
  EXPECT_EQ(failure(p, {array({2}, {1, 2})}),
            "hole: t: element 0 of shape [2] is read but was never stored");
}

TEST(Interpret, CatchesOutputsThatAreNotWhollyStored) {
  const LoopProgram p =
      loops_of(copy_spec("short"), {loop("n", end - 1, {store("y", {n}, real(0))})});
  EXPECT_EQ(failure(p, {array({3}, {1, 2, 3})}),
            "short: output y: element 2 of shape [3] was never stored");
}

TEST(Interpret, RejectsInputsThatDoNotFit) {
  const LoopProgram p = matmul_loops();
  const Array a = array({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THROW(run(p, {a, array({2, 2}, {1, 2, 3, 4})}), Error);
  EXPECT_THROW(run(p, {a, integers({3, 1}, {1, 2, 3})}), Error);
  EXPECT_THROW(run(p, {a, array({3, 1}, {1, 2})}), Error);
  EXPECT_THROW(run(p, {a}), Error);
}

}  // namespace
}  // namespace mote
