// SPDX-License-Identifier: Apache-2.0
// An unrolled LSTM: one node for each step and layer, on views of the sequence.
#include <array>

#include "layers.h"
#include "mote/runtime/command.h"

namespace mote::networks {

Network lstm(Mode mode, const Recurrent& sizes) {
  Layers layers("lstm", mode);
  SymbolicGraph& g = layers.graph();
  const TensorSymbol sequence =
      layers.input("sequence", DType::f32, {sizes.steps, sizes.batch, sizes.features});
  std::vector<TensorSymbol> x;
  for (std::int64_t t = 0; t < sizes.steps; ++t) x.push_back(g.select(sequence, 0, t));
  const Command cell("lstm_cell");
  for (int layer = 0; layer < sizes.layers; ++layer) {
    const std::string name = "lstm" + std::to_string(layer);
    const std::int64_t width = layers.extent(x.front(), 1);
    const TensorSymbol w = layers.parameter(name + ".w", {4, sizes.hidden, width});
    const TensorSymbol r = layers.parameter(name + ".r", {4, sizes.hidden, sizes.hidden});
    const TensorSymbol b = layers.parameter(name + ".b", {4, sizes.hidden});
    const AxisList state = {sizes.batch, sizes.hidden};
    TensorSymbol h = layers.input(name + ".h", DType::f32, state);
    TensorSymbol c = layers.input(name + ".c", DType::f32, state);
    for (TensorSymbol& step : x) {
      const std::array<TensorSymbol, 6> inputs = {step, h, c, w, r, b};
      const NodeSymbol node = g.add_node(cell, inputs);
      step = h = g.output(node, 0);
      c = g.output(node, 1);
    }
  }
  return layers.finish(layers.linear(x.back(), sizes.classes));
}

}  // namespace mote::networks
