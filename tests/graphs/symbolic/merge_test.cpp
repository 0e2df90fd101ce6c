// SPDX-License-Identifier: Apache-2.0
// The pass merge.
#include <gtest/gtest.h>

#include <algorithm>

#include "pass_case.h"
#include "support/cpu_time.h"

namespace mote {
namespace {

using test::apply_and_compare;
using test::node_total;

/// A graph with two nodes of one command on the same input, and their sum as its output.
struct Twice {
  SymbolicGraph g;
  TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  TensorSymbol a;
  TensorSymbol b;

  explicit Twice(const char* first = "sin", const char* second = nullptr) {
    a = g.add(first, {x});
    b = g.add(second == nullptr ? first : second, {x});
    g.set_outputs({g.add("add", {a, b})});
  }
};

TEST(Merge, EqualNodes) {
  Twice t;
  EXPECT_EQ(apply_and_compare(t.g, {"merge"}), "merge: 1 node removed");
  EXPECT_EQ(t.g.info(t.g.node_at(2)).inputs, (std::vector<std::uint32_t>{t.a.index, t.a.index}));
}

TEST(Merge, WholeTreesThatAreEqual) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  std::vector<TensorSymbol> ends;
  for (int k = 0; k < 3; ++k)
    ends.push_back(g.add("mul", {g.add("sin", {x}), g.add("cos", {g.add("neg", {x})})}));
  g.set_outputs({g.add("add", {g.add("add", {ends[0], ends[1]}), ends[2]})});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: 8 nodes removed");
  EXPECT_EQ(node_total(g), 6U);
}

TEST(Merge, NotOtherParametersAxesOrInputs) {
  for (const auto& [first, second] :
       {std::pair("sin", "cos"), std::pair("leaky_relu alpha=0.1", "leaky_relu alpha=0.2"),
        std::pair("softmax axis=0", "softmax axis=1")}) {
    Twice t(first, second);
    EXPECT_EQ(apply_and_compare(t.g, {"merge"}), "merge: nothing") << first;
  }
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  const TensorSymbol y = g.input("y", {DType::f32, {2, 3}});
  g.set_outputs({g.add("add", {g.add("sub", {x, y}), g.add("sub", {y, x})})});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: nothing");
}

TEST(Merge, NotOtherForms) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  const TensorSymbol rows = g.convert(x, {DType::f64, {2, 3}});
  const TensorSymbol columns = g.convert(x, {DType::f64, {2, 3}, {1, 2}});
  const TensorSymbol again = g.convert(x, {DType::f64, {2, 3}, {1, 2}});
  g.set_outputs({g.add("add", {g.add("add", {rows, columns}), again})});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: 1 node removed");
  EXPECT_TRUE(g.nodes()[2].removed);
}

TEST(Merge, NotOpsThatDrawRandomNumbersAndNotTheirGradients) {
  for (const char* op : {"dropout seed=1", "uniform seed=1", "normal seed=1", "bernoulli seed=1"}) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {DType::f32, {2, 3, 1, 1}});
    g.set_outputs({g.add("add", {g.add(op, {x}), g.add(op, {x})})});
    EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: nothing") << op;
  }
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3, 1, 1}});
  g.set_outputs(
      {g.add("add", {g.add("dropout.grad seed=1", {x}), g.add("dropout.grad seed=1", {x})})});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: nothing");
}

TEST(Merge, NotFunctions) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const NamedFunction function{"copy", [](auto in, auto out) { copy(in[0], out[0]); }};
  std::vector<TensorSymbol> ends;
  for (int k = 0; k < 2; ++k) {
    ends.push_back(g.tensor({DType::f32, {4}}));
    g.call(function, std::vector{x}, std::vector{ends.back()});
  }
  g.set_outputs({g.add("add", {ends[0], ends[1]})});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: nothing");
}

TEST(Merge, NotRecomputedNodes) {
  Twice t;
  t.g.mark_recomputed(t.g.producer(t.b), 1);
  EXPECT_EQ(apply_and_compare(t.g, {"merge"}), "merge: nothing");
}

TEST(Merge, NotNodesThatAreOrderedInDifferentWays) {
  for (const bool is_before : {true, false}) {
    Twice t;
    const NodeSymbol other = t.g.producer(t.g.add("neg", {t.x}));
    const NodeSymbol second = t.g.producer(t.b);
    t.g.order(is_before ? other : second, is_before ? second : other);
    EXPECT_EQ(apply_and_compare(t.g, {"merge"}), "merge: nothing") << is_before;
  }
  Twice t;
  t.g.order(t.g.producer(t.a), t.g.producer(t.b));
  EXPECT_EQ(apply_and_compare(t.g, {"merge"}), "merge: nothing");
}

TEST(Merge, NodesThatAreOrderedAlike) {
  Twice t;
  const NodeSymbol before = t.g.producer(t.g.add("neg", {t.x}));
  const NodeSymbol after = t.g.producer(t.g.add("neg", {t.g.add("neg", {t.x})}));
  for (const TensorSymbol symbol : {t.a, t.b}) {
    t.g.order(before, t.g.producer(symbol));
    t.g.order(t.g.producer(symbol), after);
  }
  EXPECT_EQ(apply_and_compare(t.g, {"merge"}), "merge: 1 node removed");
  EXPECT_EQ(t.g.info(after).after, (std::vector<std::uint32_t>{0}));
}

TEST(Merge, EqualViewsAndNodesThatReadThem) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4, 4}});
  // The same elements by other steps.
  const TensorSymbol v = g.slice(g.slice(x, 0, 1, 3), 0, 1, 1);
  const TensorSymbol w = g.slice(x, 0, 2, 1);
  const TensorSymbol u = g.slice(x, 0, 1, 1);
  g.set_outputs(
      {g.add("add", {g.add("add", {g.add("sin", {v}), g.add("sin", {w})}), g.add("sin", {u})})});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: 1 node removed, 1 symbol replaced");
}

TEST(Merge, ViewsOfEqualNodes) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4, 4}});
  const TensorSymbol a = g.add("neg", {x});
  const TensorSymbol b = g.add("neg", {x});
  const TensorSymbol same = g.reshape(g.reshape(b, {16}), {4, 4});
  g.set_outputs({g.add(
      "add", {g.add("sin", {g.permute(a, {1, 0})}), g.add("sin", {g.permute(same, {1, 0})})})});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: 2 nodes removed, 2 symbols replaced");
}

TEST(Merge, EqualConstantsAndZeros) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {3}});
  std::vector<TensorSymbol> terms;
  for (const double value : {1.0, 1.0, 2.0}) {
    const Tensor t(DType::f32, {3});
    fill(t, value);
    terms.push_back(g.constant("c" + std::to_string(terms.size()), t));
  }
  terms.push_back(g.zeros({DType::f32, {3}}));
  terms.push_back(g.zeros({DType::f32, {3}}));
  const TensorSymbol partly = g.zeros({DType::f32, {3}});
  g.write(Command("neg", {}), std::vector{g.slice(x, 0, 0, 1)},
          std::vector{g.slice(partly, 0, 0, 1)});
  terms.push_back(partly);
  TensorSymbol sum = x;
  std::vector<TensorSymbol> parts;
  for (const TensorSymbol term : terms) parts.push_back(g.add("mul", {x, term}));
  for (const TensorSymbol part : parts) sum = g.add("add", {sum, part});
  g.set_outputs({sum});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: 2 nodes removed, 2 symbols replaced");
}

TEST(Merge, ConstantsByTheirBits) {
  SymbolicGraph g;
  std::vector<TensorSymbol> ends;
  for (const double value : {0.0, -0.0}) {
    const Tensor t(DType::f64, {2});
    fill(t, value);
    ends.push_back(g.add("recip", {g.constant("c" + std::to_string(ends.size()), t)}));
  }
  g.set_outputs(ends);
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: nothing");
}

TEST(Merge, AnOutputStaysATensorOfItsOwn) {
  Twice t;
  t.g.set_outputs({t.b, t.g.add("neg", {t.a})});
  EXPECT_EQ(apply_and_compare(t.g, {"merge"}), "merge: 1 node removed");
  EXPECT_EQ(t.g.outputs().front(), t.b);  // the node that writes the output is the one that stays
  Twice both;
  both.g.set_outputs({both.a, both.b, both.g.slice(both.b, 0, 0, 1)});
  EXPECT_EQ(apply_and_compare(both.g, {"merge"}), "merge: 1 node removed");
  EXPECT_EQ(both.g.outputs()[1], both.b);
  EXPECT_EQ(both.g.info(both.g.producer(both.b)).kind, NodeKind::copy);
}

TEST(Merge, NotNodesThatWriteParts) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  const TensorSymbol p = g.tensor({DType::f32, {4}});
  for (const int begin : {0, 2})
    g.write(Command("neg", {}), std::vector{x}, std::vector{g.slice(p, 0, begin, 2)});
  g.set_outputs({p});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: nothing");
}

TEST(Merge, TakesNoQuadraticTime) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2}});
  TensorSymbol y = x;
  for (int k = 0; k < 3000; ++k) y = g.add("add", {g.add("sin", {y}), g.add("sin", {y})});
  g.set_outputs({y});
  EXPECT_EQ(apply_and_compare(g, {"merge"}), "merge: 3000 nodes removed");
}

TEST(Merge, EqualNodesInAChainOfOrderTakeNoQuadraticTime) {
  const auto seconds = [](int n) {
    SymbolicGraph g;
    const TensorSymbol x = g.input("x", {DType::f32, {4}});
    NodeSymbol last;
    for (int k = 0; k < n; ++k) {
      const NodeSymbol node = g.producer(g.add("tanh", {x}));
      if (last) g.order(last, node);
      last = node;
    }
    g.set_outputs({g.output(last, 0)});
    return test::cpu_seconds([&] { apply_passes(g, std::vector<std::string>{"merge"}); });
  };
  double ratio = 100;  // of ten times as many nodes
  for (int round = 0; round < 5 && ratio > 20; ++round)
    ratio = std::min(ratio, seconds(20000) / seconds(2000));
  EXPECT_LT(ratio, 40);
}

}  // namespace
}  // namespace mote
