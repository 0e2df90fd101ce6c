// SPDX-License-Identifier: Apache-2.0
// The changes that passes make to a graph.
#include <gtest/gtest.h>

#include "mote/runtime/status.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {
namespace {

TEST(Rewrite, PlacesAViewAfterItsNewBase) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4, 4}});
  const TensorSymbol a = g.add("neg", {x});
  const TensorSymbol part = g.slice(a, 0, 1, 2);
  const TensorSymbol b = g.add("neg", {x});
  const TensorSymbol all_of_b = g.permute(b, {0, 1});
  const TensorSymbol c = g.add("neg", {x});
  g.set_outputs({part});
  // The base of `part` becomes a view that stands after it and is placed anew in the same call.
  g.replace_uses({{a.index, all_of_b.index}, {b.index, c.index}});
  EXPECT_EQ(g.info(all_of_b).root, c.index);
  EXPECT_EQ(g.info(part).root, c.index);
  EXPECT_EQ(g.info(part).offset, 4);
  verify(g);
}

TEST(Rewrite, SetAfterReplacesTheNodesThatANodeComesAfter) {
  SymbolicGraph g;
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  std::vector<NodeSymbol> nodes;
  for (int k = 0; k < 3; ++k) nodes.push_back(g.producer(g.add("neg", {x})));
  g.order(nodes[2], nodes[0]);
  g.set_after(nodes[0], std::vector{nodes[1], nodes[1]});
  EXPECT_EQ(g.info(nodes[0]).after, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(topological_order(g), (std::vector<std::uint32_t>{1, 0, 2}));
  EXPECT_THROW(g.set_after(nodes[0], std::vector{nodes[0]}), StatusError);
  g.remove(nodes[2]);
  EXPECT_THROW(g.set_after(nodes[0], std::vector{nodes[2]}), StatusError);
}

}  // namespace
}  // namespace mote
