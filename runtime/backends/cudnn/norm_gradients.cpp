// SPDX-License-Identifier: Apache-2.0
// Gradients of layer, RMS and instance norm by the graph API. cuDNN's gradients take the
// statistics. If the call has none, they are computed first, in two passes: the mean, x minus the
// mean, and the inverse deviation, which the RMS norm of that difference stores.
#include "graph_norms.h"
#include "ops.h"

namespace mote::cudnn {
namespace {

/// The gradient of a norm, as read from a call.
class Gradient {
 public:
  explicit Gradient(const Reader& call)
      : call_(call),
        between_(call),
        rank_(call.op().starts_with("instance") ? 3 : 2),
        has_statistics_(call.op().starts_with("layer_norm_with")),
        is_rms_(call.op().starts_with("rms")),
        handle_(Cudnn::library().take()) {
    if (has_statistics_ && (call.has_input(1) || call.has_input(2)))
      decline("gradients of the statistics are given");
    const int first = has_statistics_ ? 3 : 1;
    gy_ = without_gaps(call.input(0, "gy", rank_));
    x_ = without_gaps(call.input(first, "x", rank_));
    nvidia::require_dims(gy_, x_.dims);
    channels_ = x_.dims[1];
    rows_ = rank_ == 3 ? x_.dims[0] * channels_ : x_.dims[0];
    has_gamma_ = call.has_input(first + 1);
    // x may have no data if only beta's gradient is wanted.
    if (!call.has_output(0) && !(has_gamma_ && call.has_output(1)))
      decline("neither gx nor ggamma is asked for");
    gamma_ = gamma(first + 1);
    if (has_statistics_) {
      mean_ = statistic(5 + 1, "row_mean");
      inverse_ = statistic(5 + 2, "row_inv_std");
    } else {
      find_statistics();
    }
  }

  Work work() {
    const int beta = has_gamma_ ? 2 : 1;  // a call has only the outputs of the op's inputs
    NormGradientCall norm{
        .mode = is_rms_      ? kRmsNorm
                : rank_ == 3 ? kInstanceNorm
                             : kLayerNorm,
        .gy = widened(gy_),
        .x = widened(x_),
        .gamma = gamma_,
        .inverse = per_row(inverse_),
        .gx = widened(written(0, "gx", x_.dims)),
        .ggamma = along_channels(
            has_gamma_ ? written(1, "ggamma", {channels_}) : between({channels_}), kNormRank)};
    if (!is_rms_) {
      norm.mean = per_row(mean_);
      norm.gbeta = along_channels(written(beta, "gbeta", {channels_}), kNormRank);
    }
    steps_.push_back(graph_of(norm).step(handle_.get(), call_.kind()));
    return between_.work_of(handle_, steps_);
  }

 private:
  Tensor between(const std::vector<std::int64_t>& dims) {
    return between_.tensor(DType::f32, dims);
  }
  /// Returns the output, or a tensor of the workspace if the call does not want it, since cuDNN
  /// writes all.
  Tensor written(int k, const char* name, const std::vector<std::int64_t>& dims) {
    if (!call_.has_output(k)) return between(dims);
    Tensor t = without_gaps(call_.output(k, name, static_cast<int>(dims.size())));
    nvidia::require_dims(t, dims);
    return t;
  }
  /// Returns gamma; ones if there is none, or if it may have no data, since gx is not wanted.
  Tensor gamma(int k) {
    if (has_gamma_ && call_.has_output(0)) {
      const Tensor t = without_gaps(call_.input(k, "gamma", 1));
      nvidia::require_dims(t, {channels_});
      return along_channels(t, kNormRank);
    }
    const Tensor ones = along_channels(between({channels_}), kNormRank);
    steps_.push_back({0, [ones, to = describe(ones)](Handle* handle, const OnDevice& at) {
                        calls().set_all(handle, to.get(), at.data[ones.slot], one(ones.dtype));
                      }});
    return ones;
  }
  Tensor statistic(int k, const char* name) const {
    const Tensor t = without_gaps(call_.input(k, name, 1));
    nvidia::require_dims(t, {rows_});
    return t;
  }
  /// Returns the tensor as [R,1,1,1], or [N,C,1,1].
  Tensor per_row(Tensor t) const {
    t.dims = {rows_, 1, 1, 1};
    if (rank_ == 3) t.dims = {rows_ / channels_, channels_, 1, 1};
    t.strides = packed_strides(t.dims);
    return t;
  }

  void find_statistics() {
    Tensor left = as_rows(x_, rows_);
    if (!is_rms_) left = without_mean(left);
    inverse_ = between({rows_, 1, 1, 1});
    const Graph graph = inverse_deviation(left, between(left.dims), inverse_, epsilon_of(call_));
    steps_.push_back(graph.step(handle_.get(), call_.kind()));
  }

  /// Returns x - mean of rows, and keeps the mean.
  Tensor without_mean(const Tensor& x) {
    mean_ = between({rows_, 1, 1, 1});
    Tensor left = between(x.dims);
    const auto reduction = made(calls().create_reduction, calls().destroy_reduction);
    calls().set_reduction(reduction.get(), kReduceAverage, kFloat, kPropagateNan, kNoIndices,
                          kIndicesOf32Bits);
    const auto sum = made(calls().create_operation, calls().destroy_operation);
    calls().set_operation(sum.get(), kOfAdd, kFloat, kPropagateNan);
    const auto of_x = describe(x), of_mean = describe(mean_);
    std::size_t bytes = 0;
    calls().reduction_workspace(handle_.get(), reduction.get(), of_x.get(), of_mean.get(), &bytes);
    steps_.push_back({bytes, [=, mean = mean_](Handle* handle, const OnDevice& at) {
                        calls().reduce(handle, reduction.get(), nullptr, 0, at.workspace, bytes,
                                       one(x.dtype), of_x.get(), at.data[x.slot], zero(x.dtype),
                                       of_mean.get(), at.data[mean.slot]);
                      }});
    steps_.push_back({0, [=, mean = mean_](Handle* handle, const OnDevice& at) {
                        static const float minus = -1;
                        calls().operate(handle, sum.get(), one(x.dtype), of_x.get(),
                                        at.data[x.slot], &minus, of_mean.get(), at.data[mean.slot],
                                        zero(x.dtype), of_x.get(), at.data[left.slot]);
                      }});
    return left;
  }

  const Reader& call_;
  Between between_;
  int rank_;
  bool has_statistics_, is_rms_, has_gamma_ = false;
  std::shared_ptr<Handle> handle_;
  std::int64_t channels_ = 0, rows_ = 0;
  Tensor gy_, x_, gamma_, mean_, inverse_;
  std::vector<Step> steps_;
};

}  // namespace

Graph graph_of(const NormGradientCall& norm) {
  Graph graph;
  Graph::NormGradient n{.mode = norm.mode,
                        .x = graph.tensor(norm.x),
                        .gy = graph.tensor(norm.gy),
                        .scale = graph.tensor(norm.gamma),
                        .inverse = graph.tensor(norm.inverse),
                        .gx = graph.tensor(norm.gx),
                        .gscale = graph.tensor(norm.ggamma)};
  if (norm.mean) n.mean = graph.tensor(*norm.mean);
  if (norm.gbeta) n.gbias = graph.tensor(*norm.gbeta);
  graph.norm_gradient(n);
  return graph;
}

Graph inverse_deviation(const Tensor& x, const Tensor& y, const Tensor& inverse, double eps) {
  Graph graph;
  const Graph::Node from = graph.tensor(x), to = graph.tensor(y), found = graph.tensor(inverse);
  graph.norm({.mode = kRmsNorm,
              .x = from,
              .y = to,
              .statistics = std::pair(found, found),
              .epsilon = eps});
  return graph;
}

Work norm_gradient(const Reader& call) { return Gradient(call).work(); }

}  // namespace mote::cudnn
