// SPDX-License-Identifier: Apache-2.0
// Tests traversals, rewriting, equality of values, free names and counts.
#include "mote/codegen/walk.h"

#include <gtest/gtest.h>

#include "loop_variables.h"

namespace mote {
namespace {

using namespace test;

TEST(Walk, ListsReadsBeforeTheWriteInOrderOfExecution) {
  const Value v =
      guard_value({nonneg(load("mask", {i}))}, at("x", {load("index", {load("base", {})})}), 0.0);
  const Body body = {loop("i", load("end", {}), {store("y", {load("to", {i})}, v)})};
  std::string text;
  for (const Access& a : accesses(body)) {
    text += a.tensor + (a.write ? "! " : " ");
    EXPECT_EQ(a.index.size(), a.tensor == "end" || a.tensor == "base" ? 0U : 1U);
  }
  EXPECT_EQ(text, "end to mask index base x y! ");
}

TEST(Walk, SummarisesAccumulatorsAndNames) {
  const LoopProgram p = softmax_rows();
  EXPECT_EQ(accumulators_declared(p.body), (std::set<std::string>{"m", "s"}));
  EXPECT_EQ(accumulators_read(p.body), (std::set<std::string>{"m", "s"}));
  const Body& row = std::get<Loop>(p.body.front().kind).body;
  EXPECT_EQ(accumulators_read({row[0]}), std::set<std::string>{});
  EXPECT_EQ(accumulators_read({row[1]}), std::set<std::string>{"m"});
  const Stmt s = store("y", {load("a", {}) + load("x", {i})}, named_value("b", DType::f32));
  EXPECT_EQ(names_read(s), (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(names_read(loop("i", 3, {s})), (std::set<std::string>{"a", "b"}));
}

TEST(Walk, VisitsASharedNodeOnceForEachPlace) {
  const Value x = at("x", {i});
  const Value square = op(MapOp::mul, {x, x});
  int loads = 0;
  for_each_value(op(MapOp::add, {square, square}), [&](const Value& v) {
    loads += std::holds_alternative<value::Load>(v->kind) ? 1 : 0;
  });
  EXPECT_EQ(loads, 4);
}

TEST(Walk, RewritesASharedNodeOnceAndKeepsWhatIsUnchanged) {
  const Value x = at("x", {i});
  const Value square = op(MapOp::mul, {x, x});
  const Value v = op(MapOp::add, {square, at("z", {i})});
  EXPECT_EQ(rewrite(v, [](const Value& node) { return node; }), v);
  int calls = 0;
  const Value next = rewrite(v, [&](const Value& node) {
    ++calls;
    return node == x ? at("t", {i}) : node;
  });
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(to_string(next), "t[i]*t[i] + z[i]");
  EXPECT_EQ(to_string(v), "x[i]*x[i] + z[i]");
}

TEST(Walk, RewritesEveryIndexExpression) {
  const Value v = guard_value({nonneg(i), nonneg(i + 1)}, at("x", {load("index", {i})}), 0.0);
  Body body = {when({zero(i)}, {loop("j", i, {store("y", {i}, v)}),
                                fold("a", ReduceOp::argmax, index_value(i), i)})};
  rewrite_exprs(body, [](const Expr& e) { return e.substitute({{variable("i"), var("k") + 1}}); });
  EXPECT_EQ(to_string(body.front()),
            "if k == -1 {\n"
            "  for j in 0..(k + 1) {\n"
            "    y[k + 1] = (k >= -1 && k >= -2 ? x[index[k + 1]] : 0)\n"
            "  }\n"
            "  a argmax= k + 1 at k + 1\n"
            "}\n");
}

TEST(Walk, DropsConditionsThatBecomeEqual) {
  const Value v = guard_value({nonneg(i), nonneg(var("j"))}, real(1), 0.0);
  const Value same_variable = rewrite_exprs(v, [](const Expr& e) {
    return e.substitute({{variable("j"), i}});
  });
  EXPECT_EQ(to_string(same_variable), "(i >= 0 ? 1 : 0)");
}

TEST(Value, ComparesByStructure) {
  const auto build = [](double c, const Expr& index) {
    return guard_value({nonneg(index)}, op(MapOp::add, {at("x", {index}), real(c)}), 0.0);
  };
  EXPECT_TRUE(equal(build(1, i), build(1, i)));
  EXPECT_FALSE(equal(build(1, i), build(2, i)));
  EXPECT_FALSE(equal(build(1, i), build(1, i + 1)));
  EXPECT_FALSE(equal(real(0.0), real(-0.0)));
  EXPECT_FALSE(equal(real(1), constant(1.0, DType::f64)));
  EXPECT_EQ(guard_value({}, real(1), 0.0)->kind.index(), real(1)->kind.index());
}

TEST(Loops, FindsFreeNamesAndTensors) {
  const LoopProgram p = softmax_rows();
  EXPECT_EQ(fresh_name(p, "t"), "t");
  EXPECT_EQ(fresh_name(p, "n"), "n4");
  EXPECT_EQ(fresh_name(p, "m"), "m2");
  EXPECT_EQ(fresh_name(p, "x"), "x2");
  EXPECT_EQ(fresh_name(p, "N"), "N2");
  EXPECT_EQ(fresh_name(p, "n2"), "n2_2");
  EXPECT_EQ(find_tensor(p, "y")->role, TensorRole::output);
  EXPECT_EQ(find_tensor(p, "t"), nullptr);
}

TEST(Loops, CountsWhatTheFormsAreJudgedBy) {
  const LoopProgram p =
      loops_of(copy_spec("mixed"),
               {loop("n", size("N"),
                     {store("t", {var("n"), 0}, guard_value({nonneg(var("n"))}, real(0), 0.0)),
                      when({nonneg(var("n"))}, {loop("m", 2, {store("y", {var("n")}, real(1))})})}),
                loop("k", size("N"), {{StoreReduce{"y", {var("k")}, ScatterOp::add, real(1)}}})},
               {temporary("t", {size("N"), 2}), temporary("u", {})});
  const LoopCount n = count(p);
  EXPECT_EQ(n.nests, 2);
  EXPECT_EQ(n.loops, 3);
  EXPECT_EQ(n.temporaries, 1);
  EXPECT_EQ(n.temporary_axes, 2);
  EXPECT_EQ(n.conditions, 2);
  EXPECT_EQ(n.scatters, 1);
}

TEST(Loops, KnowsTheLowerBoundsOfSizesAndParameters) {
  const Uop x = input("x", DType::f32, {"N"});
  const ParamDecl stride{"stride", true, 1.0, 1, std::nullopt, ""};
  const ParamDecl pad{"pad", true, 0.0, std::nullopt, std::nullopt, ""};
  const Program p = make_program({"p", "", {stride, pad}, {x}, {{"y", x + 1}}, {}, {}});
  const Facts facts = base_facts(p);
  EXPECT_TRUE(facts.prove_nonneg(size("N")));
  EXPECT_FALSE(facts.prove_nonneg(size("N") - 1));
  EXPECT_TRUE(facts.prove_nonneg(Expr::param("stride") - 1));
  EXPECT_FALSE(facts.prove_nonneg(Expr::param("pad")));
}

}  // namespace
}  // namespace mote
