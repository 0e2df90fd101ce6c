// A convolution and its bias by cuDNN's graph API, as one graph.
#pragma once

#include "graph.h"

namespace mote::cudnn {

/// y = x * w + b, of 16 bits: the sum of products stays f32 until the bias is added, and is rounded
/// once. Images, channels, then two or three axes; w's channels are those of a group; b is
/// [1,CO,1,1] or [1,CO,1,1,1]. Pads are of one width in front and behind.
struct BiasedConvolution {
  Tensor x, w, b, y;
  Graph::Dims pads, strides, dilations;
};
Graph graph_of(const BiasedConvolution& c);

}  // namespace mote::cudnn
