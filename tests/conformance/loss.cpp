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
  Dims shape;  ///< of the target
};
Loss loss_of(const Call& c) {
  const Dims& s = c.in(0).shape;
  const std::int64_t n = s.at(0), points = volume(s, 2, s.size());
  return {reshaped(c.in(0), {n, s.at(1), points}),
          reshaped(c.cast(c.in(1), DType::i64), {n, points}), c.find(2),
          c.text("reduction", "mean"), c.in(1).shape};
}

/// -w[t] * log_p[t] for each target, 0 where it is ignored; summed, or divided by the sum of w.
Array weighted(const Call& c, const Loss& loss, const Array& log_p) {
  const DType t = log_p.dtype;
  const Array at = reshaped(loss.target, {loss.target.shape[0], 1, loss.target.shape[1]});
  const Array picked = c.kernels().run("gather_elements", t, {&log_p, &at});
  Array weight = constant(t, 1);
  if (loss.weight != nullptr) {
    const Array table = reshaped(*loss.weight, {element_count(loss.weight->shape), 1});
    const Array flat = reshaped(at, {element_count(at.shape)});
    weight = reshaped(c.kernels().run("embedding", t, {&table, &flat}), at.shape);
  }
  weight = broadcast_to(weight, at.shape);
  if (c.has_attribute("ignore_index")) {
    const Array ignored = integers(DType::i64, {}, {c.attribute("ignore_index").i});
    weight = c.choose(c.map("not_equal", {&at, &ignored}), weight, constant(t, 0));
  }
  const Array each = c.binary("mul", c.unary("neg", picked), weight);
  if (loss.reduction == "none") return reshaped(each, loss.shape);
  const Array total = c.reduce("sum", each, {0, 1, 2}, false);
  if (loss.reduction == "sum") return total;
  return c.binary("div", total, c.reduce("sum", weight, {0, 1, 2}, false));
}

/// By the op of that name, or by its twin that gives a loss for each target.
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
  return {has_op("nll") ? reduced(c, loss, "nll") : weighted(c, loss, loss.x)};
}

Outputs softmax_cross_entropy(const Call& c) {
  const Loss loss = loss_of(c);
  const bool composed = loss.reduction == "none" && !has_op("cross_entropy_none");
  Array log_p;
  if (c.wants(1) || composed) {
    log_p = c.kernels().run("log_softmax", loss.x.dtype, {&loss.x});
  }
  Outputs outputs = {composed ? weighted(c, loss, log_p) : reduced(c, loss, "cross_entropy")};
  if (c.wants(1)) outputs.push_back(reshaped(log_p, c.in(0).shape));
  return outputs;
}

}  // namespace

Adapters loss_adapters() {
  return {{"NegativeLogLikelihoodLoss", negative_log_likelihood},
          {"SoftmaxCrossEntropyLoss", softmax_cross_entropy}};
}

}  // namespace mote::onnx
