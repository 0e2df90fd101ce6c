// SPDX-License-Identifier: Apache-2.0
// A graph whose gradients are written by tiles.
#pragma once

#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// A convolution b, of which relus read tiles and write those of c, which is pooled.
struct TiledGraph {
  explicit TiledGraph(int tiles) {
    image = g.input("image", {DType::f64, {1, 1, 4, 4}});
    w = g.input("w", {DType::f64, {2, 1, 1, 1}});
    b = g.add("conv2d", {image, w});
    c = tiles == 4 ? g.tensor(g.form(b), "c") : g.zeros(g.form(b), "c");
    for (int t = 0; t < tiles; ++t)
      g.write(Command("relu", {}), std::vector{tile(b, t)}, std::vector{tile(c, t)});
    d = g.add("global_avg_pool", {c});
  }
  /// Tile t: channel t mod 2, the upper or lower half.
  TensorSymbol tile(TensorSymbol x, int t) {
    return g.slice(g.slice(x, 1, t % 2, 1), 2, t / 2 * 2, 2);
  }

  SymbolicGraph g;
  TensorSymbol image, w, b, c, d;
};

}  // namespace mote
