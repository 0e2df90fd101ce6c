// SPDX-License-Identifier: Apache-2.0
// Small networks: linear layers, a CNN, one residual block.
#include "layers.h"

namespace mote::networks {

Network mlp(Mode mode, std::int64_t batch, const std::vector<std::int64_t>& widths) {
  Layers layers("mlp", mode);
  TensorSymbol x = layers.input("rows", DType::f32, {batch, widths.front()});
  for (std::size_t k = 1; k < widths.size(); ++k) {
    if (k > 1) x = layers.relu(x);
    x = layers.linear(x, widths[k]);
  }
  return layers.finish(x);
}

Network cnn(Mode mode, const Images& images, std::int64_t width) {
  Layers layers("cnn", mode);
  TensorSymbol x = layers.input("images", DType::f32, {images.batch, 1, images.size, images.size});
  for (const std::int64_t channels : {width, 2 * width}) {
    x = layers.relu(layers.batch_norm(layers.conv2d(x, channels, {3, 1, 1})));
    x = layers.max_pool(x, {2, 2, 0});
  }
  const std::int64_t features = layers.extent(x, 1) * layers.extent(x, 2) * layers.extent(x, 3);
  x = layers.graph().reshape(x, {images.batch, features});
  return layers.finish(layers.linear(x, images.classes));
}

Network residual_block(Mode mode, const Images& images, std::int64_t channels) {
  Layers layers("residual_block", mode);
  const TensorSymbol x =
      layers.input("images", DType::f32, {images.batch, channels, images.size, images.size});
  TensorSymbol y = layers.relu(layers.batch_norm(layers.conv2d(x, channels, {3, 1, 1})));
  y = layers.batch_norm(layers.conv2d(y, channels, {3, 1, 1}));
  y = layers.relu(layers.graph().add("add", {x, y}));
  return layers.finish(layers.linear(layers.global_average(y), images.classes));
}

}  // namespace mote::networks
