// SPDX-License-Identifier: Apache-2.0
// Attention by cuDNN's graph API, and its gradient, as graphs.
#pragma once

#include <optional>

#include "graph.h"

namespace mote::cudnn {

/// y[B,H,T,E] = p v, p = softmax over s of scale q kᵀ (+ mask), of q[B,H,T,D], k[B,HK,S,D],
/// v[B,HK,S,E]; each H/HK heads share one of k and v. Causal: key s counts for query t if s <= t. p
/// is rounded to y's dtype before it is multiplied.
struct AttentionCall {
  Tensor q, k, v;
  Tensor y = {};
  std::optional<Tensor> mask = {};  ///< [1|B,1|H,1|T,1|S]
  std::optional<Tensor> sums = {};  ///< receives the logarithms of softmax's sums, f32[B,H,T,1]
  double scale = 1;
  bool causal = false;
};
Graph graph_of(const AttentionCall& a);

/// The gradients of q, k and v from y's gradient; it reads the forward graph's y and sums.
struct AttentionGradientCall {
  AttentionCall forward;
  Tensor gy, gq, gk, gv;
};
Graph graph_of(const AttentionGradientCall& g);

/// Reads the inputs of a call from q on, and its parameters; y is left empty.
AttentionCall operands_of(const Reader& call, int first);
/// Checks for rank 4 with the last axis adjacent, as cuDNN requires of attention's tensors.
Tensor with_adjacent_rows(Tensor t);

/// Adds scale q kᵀ (+ mask), [B,H,T,S]; `transposed` is k with its last axes swapped.
Graph::Node scores_of(Graph& graph, const AttentionCall& a, const Graph::Node& q,
                      const Graph::Node& transposed, const Graph::Node& scale);
/// Replaces the scores of keys after the query by the least float.
Graph::Node hide_later_keys(Graph& graph, const Graph::Node& s);
Tensor with_last_axes_swapped(Tensor t);

}  // namespace mote::cudnn
