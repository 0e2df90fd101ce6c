// SPDX-License-Identifier: Apache-2.0
// Adapters of the two losses.
#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// A loss node's inputs as x[N, C, S], target[N, S] and weight[C].
struct Loss {
  Array x, target;
  const Array* weight;
  std::string reduction;
  Dims shape;  ///< the shape of the target
};
Loss loss_of(const Call& c) {
  const Dims& s = c.in(0).shape;
  const std::int64_t n = s.at(0), points = volume(s, 2, s.size());
  return {reshaped(c.in(0), {n, s.at(1), points}),
          reshaped(c.cast(c.in(1), DType::i64), {n, points}), c.find(2),
          c.text("reduction", "mean"), c.in(1).shape};
}

/// Runs the op of that name, or the op that gives a loss for each target.
Array reduced(const Call& c, const Loss& loss, const std::string& op) {
  Params params;
  if (c.has_attribute("ignore_index")) params["ignore_index"] = c.attribute("ignore_index").i;
  const std::vector<const Array*> inputs = {&loss.x, &loss.target, loss.weight};
  if (loss.reduction == "none") {
    return reshaped(c.kernels().run(op + "_none", loss.x.dtype, inputs, params), loss.shape);
  }
  params["mean"] = loss.reduction == "mean" ? 1 : 0;
  return c.kernels().run(op, loss.x.dtype, inputs, params);
}

Outputs negative_log_likelihood(const Call& c) {
  const Loss loss = loss_of(c);
  return {reduced(c, loss, "nll")};
}

Outputs softmax_cross_entropy(const Call& c) {
  const Loss loss = loss_of(c);
  Outputs outputs = {reduced(c, loss, "cross_entropy")};
  if (!c.wants(1)) return outputs;
  const Array log_p = c.kernels().run("log_softmax", loss.x.dtype, {&loss.x});
  outputs.push_back(reshaped(log_p, c.in(0).shape));
  return outputs;
}

}  // namespace

Adapters loss_adapters() {
  return {{"NegativeLogLikelihoodLoss", negative_log_likelihood},
          {"SoftmaxCrossEntropyLoss", softmax_cross_entropy}};
}

}  // namespace mote::onnx
