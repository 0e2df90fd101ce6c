// SPDX-License-Identifier: Apache-2.0
// ResNet: a stem, stages of bottlenecks, a linear layer.
#include "layers.h"

namespace mote::networks {
namespace {

constexpr std::int64_t kExpansion = 4;

TensorSymbol bottleneck(Layers& layers, TensorSymbol x, std::int64_t width, std::int64_t stride) {
  TensorSymbol y = layers.relu(layers.batch_norm(layers.conv2d(x, width, {})));
  y = layers.relu(layers.batch_norm(layers.conv2d(y, width, {3, stride, 1})));
  y = layers.batch_norm(layers.conv2d(y, kExpansion * width, {}));
  TensorSymbol shortcut = x;
  if (stride != 1 || layers.extent(x, 1) != kExpansion * width)
    shortcut = layers.batch_norm(layers.conv2d(x, kExpansion * width, {1, stride, 0}));
  return layers.relu(layers.graph().add("add", {y, shortcut}));
}

}  // namespace

Network resnet(Mode mode, const Images& images, const std::vector<int>& blocks,
               std::int64_t width) {
  Layers layers("resnet", mode);
  TensorSymbol x = layers.input("images", DType::f32, {images.batch, 3, images.size, images.size});
  x = layers.relu(layers.batch_norm(layers.conv2d(x, width, {7, 2, 3})));
  x = layers.max_pool(x, {3, 2, 1});
  for (std::size_t stage = 0; stage < blocks.size(); ++stage)
    for (int block = 0; block < blocks[stage]; ++block)
      x = bottleneck(layers, x, width << stage, stage > 0 && block == 0 ? 2 : 1);
  return layers.finish(layers.linear(layers.global_average(x), images.classes));
}

}  // namespace mote::networks
