// SPDX-License-Identifier: Apache-2.0
#include "fused_convolution.h"

namespace mote::cudnn {

Graph graph_of(const FusedConvolution& c) {
  Graph graph;
  const Graph::Node products = graph.between(c.y.dims), y = graph.tensor(c.y);
  graph.convolve({.x = graph.tensor(c.x),
                  .w = graph.tensor(c.w),
                  .y = products,
                  .pads = c.pads,
                  .strides = c.strides,
                  .dilations = c.dilations});
  const Graph::Node sums = c.is_rectified ? graph.between(c.y.dims) : y;
  graph.map_into(sums, kAdd, products, graph.tensor(c.b));
  if (c.is_rectified) graph.map_into(y, kRectify, sums);
  return graph;
}

}  // namespace mote::cudnn
