// SPDX-License-Identifier: Apache-2.0
// The reference evaluation of symbolic graphs: values, views, poison, and errors by name.
#include "mote/symbolic/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "error_of.h"
#include "mote/runtime/status.h"

namespace mote {
namespace {

Tensor row(std::initializer_list<double> values) {
  Tensor t(DType::f64, {static_cast<std::int64_t>(values.size())});
  std::int64_t k = 0;
  for (const double value : values) t.set({k++}, value);
  return t;
}

using test::error_of;

TEST(Evaluate, RunsNodesInTheOrderOfTheirTensors) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {3}});
  const TensorSymbol y = g.add("mul", {g.add("add", {x, x}), x});
  const std::vector<Tensor> out = evaluate(g, {{x, row({1, 2, 3})}}, {y, x});
  EXPECT_EQ(out[0].real_at({2}), 18);
  EXPECT_EQ(out[1].real_at({2}), 3);
}

TEST(Evaluate, WritesSlicesOfZerosAndOfTensors) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2}});
  const TensorSymbol zeros = g.zeros({DType::f64, {4}});
  const TensorSymbol gaps = g.tensor({DType::f64, {4}});
  g.write(Command("neg", {}), std::vector{x}, std::vector{g.slice(zeros, 0, 1, 2)});
  g.write(Command("neg", {}), std::vector{x}, std::vector{g.slice(gaps, 0, 1, 2)});
  const std::vector<Tensor> out = evaluate(g, {{x, row({1, 2})}}, {zeros, gaps});
  EXPECT_EQ(out[0].real_at({0}), 0);
  EXPECT_EQ(out[0].real_at({2}), -2);
  EXPECT_EQ(out[0].real_at({3}), 0);
  EXPECT_TRUE(std::isnan(out[1].real_at({0})));
  EXPECT_EQ(out[1].real_at({1}), -1);
}

TEST(Evaluate, KeepsStridesOfForms) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {2, 3}, {1, 2}});
  const TensorSymbol y = g.convert(x, {DType::f32, {2, 3}, {1, 4}});
  Tensor given(DType::f64, {2, 3});
  for (int k = 0; k < 6; ++k) given.set({k / 3, k % 3}, k);
  const std::vector<Tensor> out = evaluate(g, {{x, given}}, {y, x});
  EXPECT_EQ(out[0].strides(), (AxisList{1, 4}));
  EXPECT_EQ(out[1].strides(), (AxisList{1, 2}));
  EXPECT_EQ(out[0].real_at({1, 2}), 5);
}

TEST(Evaluate, RunsOnlyWhatTheOutputsNeed) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {1}});
  const TensorSymbol y = g.add("neg", {x});
  const TensorSymbol z = g.tensor({DType::f64, {1}});
  g.call({"boom", [](auto, auto) { throw StatusError(MOTE_FAILED, "boom"); }}, std::vector{x},
         std::vector{z});
  EXPECT_EQ(evaluate(g, {{x, row({2})}}, {y})[0].real_at({0}), -2);
  EXPECT_EQ(error_of([&] {
              evaluate(g, {{x, row({2})}}, {z});
            }),
            "node 1 't2' (function boom): boom");
}

TEST(Evaluate, NamesInputsThatAreNotBoundOrDoNotFit) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f64, {1}});
  const TensorSymbol y = g.add("neg", {x});
  EXPECT_EQ(error_of([&] { evaluate(g, {}, {y}); }),
            "symbolic graph: evaluate: input x is not bound");
  EXPECT_EQ(error_of([&] {
              evaluate(g, {{x, row({1, 2})}}, {y});
            }),
            "symbolic graph: evaluate: x is f64[1], got f64[2]");
  EXPECT_EQ(error_of([&] {
              evaluate(g, {{y, row({1})}}, {y});
            }),
            "symbolic graph: evaluate: t1 is no input, so that it cannot be bound");
}

TEST(Evaluate, TakesLayoutsWithoutElements) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 0, 3}});
  const TensorSymbol y = g.convert(x, {DType::f32, {2, 0, 3}, {1, 2, 2}});
  const std::vector<Tensor> values = evaluate(g, {{x, Tensor(DType::f32, {2, 0, 3})}}, {y});
  EXPECT_EQ(values[0].strides(), AxisList({1, 2, 2}));
}

}  // namespace
}  // namespace mote
