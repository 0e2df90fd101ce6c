#include "biased_convolution.h"

namespace mote::cudnn {

Graph graph_of(const BiasedConvolution& c) {
  Graph graph;
  const Graph::Node sums = graph.between(c.y.dims);
  graph.convolve({.x = graph.tensor(c.x),
                  .w = graph.tensor(c.w),
                  .y = sums,
                  .pads = c.pads,
                  .strides = c.strides,
                  .dilations = c.dilations});
  graph.map_into(graph.tensor(c.y), kAdd, sums, graph.tensor(c.b));
  return graph;
}

}  // namespace mote::cudnn
