// SPDX-License-Identifier: Apache-2.0
// A graph that was packed and unpacked is equal to itself, and further changes have the same
// results in both.
#include "packed_graph.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>

#include "changing_graph.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

/// True for tensors of one row-major form whose elements have the same bits.
bool same_bytes(const Tensor& x, const Tensor& y) {
  const auto bytes = static_cast<std::size_t>(x.form().bytes());
  return bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0;
}

/// Returns "" or the first difference, by indices: removed symbols and nodes count too.
std::string difference(const SymbolicGraph& a, const SymbolicGraph& b) {
  if (a.name() != b.name() || &a.registry() != &b.registry()) return "the graphs";
  if (a.version() != b.version()) return "the versions";
  if (a.output_indices() != b.output_indices()) return "the outputs";
  if (a.symbol_count() != b.symbol_count() || a.node_count() != b.node_count()) return "the sizes";
  for (std::uint32_t k = 0; k < a.symbol_count(); ++k) {
    const SymbolInfo& x = a.symbols()[k];
    const SymbolInfo& y = b.symbols()[k];
    const std::string symbol = "symbol " + std::to_string(k);
    if (x.name != y.name || x.kind != y.kind || x.removed != y.removed) return symbol;
    if (x.has_form != y.has_form || x.form != y.form || x.offset != y.offset) return symbol;
    if (x.producer != y.producer || x.base != y.base || x.root != y.root || x.side != y.side)
      return symbol;
    if (x.removed) continue;
    if (!x.name.empty() && (!b.has(x.name) || b.find(x.name) != b.at(k))) return symbol + "'s name";
    if (x.kind == SymbolOrigin::view && a.view_step(a.at(k)) != b.view_step(b.at(k)))
      return symbol + "'s step";
    if (x.kind == SymbolOrigin::constant && !same_bytes(a.value(a.at(k)), b.value(b.at(k))))
      return symbol + "'s value";
  }
  for (std::uint32_t k = 0; k < a.node_count(); ++k) {
    const NodeInfo& x = a.nodes()[k];
    const NodeInfo& y = b.nodes()[k];
    const std::string node = "node " + std::to_string(k);
    if (x.name != y.name || x.kind != y.kind || x.removed != y.removed) return node;
    if (x.recomputed != y.recomputed || x.function != y.function) return node;
    if ((x.command == nullptr) != (y.command == nullptr)) return node;
    if (x.command != nullptr && *x.command != *y.command) return node;
    if (std::bit_cast<std::uint64_t>(x.value) != std::bit_cast<std::uint64_t>(y.value)) return node;
    if (x.inputs != y.inputs || x.outputs != y.outputs || x.after != y.after) return node;
  }
  return "";
}

TEST(PackedGraph, IsEqualWhenUnpacked) {
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    test::ChangingGraph a(seed);
    a.change();
    test::ChangingGraph b = a;
    b.set_graph(PackedGraph(a.graph()).graph());
    ASSERT_EQ(difference(a.graph(), b.graph()), "") << "seed " << seed;
    const int before = a.refused();
    a.change();
    b.change();
    ASSERT_EQ(difference(a.graph(), b.graph()), "") << "seed " << seed << ", changed after it";
    ASSERT_EQ(a.refused(), b.refused()) << "seed " << seed;
    refused += a.refused() - before;
  }
  EXPECT_GT(refused, 2000);  // else second writes and names say nothing
}

TEST(PackedGraph, HasFunctionsAttributesAndLateForms) {
  SymbolicGraph g("functions");
  const TensorSymbol x = g.input("x", DType::f32);
  const TensorSymbol y = g.add("relu", {x});
  const TensorSymbol z = g.tensor({DType::f32, {4}}, "z");
  g.call({"twice", [](std::span<const Tensor>, std::span<const Tensor>) {}}, std::vector{y},
         std::vector{z});
  constexpr GraphAttribute<int> kDepth{"depth"};
  g.attributes().set(kDepth, 7);
  SymbolicGraph h = PackedGraph(g).graph();
  EXPECT_EQ(difference(g, h), "");
  EXPECT_EQ(h.attributes().at(kDepth), 7);
  h.set_form(h.at(x.index), {DType::f32, {4}});
  EXPECT_EQ(to_string(h.form(h.at(y.index))), "f32[4]");
  EXPECT_FALSE(g.info(y).has_form);
}

TEST(PackedGraph, NamesSymbolsAsTheGraphDoes) {
  SymbolicGraph g("names");
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol y = g.add("relu", {x});
  const PackedGraph packed(g);
  EXPECT_EQ(packed.name(), "names");
  EXPECT_EQ(packed.symbol_count(), g.symbol_count());
  EXPECT_EQ(packed.text(x.index), g.text(x));
  EXPECT_EQ(packed.text(y.index), g.text(y));
}

}  // namespace
}  // namespace mote
