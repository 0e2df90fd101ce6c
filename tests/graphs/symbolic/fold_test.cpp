// SPDX-License-Identifier: Apache-2.0
// The pass fold.
#include <gtest/gtest.h>

#include "pass_case.h"

namespace mote {
namespace {

using test::apply_and_compare;
using test::node_total;

TensorSymbol constant_of(SymbolicGraph& g, const char* name, const AxisList& shape, double first) {
  const Tensor t(DType::f32, {element_count({DType::f32, shape})});
  for (std::int64_t k = 0; k < t.element_count(); ++k)
    t.set({k}, first + 0.25 * static_cast<double>(k));
  return g.constant(name, t.reshape(shape));
}

TEST(Fold, ComputesNodesThatReadOnlyConstants) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  const TensorSymbol c = constant_of(g, "c", {3, 2}, 1);
  const TensorSymbol scale = g.add("exp", {g.add("neg", {g.permute(c, {1, 0})})});
  g.set_outputs({g.add("mul", {x, g.convert(scale, {DType::f32, {2, 3}, {3, 1}})})});
  EXPECT_EQ(apply_and_compare(g, {"fold"}), "fold: 3 nodes computed");
  EXPECT_EQ(node_total(g), 1U);
  // Only what is read is kept.
  EXPECT_EQ(g.info(scale).kind, SymbolOrigin::tensor);
}

TEST(Fold, ComputesWithFillsAndZeros) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {3}});
  const TensorSymbol two = g.tensor({DType::f32, {3}});
  g.fill(two, 2);
  const TensorSymbol sum = g.add("add", {two, g.zeros({DType::f32, {3}})});
  g.set_outputs({g.add("mul", {x, g.add("exp", {sum})}), g.add("mul", {x, two})});
  EXPECT_EQ(apply_and_compare(g, {"fold"}), "fold: 2 nodes computed");
  EXPECT_EQ(node_total(g), 3U);
}

TEST(Fold, NotWhatReadsInputsOrZerosThatNodesWrite) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {3}});
  const TensorSymbol z = g.zeros({DType::f32, {3}});
  g.write(Command("neg", {}), std::vector{g.slice(x, 0, 0, 1)}, std::vector{g.slice(z, 0, 0, 1)});
  g.set_outputs({g.add("exp", {z}), g.add("add", {x, constant_of(g, "c", {3}, 1)})});
  EXPECT_EQ(apply_and_compare(g, {"fold"}), "fold: nothing");
}

TEST(Fold, NotMoreThanTheLimit) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {64}});
  const TensorSymbol c = constant_of(g, "c", {64}, 1);
  g.set_outputs({g.add("add", {x, g.add("neg", {c})}),
                 g.add("add", {x, g.broadcast_to(g.add("neg", {g.slice(c, 0, 0, 1)}), {64})})});
  EXPECT_EQ(apply_and_compare(g, {"fold"}, {.fold_bytes = 255}), "fold: 1 node computed");
  EXPECT_EQ(apply_and_compare(g, {"fold"}, {.fold_bytes = 256}), "fold: 1 node computed");
}

TEST(Fold, NotRandomFunctionOrderedOrRecomputedNodes) {
  SymbolicGraph g;
  const TensorSymbol c = constant_of(g, "c", {2, 2, 1, 1}, 0);
  const TensorSymbol drawn = g.add("uniform seed=3", {c});
  const TensorSymbol own = g.tensor({DType::f32, {2, 2, 1, 1}});
  g.call({"own", [](auto in, auto out) { copy(in[0], out[0]); }}, std::vector{c}, std::vector{own});
  const TensorSymbol again = g.add("exp", {c});
  g.mark_recomputed(g.producer(again), 1);
  const TensorSymbol first = g.add("sin", {c});
  const TensorSymbol second = g.add("cos", {c});
  g.order(g.producer(first), g.producer(second));
  g.set_outputs({drawn, own, again, first, second});
  EXPECT_EQ(apply_and_compare(g, {"fold"}), "fold: nothing");
}

TEST(Fold, AnOutputStaysATensorOfItsOwn) {
  SymbolicGraph g;
  const TensorSymbol y = g.add("exp", {constant_of(g, "c", {3}, 1)});
  const TensorSymbol x = g.input("x", {DType::f32, {3}});
  g.set_outputs({y, g.slice(y, 0, 0, 1), g.add("add", {x, y})});
  EXPECT_EQ(apply_and_compare(g, {"fold"}), "fold: 1 node computed");
  EXPECT_EQ(g.outputs().front(), y);
  EXPECT_EQ(g.info(g.producer(y)).kind, NodeKind::copy);
}

TEST(Fold, ANodeThatFailsStays) {
  SymbolicGraph g;
  const TensorSymbol c = constant_of(g, "c", {3}, 1);
  // No kernel reads memory that is not there: a constant of a device.
  const TensorSymbol far =
      g.constant("far", Tensor::over(const_cast<char*>("memory of a device"), DType::f32, {3}, {1},
                                     {static_cast<DLDeviceType>(12), 0}));
  g.add("neg", {far});
  g.set_outputs({g.add("neg", {c})});
  std::vector<std::string> names = {"fold"};
  EXPECT_EQ(apply_passes(g, names, {.verify = true}).front().text, "fold: 1 node computed");
}

}  // namespace
}  // namespace mote
