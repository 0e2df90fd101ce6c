// SPDX-License-Identifier: Apache-2.0
// Layer, RMS, instance and group norm. cuDNN has engines for the first two over rows, and for the
// third if it has gamma and beta, but none for the fourth: a group is a row, and gamma and beta,
// which change within it, are separate steps.
#include "graph_norms.h"

#include "ops.h"

namespace mote::cudnn {
namespace {

/// Returns input k, if it is present, along axis 1 of x.
std::optional<Tensor> vector_of(const Reader& call, int k, const char* name, std::int64_t extent) {
  if (!call.has_input(k)) return std::nullopt;
  const Tensor t = without_gaps(call.input(k, name, 1));
  nvidia::require_dims(t, {extent});
  return along_channels(t, kNormRank);
}

/// Returns the output for a statistic of each row.
Tensor statistic_of(const Reader& call, int k, const char* name, std::int64_t rows) {
  Tensor t = without_gaps(call.output(k, name, 1));
  nvidia::require_dims(t, {rows});
  return widened(with_axis(std::move(t), 1));
}

/// Returns the step y = y op vector, along channels.
Step change(int what, const Tensor& y, const Tensor& vector) {
  const auto desc = made(calls().create_operation, calls().destroy_operation);
  calls().set_operation(desc.get(), what, compute_type(y.dtype), kPropagateNan);
  return {
      0, [=, of_y = describe(y), of_vector = describe(vector)](Handle* handle, const OnDevice& at) {
        calls().operate(handle, desc.get(), one(y.dtype), of_y.get(), at.data[y.slot], one(y.dtype),
                        of_vector.get(), at.data[vector.slot], zero(y.dtype), of_y.get(),
                        at.data[y.slot]);
      }};
}

Work work_of(const Reader& call, const NormCall& norm, const std::vector<Step>& then = {}) {
  auto handle = Cudnn::library().take();
  std::vector<Step> steps = {graph_of(norm).step(handle.get(), call.kind())};
  steps.insert(steps.end(), then.begin(), then.end());
  return work_of(std::move(handle), std::move(steps));
}

/// Normalises over groups of channels, and all elements of each.
Work grouped(const Reader& call, const Tensor& x, const Tensor& y, std::int64_t groups) {
  const auto gamma = vector_of(call, 1, "gamma", x.dims[1]),
             beta = vector_of(call, 2, "beta", x.dims[1]);
  if ((gamma || beta) && call.kind() != Kind::f32)
    decline("gamma and beta would round 16 bits again");
  const std::int64_t rows = x.dims[0] * groups;
  std::vector<Step> then;
  if (gamma) then.push_back(change(kOfMultiply, widened(y), *gamma));
  if (beta) then.push_back(change(kOfAdd, widened(y), *beta));
  return work_of(call, {.x = as_rows(x, rows), .y = as_rows(y, rows), .eps = epsilon_of(call)},
                 then);
}

}  // namespace

Tensor without_gaps(Tensor t) {
  if (!nvidia::is_dense(t)) decline(t.text() + " has gaps");
  return t;
}

Tensor as_rows(Tensor t, std::int64_t rows) {
  std::int64_t count = 1;
  for (const std::int64_t extent : t.dims) count *= extent;
  t.dims = {rows, count / rows};
  t.strides = {count / rows, 1};
  return widened(std::move(t));
}

Graph graph_of(const NormCall& norm) {
  Graph graph;
  const auto node = [&](const std::optional<Tensor>& t) {
    return t ? std::optional(graph.tensor(*t)) : std::nullopt;
  };
  Graph::Norm n{.mode = norm.mode,
                .x = graph.tensor(norm.x),
                .y = graph.tensor(norm.y),
                .scale = node(norm.gamma),
                .bias = node(norm.beta),
                .epsilon = norm.eps};
  if (norm.statistics)
    n.statistics = {graph.tensor(norm.statistics->first), graph.tensor(norm.statistics->second)};
  graph.norm(n);
  return graph;
}

Work row_norm(const Reader& call) {
  const bool is_rms = call.op() == "rms_norm";
  const Tensor x = without_gaps(call.input(0, "x", 2)), y = without_gaps(call.output(0, "y", 2));
  nvidia::require_dims(y, x.dims);
  NormCall norm{.mode = is_rms ? kRmsNorm : kLayerNorm,
                .x = widened(x),
                .y = widened(y),
                .gamma = vector_of(call, 1, "gamma", x.dims[1]),
                .eps = epsilon_of(call)};
  if (!is_rms) norm.beta = vector_of(call, 2, "beta", x.dims[1]);
  if (call.has_output(1) != call.has_output(2)) decline("one of the statistics is missing");
  if (call.has_output(1)) {
    if (call.kind() != Kind::f32) decline("cuDNN's statistics are f32");
    norm.statistics = {statistic_of(call, 1, "row_mean", x.dims[0]),
                       statistic_of(call, 2, "row_inv_std", x.dims[0])};
  }
  return work_of(call, norm);
}

Work instance_norm(const Reader& call) {
  const Tensor x = without_gaps(call.input(0, "x", 3)), y = without_gaps(call.output(0, "y", 3));
  nvidia::require_dims(y, x.dims);
  if (!call.has_input(1) || !call.has_input(2)) return grouped(call, x, y, x.dims[1]);
  return work_of(call, {.mode = kInstanceNorm,
                        .x = widened(x),
                        .y = widened(y),
                        .gamma = vector_of(call, 1, "gamma", x.dims[1]),
                        .beta = vector_of(call, 2, "beta", x.dims[1]),
                        .eps = epsilon_of(call)});
}

Work group_norm(const Reader& call) {
  const Tensor x = without_gaps(call.input(0, "x", 3)), y = without_gaps(call.output(0, "y", 3));
  nvidia::require_dims(y, x.dims);
  const std::int64_t groups = call.integer("groups", 1, 1);
  if (x.dims[1] % groups != 0) nvidia::reject("groups do not divide the channels of " + x.text());
  return grouped(call, x, y, groups);
}

}  // namespace mote::cudnn
