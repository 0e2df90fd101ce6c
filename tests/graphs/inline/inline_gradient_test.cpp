// SPDX-License-Identifier: Apache-2.0
// Gradients of graphs that are more than one op on its own axes, against those of uops.
#include <gtest/gtest.h>

#include "graphs/symbolic/tiled_graph.h"
#include "inlined_checks.h"
#include "mote/runtime/command.h"

namespace mote {
namespace {

TEST(InlinedGradient, TakesMoreAxesThanTheOpHas) {
  InlinedCase c;
  const TensorSymbol x = c.spread("x", {2, 3, 4}, -2, 2, 1);
  const TensorSymbol gamma = c.spread("gamma", {4}, -3, 3, 2);
  const TensorSymbol beta = c.spread("beta", {4}, -1, 2, 3);
  c.of = {c.g.add("layer_norm", {x, gamma, beta})};
  expect_gradients(c, Agreement::bounded);
}

TEST(InlinedGradient, OfAnOpWithSeveralOutputsTakesThoseThatCome) {
  for (int used = 1; used < 8; ++used) {
    InlinedCase c;
    const TensorSymbol x = c.spread("x", {3, 4}, -2, 2, 1);
    const NodeSymbol node = c.g.add_node(Command("layer_norm_with_statistics", {}),
                                         std::vector{x, TensorSymbol{}, TensorSymbol{}});
    std::vector<TensorSymbol> parts;
    for (std::size_t k = 0; k < 3; ++k)
      if ((used >> k & 1) != 0)
        parts.push_back(
            c.g.add("sum axis=0", {c.g.add("mul", {c.g.output(node, k), c.g.output(node, k)})}));
    TensorSymbol f = parts.front();
    for (std::size_t k = 1; k < parts.size(); ++k) f = c.g.add("add", {f, parts[k]});
    c.of = {f};
    SCOPED_TRACE(used);
    expect_gradients(c, Agreement::bounded);
  }
}

TEST(InlinedGradient, OfTilesIsExact) {
  for (const int tiles : {2, 4}) {
    TiledGraph net(tiles);
    InlinedCase values;
    values.distinct("image", {1, 1, 4, 4}, 1);
    values.whole("w", {2, 1, 1, 1}, 2);
    InlinedCase c;
    c.bindings = {{net.image, values.bindings[0].second}, {net.w, values.bindings[1].second}};
    c.wrt = {net.image, net.w};
    c.of = {net.d};
    c.g = std::move(net.g);
    SCOPED_TRACE(tiles);
    expect_gradients(c, Agreement::exact);
  }
}

}  // namespace
}  // namespace mote
