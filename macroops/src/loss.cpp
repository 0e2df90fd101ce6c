// Losses: one number for a batch.
#include "families.h"

namespace mote {
namespace {

/// The sum over all axes, or with $mean that by the count (index text).
Uop reduced(const Uop& loss, const char* count) {
  Axes axes;
  for (int k = 0; k < loss.rank(); ++k) axes.push_back(k);
  const Uop total = sum_over(loss, axes);
  const Expr divisor = 1 + Expr::param("mean") * (parse_expr(count).expr - 1);
  return total / index_as(divisor, {}, loss.dtype());
}

ProgramSpec mse(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"N"}), target = input("target", instance.dtype, {"N"});
  const Uop d = x - target;
  return spec({x, target}, reduced(d * d, "N"));
}

ProgramSpec bce_with_logits(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"N"}), target = input("target", instance.dtype, {"N"});
  const Uop rest = map(MapOp::log1p, std::vector<Uop>{exp(-abs(x))});
  return spec({x, target}, reduced(max(x, 0) - x * target + rest, "N"));
}

/// With log p of a row, w its weights: (1 - s) * -w[target] log p[target] + s/K * sum_k -w[k] log
/// p[k].
ProgramSpec cross_entropy(const Instance& instance) {
  const DType t = instance.dtype;
  const Uop x = input("x", t, {"R", "K", "C"}), target = input("target", DType::i64, {"R", "C"});
  const Uop weight = optional_input(instance, 2, "weight", {"K"});
  const Uop d = x - stop_gradient(max(x, {1}));
  Uop log_p = d - log(sum(exp(d), {1}));
  const Shape one = {"R", "1", "C"};
  const Uop index = reindex(target, one, {"i0", "i2"});
  const Uop weights = weight ? broadcast(weight, shape_of(x), {1}) : Uop();
  if (weight) log_p = weights * log_p;
  const Uop s = param("smoothing", t);
  const Uop even = sum(log_p, {1}) / index_as("K", one, t);
  const Uop kept = ne(index, iota("$ignore_index", one));
  const Uop loss = where(kept, (s - 1) * select(log_p, 1, index) - s * even, 0);
  const Uop counts = where(kept, weight ? select(weights, 1, index) : index_as(1, one, t), 0);
  const Uop divisor = where(iota("$mean", {}) > 0, sum_over(counts, {0, 1, 2}), 1);
  return spec({x, target, weight}, sum_over(loss, {0, 1, 2}) / divisor);
}

ParamDecl mean_param() { return flag_param("mean", 1, "1 divides by the count, 0 leaves the sum"); }

OpRecord pairwise(std::string name, std::string equation, std::string policy, std::string source,
                  ProgramSpec (*define)(const Instance&)) {
  return {.name = std::move(name),
          .family = "loss",
          .equation = std::move(equation) + " (/ N if mean)",
          .inputs = {{"x"}, {"target"}},
          .dtypes = dtypes::kReal,
          .params = {mean_param()},
          .in_place = {},
          .policy = std::move(policy),
          .source = std::move(source),
          .define = define};
}

}  // namespace

std::vector<OpRecord> loss_ops() {
  return {
      pairwise("mse", "y = sum_n (x[n] - target[n])^2", "the empty mean is NaN", "PyTorch MSELoss",
               mse),
      pairwise("bce_with_logits", "y = sum_n max(x[n], 0) - x[n]*target[n] + log1p(exp(-|x[n]|))",
               "does not overflow; the empty mean is NaN", "PyTorch BCEWithLogitsLoss",
               bce_with_logits),
      {.name = "cross_entropy",
       .family = "loss",
       .equation = "y = sum_r,c -(1 - smoothing) * w[t] * log p[t] - smoothing/K * sum_k w[k] * "
                   "log p[k] (/ sum_r,c w[t] if mean), p = softmax_k x[r, k, c], t = target[r, c], "
                   "w = weight if there is, else 1",
       .inputs = {{"x"}, {"target"}, {"weight", true}},
       .dtypes = dtypes::kReal,
       .params = {mean_param(), offset_param("ignore_index", -100, "target that does not count"),
                  value_param("smoothing", 0, "share of the even distribution")},
       .in_place = {},
       .policy = "with nothing that counts the mean is NaN; a target outside 0..K-1 reads 0 (the "
                 "command layer's error)",
       .source = "PyTorch CrossEntropyLoss; ONNX opset 17 SoftmaxCrossEntropyLoss",
       .define = cross_entropy},
  };
}

}  // namespace mote
