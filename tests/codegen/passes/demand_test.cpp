// SPDX-License-Identifier: Apache-2.0
// Tests demand: conditions of readers move to the store and to the computations that only this
// store needs, if they have the same meaning there.
#include <limits>

#include "pass_testing.h"

namespace mote {
namespace {

using namespace test;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value f64_at(const std::string& tensor, std::vector<Expr> index) {
  return at(tensor, std::move(index), DType::f64);
}
Value guarded_zero(Conditions conditions, Value v) {
  return guard_value(std::move(conditions), std::move(v), 0.0);
}

/// Builds: for t: row[z] = sum_d x[t, z, d] for each z; then `rest`, which must store y[t].
LoopProgram rows(Body rest) {
  const Uop x = input("x", DType::f64, {"T", "Z", "D"});
  Body body = {loop(
      "z", size("Z"),
      {loop("d", size("D"), {fold("s", ReduceOp::sum, f64_at("x", {var("t"), var("z"), var("d")}))},
            {{"s", ReduceOp::sum, DType::f64}}),
       store("row", {var("z")}, sum_of("s"))})};
  std::move(rest.begin(), rest.end(), std::back_inserter(body));
  return loops_of({"rows", "", {}, {x}, {{"y", sum_over(x, {1, 2})}}, {}, {}},
                  {loop("t", size("T"), std::move(body))},
                  {temporary("row", {size("Z")}, DType::f64)});
}

/// Builds: y[t] = the largest row[z] under the conditions on t and u.
Body largest(const Conditions& conditions) {
  const Value v = guard_value(conditions, f64_at("row", {var("u")}), -kInfinity);
  return {loop("u", size("Z"), {fold("m", ReduceOp::max, v)}, {{"m", ReduceOp::max, DType::f64}}),
          store("y", {var("t")}, sum_of("m"))};
}

TEST(Demand, Golden) { expect_golden_pass(demand, rows(largest({nonneg(var("t") - var("u"))}))); }

TEST(Demand, CausalMaskBecomesALimitOfEveryLoop) {
  LoopProgram p = run_checked(demand, rows(largest({nonneg(var("t") - var("u"))})));
  p = run_checked(simplify, run_checked(tighten, p));
  EXPECT_EQ(count(p).conditions, 0);
  expect_golden(to_string(p));
}

TEST(Demand, MovesAConditionOnTheElementToAnotherNest) {
  const Uop x = input("x", DType::f64, {"N"});
  expect_golden_pass(
      demand,
      loops_of({"tail", "", {}, {x}, {{"y", x + 0.0}}, {}, {}},
               {loop("n", size("N"),
                     {store("t", {var("n")}, op(MapOp::exp, {f64_at("x", {var("n")})}))}),
                loop("m", size("N"),
                     {store("y", {var("m")},
                            guarded_zero({nonneg(var("m") - 3)}, f64_at("t", {var("m")})))})},
               {temporary("t", {size("N")}, DType::f64)}));
}

TEST(Demand, TakesWhatAllReadersHaveInCommon) {
  Body rest = largest({nonneg(var("t") - var("u")), nonneg(var("u") - 1)});
  rest.insert(rest.begin() + 1,
              loop("w", size("Z"),
                   {fold("q", ReduceOp::sum,
                         guarded_zero({nonneg(var("t") - var("w"))}, f64_at("row", {var("w")})))},
                   {{"q", ReduceOp::sum, DType::f64}}));
  rest.back() = store("y", {var("t")}, op(MapOp::add, {sum_of("m"), sum_of("q")}));
  expect_golden_pass(demand, rows(std::move(rest)));
}

TEST(Demand, SeesReadersUnderABranch) {
  const Uop x = input("x", DType::f64, {"N"});
  const LoopProgram p = run_checked(
      demand,
      loops_of(
          {"tail", "", {}, {x}, {{"y", x + 0.0}}, {}, {}},
          {loop("n", size("N"),
                {store("t", {var("n")}, op(MapOp::exp, {f64_at("x", {var("n")})}))}),
           loop("m", size("N"),
                {when({nonneg(2 - var("m"))}, {store("y", {var("m")}, constant(0.0, DType::f64))}),
                 when({nonneg(var("m") - 3)}, {store("y", {var("m")}, f64_at("t", {var("m")}))})})},
          {temporary("t", {size("N")}, DType::f64)}));
  EXPECT_EQ(count(p).conditions, 3) << to_string(p);
}

// Nested branches become one, since tighten searches for limits one branch deep.
TEST(Demand, ABranchInABranchIsOne) {
  const Uop x = input("x", DType::f64, {"N"});
  const Conditions tail = {nonneg(var("n") - 3)};
  const Conditions middle = {nonneg(var("m") - 3), nonneg(size("N") - 2 - var("m"))};
  LoopProgram p = run_checked(
      demand,
      loops_of(
          {"middle", "", {}, {x}, {{"y", x + 0.0}}, {}, {}},
          {loop("n", size("N"),
                {when(tail, {store("t", {var("n")}, op(MapOp::exp, {f64_at("x", {var("n")})}))})}),
           loop("m", size("N"),
                {store("y", {var("m")}, guarded_zero(middle, f64_at("t", {var("m")})))})},
          {temporary("t", {size("N")}, DType::f64)}));
  p = run_checked(tighten, p);
  EXPECT_EQ(count(p).conditions, 1) << to_string(p);  // that of the read
}

TEST(Demand, KeepsAStoreThatOneReaderNeedsAlways) {
  Body rest = largest({nonneg(var("t") - var("u"))});
  rest.insert(rest.begin() + 1,
              loop("w", size("Z"), {fold("q", ReduceOp::sum, f64_at("row", {var("w")}))},
                   {{"q", ReduceOp::sum, DType::f64}}));
  rest.back() = store("y", {var("t")}, op(MapOp::add, {sum_of("m"), sum_of("q")}));
  expect_unchanged(demand, rows(std::move(rest)));
}

TEST(Demand, KeepsAStoreThatIsReadAtAnotherElement) {
  const Conditions c = {nonneg(var("u") - 1), nonneg(size("Z") - 1 - var("u"))};
  const Value v = guard_value(c, f64_at("row", {var("u") - 1}), -kInfinity);
  expect_unchanged(
      demand,
      rows({loop("u", size("Z"), {fold("m", ReduceOp::max, v)}, {{"m", ReduceOp::max, DType::f64}}),
            store("y", {var("t")}, sum_of("m"))}));
}

TEST(Demand, KeepsADataDependentCondition) {
  const Uop x = input("x", DType::f64, {"N"});
  const Uop ends = input("ends", DType::i64, {"N"});
  const Condition c = nonneg(load("ends", {var("m")}) - var("m"));
  expect_unchanged(
      demand, loops_of({"cut", "", {}, {x, ends}, {{"y", x + 0.0}}, {}, {}},
                       {loop("n", size("N"),
                             {store("t", {var("n")}, op(MapOp::exp, {f64_at("x", {var("n")})}))}),
                        loop("m", size("N"),
                             {store("y", {var("m")}, guarded_zero({c}, f64_at("t", {var("m")})))})},
                       {temporary("t", {size("N")}, DType::f64)}));
}

TEST(Demand, KeepsATemporaryThatIsAnIndex) {
  const Uop x = input("x", DType::f64, {"N"});
  const Value v = guarded_zero({nonneg(var("m") - 1)}, f64_at("x", {load("t", {var("m")})}));
  expect_unchanged(demand,
                   loops_of({"turned", "", {}, {x}, {{"y", x + 0.0}}, {}, {}},
                            {loop("n", size("N"),
                                  {store("t", {var("n")}, index_value(size("N") - 1 - var("n")))}),
                             loop("m", size("N"), {store("y", {var("m")}, v)})},
                            {temporary("t", {size("N")}, DType::i64)}));
}

// In this random program the conditions together cannot hold, which shows at the store but not at
// the read. The store is dropped, so the read must not stay.
TEST(Demand, DropsReadsThatNeverRun) {
  const LoopProgram p = compile(program(R"(
op never
input y f64[3, 3]
v1 = where(iota(i1 over 3, 3) == iota(0 over 3, 3), exp(y), 3)
v2 = where(iota((i0 + i1)%2 over 3, 3) > iota(i0 over 3, 3), v1, 3)[i0, i1 over 3, 3, 2]
output g = sum[1](v2)
)"),
                                [](const char*, const LoopProgram& stage) { verify(stage); });
  expect_right(p);
}

// A random program found this: a condition moved beyond the scope of its variables.
TEST(Demand, KeepsAConditionOnAVariableOutOfScope) {
  const Uop x = input("x", DType::f64, {"N"});
  expect_unchanged(
      demand,
      loops_of(
          {"running", "", {}, {x}, {{"y", x + 0.0}}, {}, {}},
          {loop("n", size("N"),
                {store("t", {var("n")}, op(MapOp::exp, {f64_at("x", {var("n")})}))}),
           loop("m", size("N"),
                {loop("k", size("N"),
                      {fold("s", ReduceOp::sum,
                            guarded_zero({nonneg(var("m") - var("k"))}, f64_at("t", {var("k")})))},
                      {{"s", ReduceOp::sum, DType::f64}}),
                 store("y", {var("m")}, sum_of("s"))})},
          {temporary("t", {size("N")}, DType::f64)}));
}

const Uop& matrix() {
  static const Uop x = input("x", DType::f64, {"R", "N"});
  return x;
}

// r is in scope at the store, but the value was stored in another iteration of r.
TEST(Demand, KeepsAStoreThatLaterRoundsRead) {
  expect_unchanged(
      demand,
      loops_of(
          {"first_row", "", {}, {matrix()}, {{"y", matrix() + 0.0}}, {}, {}},
          {loop("r", size("R"),
                {when({zero(var("r"))},
                      {loop("n", size("N"),
                            {store("t", {var("n")}, f64_at("x", {var("r"), var("n")}))})}),
                 loop("m", size("N"),
                      {store("y", {var("r"), var("m")},
                             guarded_zero({nonneg(var("r") - 1)}, f64_at("t", {var("m")})))})})},
          {temporary("t", {size("N")}, DType::f64)}));
}

// The condition has the same text at the store and at the read, but the data it loads changes
// between.
TEST(Demand, KeepsAStoreUnderDataThatChanges) {
  const Condition open = nonneg(load("flag", {0}));
  expect_unchanged(
      demand,
      loops_of(
          {"flagged", "", {}, {matrix()}, {{"y", matrix() + 0.0}}, {}, {}},
          {loop("r", size("R"),
                {store("flag", {0}, index_value(-var("r"))),
                 when({open}, {loop("n", size("N"),
                                    {store("t", {var("n")}, f64_at("x", {var("r"), var("n")}))})}),
                 store("flag", {0}, index_value(1)),
                 loop("m", size("N"),
                      {store(
                          "y", {var("r"), var("m")},
                          guarded_zero({nonneg(var("r") - 1), open}, f64_at("t", {var("m")})))})})},
          {temporary("flag", {1}, DType::i64), temporary("t", {size("N")}, DType::f64)}));
}

// The reader's condition is about its own iteration, but the element was stored in iteration q.
TEST(Demand, KeepsElementsOfEarlierRounds) {
  Stmt sum_up_to_r = {
      Loop{variable("q"),
           0,
           var("r") + 1,
           1,
           {{"s", ReduceOp::sum, DType::f64}},
           {fold("s", ReduceOp::sum,
                 guarded_zero({nonneg(var("r") - 2)}, f64_at("t", {var("q"), var("m")})))}}};
  expect_unchanged(
      demand,
      loops_of(
          {"prefix", "", {}, {matrix()}, {{"y", matrix() + 0.0}}, {}, {}},
          {loop("r", size("R"),
                {loop("n", size("N"),
                      {store("t", {var("r"), var("n")}, f64_at("x", {var("r"), var("n")}))}),
                 loop("m", size("N"),
                      {std::move(sum_up_to_r), store("y", {var("r"), var("m")}, sum_of("s"))})})},
          {temporary("t", {size("R"), size("N")}, DType::f64)}));
}

/// for r: s = sum x[r, n], q = product, in one loop; row[0] = s, read under a condition; y reads q.
LoopProgram two_sums_in_a_loop(const Value& stored) {
  const Value x = f64_at("x", {var("r"), var("n")});
  const Value read = guarded_zero({nonneg(var("r") - 1)}, f64_at("t", {var("r")}));
  return loops_of(
      {"two", "", {}, {matrix()}, {{"y", sum_over(matrix(), {1})}}, {}, {}},
      {loop("r", size("R"),
            {loop("n", size("N"), {fold("s", ReduceOp::sum, x), fold("q", ReduceOp::prod, x)},
                  {{"s", ReduceOp::sum, DType::f64}, {"q", ReduceOp::prod, DType::f64}}),
             store("t", {var("r")}, stored),
             store("y", {var("r")}, op(MapOp::add, {read, sum_of("q")}))})},
      {temporary("t", {size("R")}, DType::f64)});
}

TEST(Demand, GuardsAFoldBesideOthers) {
  expect_golden_pass(demand, two_sums_in_a_loop(op(MapOp::exp, {sum_of("s")})));
}

TEST(Demand, KeepsAFoldThatOthersRead) {
  const LoopProgram p = run_checked(demand, two_sums_in_a_loop(op(MapOp::exp, {sum_of("q")})));
  EXPECT_EQ(count(p).conditions, 2) << to_string(p);  // those of the read and of the store
}

TEST(Demand, AnArgmaxComesUnderABranch) {
  const Uop x = input("x", DType::f64, {"R", "N"});
  const Value chosen = accumulated_value("a", DType::i64);
  const Value read =
      guard_value({nonneg(var("q") - 1)}, at("t", {var("q")}, DType::i64), std::int64_t{0});
  expect_golden_pass(
      demand, loops_of({"best", "", {}, {x}, {{"y", reduce(ReduceOp::argmax, x, {1})}}, {}, {}},
                       {loop("r", size("R"),
                             {loop("n", size("N") + 1,
                                   {fold("a", ReduceOp::argmax,
                                         guarded_zero({nonneg(size("N") - 1 - var("n"))},
                                                      f64_at("x", {var("r"), var("n")})),
                                         var("n"))},
                                   {{"a", ReduceOp::argmax, DType::f64}}),
                              store("t", {var("r")}, chosen)}),
                        loop("q", size("R"), {store("y", {var("q")}, read)})},
                       {temporary("t", {size("R")}, DType::i64)}));
}

// No skipped value leaves the position of an argmax unchanged.
TEST(Demand, KeepsAnArgmaxBesideOthers) {
  const Value x = f64_at("x", {var("r"), var("n")});
  const Value read =
      guard_value({nonneg(var("r") - 1)}, at("t", {var("r")}, DType::i64), std::int64_t{0});
  const LoopProgram p = run_checked(
      demand,
      loops_of(
          {"best_and_sum",
           "",
           {},
           {matrix()},
           {{"y", reduce(ReduceOp::argmax, matrix(), {1})}, {"z", sum_over(matrix(), {1})}},
           {},
           {}},
          {loop(
              "r", size("R"),
              {loop("n", size("N") + 1,
                    {fold("a", ReduceOp::argmax,
                          guarded_zero({nonneg(size("N") - 1 - var("n"))}, x), var("n")),
                     fold("s", ReduceOp::sum, guarded_zero({nonneg(size("N") - 1 - var("n"))}, x))},
                    {{"a", ReduceOp::argmax, DType::f64}, {"s", ReduceOp::sum, DType::f64}}),
               store("t", {var("r")}, accumulated_value("a", DType::i64)),
               store("y", {var("r")}, read), store("z", {var("r")}, sum_of("s"))})},
          {temporary("t", {size("R")}, DType::i64)}));
  EXPECT_EQ(count(p).conditions, 4) << to_string(p);  // three from the start, and that of the store
}

// If the loop did not run there is no position, and the name must not read it.
TEST(Demand, ANameOfAnArgmaxComesUnderTheConditions) {
  const Value chosen = named_value("p", DType::i64);
  const Value read =
      guard_value({nonneg(var("q") - 1)}, at("t", {var("q")}, DType::i64), std::int64_t{0});
  const Uop x = input("x", DType::f64, {"R", "N"});
  run_checked(
      demand,
      loops_of(
          {"best", "", {}, {x}, {{"y", reduce(ReduceOp::argmax, x, {1})}}, {}, {}},
          {loop("r", size("R"),
                {loop("n", size("N"),
                      {fold("a", ReduceOp::argmax, f64_at("x", {var("r"), var("n")}), var("n"))},
                      {{"a", ReduceOp::argmax, DType::f64}}),
                 let("p", accumulated_value("a", DType::i64)),
                 store("t", {var("r")}, op(MapOp::mul, {chosen, chosen}))}),
           loop("q", size("R"), {store("y", {var("q")}, read)})},
          {temporary("t", {size("R")}, DType::i64)}));
}

}  // namespace
}  // namespace mote
