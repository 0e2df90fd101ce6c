// SPDX-License-Identifier: Apache-2.0
// Norms by cuDNN's graph API, as graphs.
#pragma once

#include <optional>
#include <utility>

#include "graph.h"

namespace mote::cudnn {

/// The rank of tensors of these graphs.
constexpr std::size_t kNormRank = 4;

/// Returns the tensor; declines one with gaps, which cuDNN's norms do not take.
Tensor without_gaps(Tensor t);
/// Returns a dense tensor as rows.
Tensor as_rows(Tensor t, std::int64_t rows);

/// y = (x - mean) / sqrt(variance + eps) * gamma + beta, or without the mean (kRmsNorm). x and y
/// have no gaps. kLayerNorm, kRmsNorm: over the rows of x[R,N,1,1], gamma and beta are [1,N,1,1],
/// statistics [R,1,1,1]. kInstanceNorm: over s of x[N,C,S,1], gamma and beta are [1,C,1,1].
struct NormCall {
  int mode = kLayerNorm;
  Tensor x, y;
  std::optional<Tensor> gamma = {}, beta = {};
  std::optional<std::pair<Tensor, Tensor>> statistics = {};  ///< mean, 1 / sqrt(variance + eps)
  double eps = 0;
};

Graph graph_of(const NormCall& norm);

/// Computes inverse[R,1,1,1] = 1 / sqrt(mean x^2 + eps) of the rows of x[R,N,1,1]; y = x * inverse
/// is written too.
Graph inverse_deviation(const Tensor& x, const Tensor& y, const Tensor& inverse, double eps);

/// The gradients of NormCall's x, gamma and beta from y's, with known statistics. gamma is present,
/// and so is beta except for kRmsNorm, which has no mean either.
struct NormGradientCall {
  int mode = kLayerNorm;
  Tensor gy, x, gamma, inverse;
  std::optional<Tensor> mean = {};
  Tensor gx, ggamma;
  std::optional<Tensor> gbeta = {};
};

Graph graph_of(const NormGradientCall& norm);

}  // namespace mote::cudnn
