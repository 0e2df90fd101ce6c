// SPDX-License-Identifier: Apache-2.0
// A convolution with its bias, and its activation, by cuDNN's graph API, as one graph.
#pragma once

#include "graph.h"

namespace mote::cudnn {

/// y = x * w + b, or max(x * w + b, 0): the sum of products stays f32 to the end, and is rounded
/// once. The axes are images, channels, then two or three spatial axes; w's channels are those of a
/// group; b is [1,CO,1,1] or [1,CO,1,1,1]. Pads have the same width before and after.
struct FusedConvolution {
  Tensor x, w, b, y;
  bool is_rectified = false;
  Graph::Dims pads = {}, strides = {}, dilations = {};
};
Graph graph_of(const FusedConvolution& c);

}  // namespace mote::cudnn
