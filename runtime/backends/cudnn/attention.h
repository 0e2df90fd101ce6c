// Attention by cuDNN's graph API, as a graph.
#pragma once

#include <optional>

#include "graph.h"

namespace mote::cudnn {

/// y[B,H,T,E] = p v, p = softmax over s of scale q kᵀ (+ mask), of q[B,H,T,D], k[B,HK,S,D],
/// v[B,HK,S,E]; each H/HK heads share one of k and v. Causal: key s counts for query t where s <=
/// t. p is rounded to y's dtype before it is multiplied.
struct AttentionCall {
  Tensor q, k, v, y;
  std::optional<Tensor> mask = {};  ///< [1|B,1|H,1|T,1|S]
  double scale = 1;
  bool causal = false;
};

Graph graph_of(const AttentionCall& a);

}  // namespace mote::cudnn
