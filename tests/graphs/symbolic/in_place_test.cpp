// SPDX-License-Identifier: Apache-2.0
// Outputs that may take the memory of an input: the pair, and a refusal for each condition.
#include "mote/symbolic/in_place.h"

#include <gtest/gtest.h>

#include "mote/symbolic/dependencies.h"

namespace mote {
namespace {

/// The graph h = sin(x), y = relu(h), where relu may be in place.
struct Chain {
  SymbolicGraph g;
  TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  TensorSymbol h = g.add("sin", {x});
  TensorSymbol y = g.add("relu", {h});
  Chain() { g.set_outputs({y}); }
};

std::vector<NodeInPlacePair> pairs_of(const SymbolicGraph& g,
                                      std::span<const TensorSymbol> bound = {}) {
  return in_place_pairs(g, topological_order(g), bound);
}

TEST(InPlace, LastReaderOfATensorThatNodesWrite) {
  const Chain c;
  EXPECT_EQ(pairs_of(c.g), (std::vector<NodeInPlacePair>{{1, 0, 0}}));
}

TEST(InPlace, NotWhereTheOpDoesNotPromiseThePair) {
  Chain c;
  const TensorSymbol z = c.g.add("cumsum axis=1", {c.y});
  c.g.set_outputs({z});
  EXPECT_EQ(pairs_of(c.g), (std::vector<NodeInPlacePair>{{1, 0, 0}}));  // cumsum is not in place
}

TEST(InPlace, NotForCopiesAndFunctions) {
  Chain c;
  const TensorSymbol a = c.g.convert(c.y, {DType::f32, {2, 3}});
  const TensorSymbol b = c.g.tensor({DType::f32, {2, 3}});
  c.g.call({"any", [](auto, auto) {}}, std::vector{a}, std::vector{b});
  c.g.set_outputs({b});
  EXPECT_EQ(pairs_of(c.g), (std::vector<NodeInPlacePair>{{1, 0, 0}}));
}

TEST(InPlace, NotBeforeALaterReader) {
  Chain c;
  c.g.add("neg", {c.h});
  // neg itself is the last reader.
  EXPECT_EQ(pairs_of(c.g), (std::vector<NodeInPlacePair>{{2, 0, 0}}));
  EXPECT_EQ(in_place_pairs(c.g, std::vector<std::uint32_t>{0, 2, 1}),
            (std::vector<NodeInPlacePair>{{1, 0, 0}}));
}

TEST(InPlace, NotBeforeALaterReaderOfAView) {
  Chain c;
  c.g.add("cos", {c.g.reshape(c.g.permute(c.g.slice(c.h, 0, 1, 1), {1, 0}), {3})});
  EXPECT_TRUE(pairs_of(c.g).empty());
}

TEST(InPlace, NotBesideAReaderThatNothingOrders) {
  Chain c;
  c.g.add("softmax axis=1", {c.h});
  const DoneBefore by_data = [](std::uint32_t a, std::uint32_t b) { return a == 0 && b > 0; };
  EXPECT_TRUE(in_place_pairs(c.g, by_data).empty());
  const DoneBefore ordered = [](std::uint32_t a, std::uint32_t b) {
    return a == 0 || (a == 2 && b == 1);
  };
  EXPECT_EQ(in_place_pairs(c.g, ordered), (std::vector<NodeInPlacePair>{{1, 0, 0}}));
}

TEST(InPlace, NotForAnotherForm) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}});
  const TensorSymbol b = g.input("b", {DType::f32, {4, 2, 3}});
  const TensorSymbol small = g.add("sin", {x});
  const TensorSymbol sum = g.add("add", {small, b});  // small repeats: another shape
  const TensorSymbol strided = g.convert(sum, {DType::f32, {4, 2, 3}, {1, 4, 8}});
  const TensorSymbol y = g.add("relu", {strided});  // other strides
  const TensorSymbol z = g.tensor({DType::f32, {4, 2, 3}, {1, 4, 8}});
  g.write(Command("relu", {}), std::vector{y}, std::vector{z});
  EXPECT_TRUE(pairs_of(g).empty());
}

TEST(InPlace, NotForAPartOrAPermutationOfARoot) {
  SymbolicGraph g;
  const TensorSymbol h = g.add("sin", {g.input("x", {DType::f32, {4, 4}})});
  g.set_outputs({g.add("relu", {g.slice(h, 0, 0, 2)})});
  EXPECT_TRUE(pairs_of(g).empty());
  SymbolicGraph f;
  const TensorSymbol p = f.add("sin", {f.input("x", {DType::f32, {4, 4}})});
  f.set_outputs({f.add("relu", {f.permute(p, {1, 0})})});
  EXPECT_TRUE(pairs_of(f).empty());
}

TEST(InPlace, ForAViewOfAllOfARoot) {
  SymbolicGraph g;
  const TensorSymbol h = g.add("sin", {g.input("x", {DType::f32, {4, 4}})});
  g.set_outputs({g.add("relu", {g.reshape(h, {2, 8})})});
  EXPECT_EQ(pairs_of(g), (std::vector<NodeInPlacePair>{{1, 0, 0}}));
}

TEST(InPlace, NotForOutputsOfTheGraphOrViewsThatAre) {
  Chain c;
  c.g.set_outputs({c.y, c.h});
  EXPECT_TRUE(pairs_of(c.g).empty());
  c.g.set_outputs({c.y, c.g.slice(c.h, 0, 0, 1)});
  EXPECT_TRUE(pairs_of(c.g).empty());
}

TEST(InPlace, NotForBoundTensors) {
  Chain c;
  EXPECT_TRUE(pairs_of(c.g, std::vector{c.y}).empty());
  EXPECT_TRUE(pairs_of(c.g, std::vector{c.h}).empty());
}

TEST(InPlace, NotForInputsConstantsAndWhatIsAlwaysZero) {
  SymbolicGraph g;
  g.add("relu", {g.input("x", {DType::f32, {3}})});
  g.add("relu", {g.constant("c", Tensor(DType::f32, {3}))});
  g.add("relu", {g.zeros({DType::f32, {3}})});
  EXPECT_TRUE(pairs_of(g).empty());
}

TEST(InPlace, ForZerosThatNodesWrite) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {3}});
  const TensorSymbol z = g.zeros({DType::f32, {4}});
  g.write(Command("sin", {}), std::vector{x}, std::vector{g.slice(z, 0, 1, 3)});
  g.set_outputs({g.add("relu", {z})});
  EXPECT_EQ(pairs_of(g), (std::vector<NodeInPlacePair>{{1, 0, 0}}));
}

TEST(InPlace, NotIfALaterNodeWritesTheRoot) {
  // Only a node that writes no element can come after one that reads all of them.
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {0}});
  const TensorSymbol h = g.tensor({DType::f32, {0}});
  const NodeSymbol relu = g.node_at(0);
  const TensorSymbol y = g.add("relu", {h});
  const NodeSymbol later =
      g.write(Command("sin", {}), std::vector{x}, std::vector{g.slice(h, 0, 0, 0)});
  g.set_outputs({y});
  EXPECT_TRUE(in_place_pairs(g, std::vector{relu.index, later.index}).empty());
  EXPECT_EQ(in_place_pairs(g, std::vector{later.index, relu.index}),
            (std::vector<NodeInPlacePair>{{0, 0, 0}}));
}

TEST(InPlace, NotIntoAViewOrZeros) {
  for (const bool is_view : {true, false}) {
    Chain c;
    const TensorSymbol root =
        is_view ? c.g.tensor({DType::f32, {2, 2, 3}}) : c.g.zeros({DType::f32, {2, 3}});
    const TensorSymbol to = is_view ? c.g.select(root, 0, 0) : root;
    c.g.write(Command("relu", {}), std::vector{c.h}, std::vector{to});
    EXPECT_TRUE(pairs_of(c.g).empty()) << is_view;
  }
}

TEST(InPlace, NotIfAnotherInputSharesTheMemory) {
  SymbolicGraph g;
  const TensorSymbol h = g.add("sin", {g.input("x", {DType::f32, {3}})});
  g.set_outputs({g.add("add", {h, h})});
  EXPECT_TRUE(pairs_of(g).empty());
  const TensorSymbol k = g.add("sin", {g.find("x")});
  g.set_outputs({g.add("add", {k, g.slice(k, 0, 2, 1)})});
  EXPECT_TRUE(pairs_of(g).empty());
}

TEST(InPlace, AnOutputTakesOneInputAndAnInputGivesToOneOutput) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {3}});
  const TensorSymbol a = g.add("sin", {x});
  const TensorSymbol b = g.add("cos", {x});
  const TensorSymbol y = g.add("add", {a, b});  // promises both inputs
  g.set_outputs({y});
  EXPECT_EQ(pairs_of(g), (std::vector<NodeInPlacePair>{{2, 0, 0}}));
  SymbolicGraph f;
  std::vector<TensorSymbol> state;
  for (const char* name : {"w", "gw", "m", "v"})
    state.push_back(f.add("sin", {f.input(name, {DType::f32, {3}})}));
  const Setting step("step", 1);
  const NodeSymbol adam = f.add_node(Command("adam", {step}), state);
  std::vector<TensorSymbol> outputs;
  for (std::size_t k = 0; k < 3; ++k) outputs.push_back(f.output(adam, k));
  f.set_outputs(outputs);
  EXPECT_EQ(pairs_of(f), (std::vector<NodeInPlacePair>{{4, 0, 0}, {4, 2, 1}, {4, 3, 2}}));
}

TEST(InPlace, FollowsChains) {
  SymbolicGraph g;
  TensorSymbol h = g.add("sin", {g.input("x", {DType::f32, {3}})});
  for (int k = 0; k < 4; ++k) h = g.add("relu", {h});
  g.set_outputs({h});
  EXPECT_EQ(pairs_of(g).size(), 4U);
}

}  // namespace
}  // namespace mote
