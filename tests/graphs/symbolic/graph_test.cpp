// SPDX-License-Identifier: Apache-2.0
// The core of symbolic graphs: each element is written once (S1), symbols are typed (S2), the order
// follows from them (S3), shapes may come later (S12), ancestry (S13).
#include <gtest/gtest.h>

#include "error_of.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {
namespace {

using test::error_of;

const Command& relu() {
  static const Command command("relu");
  return command;
}

// ---- S1: single assignment

TEST(Graph, ASecondWriteNamesBothNodes) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol y = g.tensor({DType::f32, {4}}, "y");
  g.write(relu(), std::vector{x}, std::vector{y});
  EXPECT_EQ(error_of([&] { g.write(Command("neg"), std::vector{x}, std::vector{y}); }),
            "symbolic graph: neg would write y, of which node 0 'y' (relu) writes elements");
  EXPECT_EQ(
      error_of([&] { g.fill(g.slice(y, 0, 1, 2), 0); }),
      "symbolic graph: fill would write t2, of which node 0 'y' (relu) writes elements, as y");
  EXPECT_EQ(g.node_count(), 1U);
}

TEST(Graph, DisjointViewsMayEachBeWrittenOnce) {
  SymbolicGraph g;
  const TensorSymbol p = g.tensor({DType::f32, {4, 6}}, "p");
  g.fill(g.slice(p, 1, 0, 2), 1);      // columns 0 and 1
  g.fill(g.slice(p, 1, 2, 2, 2), 2);   // columns 2 and 4
  g.fill(g.slice(p, 1, 5, 2, -2), 3);  // columns 5 and 3
  EXPECT_NO_THROW(verify(g));
  const TensorSymbol again = g.slice(g.slice(p, 0, 1, 1), 1, 3, 1);
  EXPECT_EQ(error_of([&] { g.fill(again, 4); }),
            "symbolic graph: fill would write " + g.text(again) +
                ", of which node 2 't3' (fill) writes elements, as t3");
  EXPECT_EQ(error_of([&] { g.fill(p, 4); }).substr(0, 44),
            "symbolic graph: fill would write p, of which");
}

TEST(Graph, ANodeMayNotWriteAnElementTwice) {
  SymbolicGraph g;
  const TensorSymbol p = g.tensor({DType::f32, {4}}, "p");
  const TensorSymbol none = g.tensor({DType::f32, {0}}, "none");
  const auto call = [&](std::vector<TensorSymbol> outputs) {
    return error_of([&] {
      g.call({"f", [](std::span<const Tensor>, std::span<const Tensor>) {}}, {}, outputs);
    });
  };
  EXPECT_EQ(call({g.slice(p, 0, 0, 2), g.slice(p, 0, 1, 2)}),
            "symbolic graph: function f would write t3 twice");
  EXPECT_EQ(call({none, none}), "symbolic graph: function f would write none twice");
  EXPECT_EQ(call({g.slice(p, 0, 0, 2), g.slice(p, 0, 2, 2), none}), "");
}

TEST(Graph, InputsConstantsAndRepeatedElementsAreNotWritten) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol c = g.constant("c", Tensor(DType::f32, {4}));
  const TensorSymbol p = g.tensor({DType::f32, {1, 4}}, "p");
  EXPECT_EQ(error_of([&] { g.fill(g.slice(x, 0, 0, 1), 0); }),
            "symbolic graph: fill would write t3, which is an input");
  EXPECT_EQ(error_of([&] { g.fill(c, 0); }),
            "symbolic graph: fill would write c, which is a constant");
  EXPECT_EQ(error_of([&] {
              g.fill(g.broadcast_to(p, {3, 4}), 0);
            }),
            "symbolic graph: fill would write t4, whose elements share memory");
}

TEST(Graph, WhatIsRemovedMayBeWrittenAgain) {
  SymbolicGraph g;
  const TensorSymbol p = g.tensor({DType::f32, {4}}, "p");
  const TensorSymbol half = g.slice(p, 0, 0, 2);
  g.remove(g.fill(half, 1));
  g.fill(g.slice(p, 0, 1, 2), 2);
  EXPECT_NE(error_of([&] { g.fill(half, 1); }), "");
  const NodeSymbol gradient =
      g.add_node(Command("add.grad"), std::vector{g.input("x", {DType::f32, {4}})});
  const TensorSymbol left_out = g.output(gradient, 1);
  g.leave_out(gradient, 1);
  EXPECT_NO_THROW(g.fill(left_out, 1));
}

TEST(Graph, OutputsOfACommandMustBeThoseThatItHas) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol y = g.tensor({DType::f32, {4}}, "y");
  const TensorSymbol z = g.tensor({DType::f32, {4}}, "z");
  EXPECT_EQ(error_of([&] {
              g.write(relu(), std::vector{x}, std::vector{y, z});
            }),
            "symbolic graph: relu has 1 outputs, got 2");
  EXPECT_EQ(error_of([&] { g.write(relu(), std::vector{x}, std::vector<TensorSymbol>{}); }),
            "symbolic graph: output y of relu cannot be left out");
  const TensorSymbol wide = g.tensor({DType::f64, {4}}, "wide");
  EXPECT_EQ(error_of([&] { g.write(relu(), std::vector{x}, std::vector{wide}); }),
            "symbolic graph: relu gives f32[4], but wide is f64[4]");
  EXPECT_EQ(g.node_count(), 0U);
  EXPECT_NO_THROW(g.write(relu(), std::vector{x}, std::vector{y}));
}

// ---- S2: forms

TEST(Graph, SymbolsHaveFormsAndConversionsAreNodes) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {2, 3}, {1, 2}, {kDLCUDA, 0}});
  EXPECT_EQ(to_string(g.form(g.add("relu", {x}))), "f32[2,3]@2:0");
  const TensorSymbol h = g.convert(x, {DType::f16, {2, 3}, {1, 2}});
  EXPECT_EQ(to_string(g.form(h)), "f16[2,3]:1,2");
  EXPECT_EQ(g.info(g.producer(h)).kind, NodeKind::copy);
  EXPECT_EQ(error_of([&] {
              g.convert(x, {DType::f16, {3, 2}});
            }),
            "symbolic graph: conversion of x f32[2,3]:1,2@2:0 to f16[3,2]: the shapes differ");
  EXPECT_NE(error_of([&] { g.add("matmul", {x, x}); }), "");
}

TEST(Graph, ViewsOfViewsAreRegionsOfTheRoot) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4, 6}});
  const TensorSymbol v = g.select(g.permute(g.slice(x, 1, 5, 3, -2), {1, 0}), 1, 2);
  EXPECT_EQ(g.region(v), (ViewRegion{{DType::f32, {3}, {-2}}, 17}));
  EXPECT_EQ(g.root(v), x);
  EXPECT_EQ(g.view_step(v), (ViewStep{ViewKind::select, {1, 2}}));
}

// ---- S3: order

TEST(Graph, OrderFollowsFromElementsAndFromOrder) {
  SymbolicGraph g;
  const TensorSymbol p = g.tensor({DType::f32, {4}}, "p");
  const TensorSymbol left = g.slice(p, 0, 0, 2);
  const TensorSymbol right = g.slice(p, 0, 2, 2);
  const NodeSymbol reads = g.producer(g.add("neg", {right}));  // added before it is written
  const NodeSymbol writes_left = g.fill(left, 1);
  const NodeSymbol writes_right = g.fill(right, 2);
  const IndexLists before = predecessors(g);
  EXPECT_EQ(std::vector(before[reads.index].begin(), before[reads.index].end()),
            std::vector{writes_right.index});
  EXPECT_EQ(topological_order(g), (std::vector<std::uint32_t>{1, 2, 0}));
  g.order(reads, writes_left);
  EXPECT_EQ(topological_order(g), (std::vector<std::uint32_t>{2, 0, 1}));
  g.order(writes_left, writes_right);
  EXPECT_EQ(error_of([&] { topological_order(g); }),
            "symbolic graph: graph has a cycle of 3 nodes: node 1 't1' (fill), node 2 't2' (fill), "
            "node 0 't3' (neg)");
}

TEST(Graph, AnEdgeIsKeptOnce) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const NodeSymbol a = g.producer(g.add("neg", {x}));
  const NodeSymbol b = g.producer(g.add("neg", {x}));
  for (int k = 0; k < 3; ++k) g.order(a, b);
  EXPECT_EQ(g.info(b).after, std::vector{a.index});
  SymbolicGraph copy = g;
  copy.order(copy.node_at(0), copy.node_at(1));
  EXPECT_EQ(copy.nodes()[1].after, std::vector{a.index});
  copy.set_after(copy.node_at(1), {});
  copy.order(copy.node_at(0), copy.node_at(1));
  EXPECT_EQ(copy.nodes()[1].after, std::vector{a.index});
}

// ---- S12: shapes that come later

TEST(Graph, ShapesMayComeLater) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", DType::f16);
  const TensorSymbol w = g.input("w", DType::f16);
  const TensorSymbol h = g.add("matmul", {x, w});
  const TensorSymbol y = g.add("relu", {h});
  EXPECT_EQ(error_of([&] { (void)g.form(y); }), "symbolic graph: the shape of t3 is not known yet");
  EXPECT_EQ(g.info(y).form->dtype, DType::f16);
  EXPECT_EQ(ancestors(g, std::vector{y}), (std::vector{true, true}));
  EXPECT_EQ(descendants(g, std::vector{x}), (std::vector{true, true}));
  verify(g);
  g.set_form(x, {DType::f16, {2, 3}, {3, 1}, {kDLCPU, 0}});
  EXPECT_FALSE(g.info(h).has_form);
  g.set_form(w, {DType::f16, {3, 5}});
  EXPECT_EQ(to_string(g.form(y)), "f16[2,5]");
  verify(g);
}

TEST(Graph, AViewNeedsTheShapeOfWhatItIsAViewOf) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", DType::f32), w = g.input("w", DType::f32);
  const TensorSymbol h = g.add("matmul", {x, w});
  const std::string expected =
      " is not known yet: expected shapes of all inputs (set_form), got none of ";
  EXPECT_EQ(error_of([&] { g.slice(h, 0, 0, 1); }),
            "symbolic graph: slice: the shape of t2" + expected + "x, w");
  EXPECT_EQ(error_of([&] { g.reshape(x, {6}); }),
            "symbolic graph: reshape: the shape of x" + expected + "x, w");
  EXPECT_EQ(g.symbol_count(), 3U);
  g.set_form(x, {DType::f32, {2, 3}});
  EXPECT_EQ(error_of([&] {
              g.permute(h, {1, 0});
            }),
            "symbolic graph: permute: the shape of t2" + expected + "w");
  EXPECT_EQ(to_string(g.form(g.reshape(x, {6}))), "f32[6]");
}

TEST(Graph, AShapeThatDoesNotFitIsRefusedAndChangesNothing) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", DType::f32);
  const TensorSymbol w = g.input("w", {DType::f32, {3, 5}});
  const TensorSymbol first = g.add("relu", {x});
  const TensorSymbol h = g.add("matmul", {first, w});
  EXPECT_NE(error_of([&] { g.set_form(x, {DType::f32, {2, 4}}); }), "");
  EXPECT_FALSE(g.info(x).has_form);
  EXPECT_FALSE(g.info(first).has_form);
  EXPECT_EQ(error_of([&] {
              g.set_form(x, {DType::f64, {2, 3}});
            }),
            "symbolic graph: x has the dtype f32, got f64[2,3]");
  EXPECT_EQ(error_of([&] {
              g.set_form(h, {DType::f32, {2, 5}});
            }),
            "symbolic graph: t3 is no input, so that its form follows from others");
  g.set_form(x, {DType::f32, {2, 3}});
  EXPECT_NO_THROW(g.set_form(x, {DType::f32, {2, 3}}));
  EXPECT_EQ(error_of([&] {
              g.set_form(x, {DType::f32, {4, 3}});
            }),
            "symbolic graph: the form of x is f32[2,3] already, got f32[4,3]");
}

TEST(Graph, AShapeThatComesLaterMustFitWhatIsWritten) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", DType::f32);
  const TensorSymbol y = g.tensor({DType::f32, {4}}, "y");
  g.write(relu(), std::vector{x}, std::vector{y});
  EXPECT_EQ(error_of([&] {
              g.set_form(x, {DType::f32, {5}});
            }),
            "symbolic graph: node 0 'y' (relu) gives f32[5], but y is f32[4]");
  EXPECT_NO_THROW(g.set_form(x, {DType::f32, {4}}));
}

TEST(Graph, LateFormsKeepTheirDevice) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", DType::f32);
  const TensorSymbol w = g.input("w", {DType::f32, {4}, {1}, {kDLCUDA, 0}});
  const TensorSymbol y = g.add("add", {x, w});
  g.set_form(x, {DType::f32, {4}, {1}, {kDLCUDA, 0}});
  EXPECT_EQ(to_string(g.form(y)), "f32[4]@2:0");
  EXPECT_EQ(error_of([&] { g.add("add", {x, w, w}); }), "add: takes at most 2 inputs, got 3");
  const TensorSymbol z = g.input("z", DType::f32);
  EXPECT_EQ(error_of([&] { g.add("add", {z, w, w}); }), "add: takes at most 2 inputs, got 3");
}

// ---- S13: ancestry

TEST(Graph, AncestryFollowsElements) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol p = g.tensor({DType::f32, {4}}, "p");
  const TensorSymbol left = g.slice(p, 0, 0, 2);
  const TensorSymbol right = g.slice(p, 0, 2, 2);
  g.write(relu(), std::vector{g.slice(x, 0, 0, 2)}, std::vector{left});   // 0
  g.write(relu(), std::vector{g.slice(x, 0, 2, 2)}, std::vector{right});  // 1
  const TensorSymbol a = g.add("neg", {g.slice(p, 0, 1, 1)});             // 2
  const TensorSymbol b = g.add("neg", {p});                               // 3
  EXPECT_EQ(ancestors(g, std::vector{a}), (std::vector{true, false, true, false}));
  EXPECT_EQ(ancestors(g, std::vector{a, b}), (std::vector{true, true, true, true}));
  EXPECT_EQ(ancestors(g, std::vector{right}), (std::vector{false, true, false, false}));
  EXPECT_EQ(descendants(g, std::vector{g.slice(x, 0, 3, 1)}),
            (std::vector{false, true, false, true}));
  EXPECT_EQ(descendants(g, std::vector{left}), (std::vector{false, false, true, true}));
  EXPECT_EQ(descendants(g, std::vector{x}), (std::vector{true, true, true, true}));
  EXPECT_NE(error_of([&] { ancestors(g, std::vector{TensorSymbol{}}); }), "");
  EXPECT_NE(error_of([&] { descendants(g, std::vector{SymbolicGraph().input("x", DType::f32)}); }),
            "");
}

}  // namespace
}  // namespace mote
