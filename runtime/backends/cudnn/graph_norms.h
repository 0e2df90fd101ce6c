// SPDX-License-Identifier: Apache-2.0
// Norms by cuDNN's graph API, as graphs.
#pragma once

#include <optional>
#include <utility>

#include "graph.h"

namespace mote::cudnn {

/// Of tensors of these graphs.
constexpr std::size_t kNormRank = 4;

/// A tensor of the call; cuDNN's norms want the elements of one without gaps.
Tensor without_gaps(Tensor t);
/// A dense tensor as rows.
Tensor as_rows(Tensor t, std::int64_t rows);

/// y = (x - mean) / sqrt(variance + eps) * gamma + beta, or without the mean (kRmsNorm). x and y
/// lie without gaps. kLayerNorm, kRmsNorm: over the rows of x[R,N,1,1], gamma and beta are
/// [1,N,1,1], statistics [R,1,1,1]. kInstanceNorm: over s of x[N,C,S,1], gamma and beta are
/// [1,C,1,1].
struct NormCall {
  int mode = kLayerNorm;
  Tensor x, y;
  std::optional<Tensor> gamma = {}, beta = {};
  std::optional<std::pair<Tensor, Tensor>> statistics = {};  ///< mean, 1 / sqrt(variance + eps)
  double eps = 0;
};

Graph graph_of(const NormCall& norm);

/// inverse[R,1,1,1] = 1 / sqrt(mean x^2 + eps) of the rows of x[R,N,1,1]; y = x * inverse is
/// written too.
Graph inverse_deviation(const Tensor& x, const Tensor& y, const Tensor& inverse, double eps);

/// The gradients of NormCall's x, gamma and beta from y's, where statistics are known; gamma is
/// there, and beta but for kRmsNorm, which has no mean either.
struct NormGradientCall {
  int mode = kLayerNorm;
  Tensor gy, x, gamma, inverse;
  std::optional<Tensor> mean = {};
  Tensor gx, ggamma;
  std::optional<Tensor> gbeta = {};
};

Graph graph_of(const NormGradientCall& norm);

}  // namespace mote::cudnn
