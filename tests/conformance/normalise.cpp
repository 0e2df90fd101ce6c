// SPDX-License-Identifier: Apache-2.0
// Adapters of normalising operators.
#include <algorithm>
#include <numeric>

#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// Computes along one axis; before opset 13 along all axes from that one on.
Adapter softmax(const std::string& op) {
  return [=](const Call& c) -> Outputs {
    const Array& x = c.in(0);
    const bool old = c.opset() < 13;
    const std::size_t axis = axis_of(c.integer("axis", old ? 1 : -1), x.shape.size());
    const Dims rows = {volume(x.shape, 0, axis), volume(x.shape, axis, x.shape.size()), 1};
    const Array flat = old ? reshaped(x, rows) : around_axis(x, axis);
    return {reshaped(c.kernels().run(op, x.dtype, {&flat}), x.shape)};
  };
}

Outputs layer_norm(const Call& c) {
  const Array& x = c.in(0);
  const std::size_t rank = x.shape.size(), axis = axis_of(c.integer("axis", -1), rank);
  const std::int64_t n = volume(x.shape, axis, rank);
  const Array rows = reshaped(x, {volume(x.shape, 0, axis), n});
  const Array gamma = reshaped(c.in(1), {n});
  const Array beta = c.has(2) ? reshaped(c.in(2), {n}) : Array{};
  const std::string op = c.wants(1) || c.wants(2) ? "layer_norm_with_statistics" : "layer_norm";
  Outputs outputs = c.kernels().run_all(op, x.dtype, {&rows, &gamma, c.has(2) ? &beta : nullptr},
                                        {{"eps", c.real("epsilon", 1e-5F)}});
  Dims shape = x.shape;
  std::fill(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end(), 1);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    outputs[k] = reshaped(std::move(outputs[k]), k == 0 ? x.shape : shape);
  }
  return outputs;
}

/// Normalises over the last axes at once, as rows made of them.
Outputs rms_norm(const Call& c) {
  const Array& x = c.in(0);
  const std::size_t rank = x.shape.size(), axis = axis_of(c.integer("axis", -1), rank);
  const std::int64_t n = volume(x.shape, axis, rank);
  const Array rows = reshaped(x, {volume(x.shape, 0, axis), n});
  const Dims tail(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end());
  const Array gamma = reshaped(broadcast_to(c.in(1), tail), {n});
  const Params params = {{"eps", c.real("epsilon", 1e-5F)}};
  return {reshaped(c.kernels().run("rms_norm", x.dtype, {&rows, &gamma}, params), x.shape)};
}

/// Scale and bias belong to each group until version 21, then to each channel.
Outputs group_norm(const Call& c) {
  const Array x = channels_in_the_middle(c.in(0));
  const std::int64_t groups = c.attribute("num_groups").i, channels = x.shape[1];
  const auto by_channel = [&](const Array& values) {
    if (c.opset() >= 21) return values;
    return reshaped(broadcast_to(reshaped(values, {groups, 1}), {groups, channels / groups}),
                    {channels});
  };
  const Array gamma = by_channel(c.in(1)), beta = by_channel(c.in(2));
  const Params params = {{"groups", groups}, {"eps", c.real("epsilon", 1e-5F)}};
  const Array y = c.kernels().run("group_norm", x.dtype, {&x, &gamma, &beta}, params);
  return {reshaped(y, c.in(0).shape)};
}

/// A row of zeros stays unchanged.
Outputs lp_normalise(const Call& c) {
  const Array& x = c.in(0);
  const std::size_t axis = axis_of(c.integer("axis", -1), x.shape.size());
  if (c.integer("p", 2) == 1) {
    const Array norm = c.reduce("norm1", x, {axis}, true);
    const Array divisor = c.choose(c.binary("equal", norm, 0.0), constant(x.dtype, 1), norm);
    return {c.binary("div", x, divisor)};
  }
  const Array flat = around_axis(x, axis);
  return {reshaped(c.kernels().run("l2_normalise", x.dtype, {&flat}), x.shape)};
}

Outputs instance_norm(const Call& c) {
  const Array x = channels_in_the_middle(c.in(0));
  const Params params = {{"eps", c.real("epsilon", 1e-5F)}};
  const Array y = c.kernels().run("instance_norm", x.dtype, {&x, &c.in(1), &c.in(2)}, params);
  return {reshaped(y, c.in(0).shape)};
}

Outputs batch_norm(const Call& c) {
  const Array x = channels_in_the_middle(c.in(0));
  const bool training = c.integer("training_mode", 0) != 0;
  Params params = {{"eps", c.real("epsilon", 1e-5F)}};
  if (training) params["momentum"] = c.real("momentum", 0.9F);
  Outputs outputs = c.kernels().run_all(training ? "batch_norm_training" : "batch_norm", x.dtype,
                                        {&x, &c.in(1), &c.in(2), &c.in(3), &c.in(4)}, params);
  outputs[0] = reshaped(outputs[0], c.in(0).shape);
  return outputs;
}

/// Standardises over the axes: layer_norm on rows made of them.
Outputs mean_variance(const Call& c) {
  const Array& x = c.in(0);
  std::vector<std::size_t> order, over;
  for (const std::int64_t a : c.dims("axes", {0, 2, 3})) over.push_back(axis_of(a, x.shape.size()));
  for (std::size_t k = 0; k < x.shape.size(); ++k) {
    if (std::ranges::find(over, k) == over.end()) order.push_back(k);
  }
  const std::size_t kept = order.size();
  order.insert(order.end(), over.begin(), over.end());
  const Array turned = permuted(x, order);
  const Dims& s = turned.shape;
  const Array rows = reshaped(turned, {volume(s, 0, kept), volume(s, kept, s.size())});
  const Params params = {{"eps", 0.0}};
  const Array y = reshaped(c.kernels().run("layer_norm", x.dtype, {&rows}, params), s);
  std::vector<std::size_t> back(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) back[order[k]] = k;
  return {permuted(y, back)};
}

}  // namespace

Adapters normalise_adapters() {
  return {{"Softmax", softmax("softmax")},    {"LogSoftmax", softmax("log_softmax")},
          {"LayerNormalization", layer_norm}, {"InstanceNormalization", instance_norm},
          {"BatchNormalization", batch_norm}, {"MeanVarianceNormalization", mean_variance},
          {"RMSNormalization", rms_norm},     {"GroupNormalization", group_norm},
          {"LpNormalization", lp_normalise}};
}

}  // namespace mote::onnx
