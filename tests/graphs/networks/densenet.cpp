// SPDX-License-Identifier: Apache-2.0
// DenseNet: each layer of a block reads the channels of all before it and adds some. With views a
// block is one tensor, which the layers write piece by piece.
#include "layers.h"

namespace mote::networks {
namespace {

constexpr std::int64_t kBottleneck = 4;

/// The channels of a block, of which the first `filled` are written.
class Block {
 public:
  Block(Layers& layers, Join join, const AxisList& shape, std::int64_t all) : layers_(layers) {
    AxisList whole = shape;
    whole[1] = all;
    if (join == Join::views) tensor_ = layers.graph().tensor({DType::f32, whole});
  }
  /// The symbol that the next piece is to be written to; none where pieces are concatenated.
  TensorSymbol place(std::int64_t channels) {
    return tensor_ ? layers_.graph().slice(tensor_, 1, filled_, channels) : TensorSymbol();
  }
  void add(TensorSymbol piece) {
    filled_ += layers_.extent(piece, 1);
    if (tensor_)
      joined_ = filled_ == layers_.extent(tensor_, 1)
                    ? tensor_
                    : layers_.graph().slice(tensor_, 1, 0, filled_);
    else
      joined_ = joined_ ? layers_.graph().add("concat axis=1", {joined_, piece}) : piece;
  }
  TensorSymbol joined() const { return joined_; }

 private:
  Layers& layers_;
  TensorSymbol tensor_ = {};
  TensorSymbol joined_ = {};
  std::int64_t filled_ = 0;
};

TensorSymbol activated(Layers& layers, TensorSymbol x) { return layers.relu(layers.batch_norm(x)); }

}  // namespace

Network densenet(Mode mode, const Images& images, Join join, const std::vector<int>& layer_counts,
                 std::int64_t growth) {
  Layers layers("densenet", mode);
  TensorSymbol x = layers.input("images", DType::f32, {images.batch, 3, images.size, images.size});
  x = layers.relu(layers.batch_norm(layers.conv2d(x, 2 * growth, {7, 2, 3})));
  Window pool = {3, 2, 1};
  for (std::size_t b = 0; b < layer_counts.size(); ++b) {
    // The block begins with the pooled output of what is before it.
    const std::int64_t channels = layers.extent(x, 1);
    const std::int64_t size = (layers.extent(x, 2) + 2 * pool.pad - pool.size) / pool.stride + 1;
    Block block(layers, join, {images.batch, channels, size, size},
                channels + layer_counts[b] * growth);
    const TensorSymbol location = block.place(channels);
    block.add(b == 0 ? layers.max_pool(x, pool, location) : layers.average_pool(x, pool, location));
    for (int k = 0; k < layer_counts[b]; ++k) {
      const TensorSymbol narrow =
          layers.conv2d(activated(layers, block.joined()), kBottleneck * growth, {});
      block.add(layers.conv2d(activated(layers, narrow), growth, {3, 1, 1}, block.place(growth)));
    }
    x = activated(layers, block.joined());
    if (b + 1 < layer_counts.size()) x = layers.conv2d(x, layers.extent(x, 1) / 2, {});
    pool = {2, 2, 0};
  }
  return layers.finish(layers.linear(layers.global_average(x), images.classes));
}

}  // namespace mote::networks
