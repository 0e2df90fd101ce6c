// SPDX-License-Identifier: Apache-2.0
// Losses: one number for a batch, or one for each element or target.
#include "families.h"

namespace mote {
namespace {

using InPlace = std::vector<std::pair<int, int>>;

/// Returns the sum over all axes, or with $mean that divided by the count (index text).
Uop reduced(const Uop& loss, const char* count) {
  Axes axes;
  for (int k = 0; k < loss.rank(); ++k) axes.push_back(k);
  const Uop total = sum_over(loss, axes);
  const Expr divisor = 1 + Expr::param("mean") * (parse_expr(count).expr - 1);
  return total / index_as(divisor, {}, loss.dtype());
}

using Pairwise = Uop (*)(const Uop& x, const Uop& target);

Uop squared(const Uop& x, const Uop& target) {
  const Uop d = x - target;
  return d * d;
}

Uop binary_cross_entropy(const Uop& x, const Uop& target) {
  const Uop rest = map(MapOp::log1p, std::vector<Uop>{exp(-abs(x))});
  return max(x, 0) - x * target + rest;
}

ProgramSpec pairwise_loss(const Instance& instance, Pairwise loss, bool reduces) {
  const Uop x = input("x", instance.dtype, {"N"}), target = input("target", instance.dtype, {"N"});
  const Uop each = loss(x, target);
  return spec({x, target}, reduces ? reduced(each, "N") : each);
}

/// The loss of each target, and its weight in the mean.
struct Losses {
  Uop loss, weight;
};

/// Computes losses from the log-probabilities log p and weights w of a row: (1 - s) * -w[target]
/// log p[target] + s/K * sum_k -w[k] log p[k]; without smoothing s, its first term. An ignored
/// target has neither loss nor weight.
Losses class_losses(Uop log_p, const Uop& target, const Uop& weight, const Uop& s) {
  const DType t = log_p.dtype();
  const Shape one = {"R", "1", "C"};
  const Uop index = reindex(target, one, {"i0", "i2"});
  const Uop weights = weight ? broadcast(weight, shape_of(log_p), {1}) : Uop();
  if (weight) log_p = weights * log_p;
  Uop loss = -select(log_p, 1, index);
  if (s) {
    const Uop even = sum(log_p, {1}) / index_as("K", one, t);
    loss = (1 - s) * loss - where(eq(s, 0), 0, s * even);
  }
  const Uop kept = ne(index, iota("$ignore_index", one));
  return {where(kept, loss, 0),
          where(kept, weight ? select(weights, 1, index) : index_as(1, one, t), 0)};
}

/// Computes the loss from scores, or from given log-probabilities.
ProgramSpec class_loss(const Instance& instance, bool from_scores, bool reduces) {
  const DType t = instance.dtype;
  const Uop x = input("x", t, {"R", "K", "C"}), target = input("target", DType::i64, {"R", "C"});
  const Uop weight = optional_input(instance, 2, "weight", {"K"});
  Uop log_p = x;
  if (from_scores) {
    const Uop d = x - stop_gradient(max(x, {1}));
    log_p = d - log(sum(exp(d), {1}));
  }
  const Uop smoothing = from_scores ? param("smoothing", t) : Uop();
  const auto [loss, counts] = class_losses(log_p, target, weight, smoothing);
  if (!reduces) return spec({x, target, weight}, squeeze(loss, {1}));
  const Uop divisor = where(iota("$mean", {}) > 0, sum_over(counts, {0, 1, 2}), 1);
  return spec({x, target, weight}, sum_over(loss, {0, 1, 2}) / divisor);
}

ParamDecl mean_param() { return flag_param("mean", 1, "1 divides by the count, 0 leaves the sum"); }

/// Adds a loss that is one number, and with the suffix _none (the frameworks' reduction = none) one
/// for each element.
void add_pairwise(std::vector<OpRecord>& records, const std::string& name, const std::string& term,
                  const std::string& policy, const std::string& source, Pairwise loss) {
  for (const bool reduces : {true, false}) {
    const std::string comma = policy.empty() || !reduces ? "" : "; ";
    records.push_back(
        {.name = name + (reduces ? "" : "_none"),
         .family = "loss",
         .equation = reduces ? "y = sum_n " + term + " (/ N if mean)" : "y[n] = " + term,
         .inputs = {{"x"}, {"target"}},
         .dtypes = dtypes::kReal,
         .params = reduces ? std::vector<ParamDecl>{mean_param()} : std::vector<ParamDecl>{},
         .in_place = reduces ? InPlace{} : InPlace{{0, 0}, {1, 0}},
         .policy = policy + (reduces ? comma + "the empty mean is NaN" : ""),
         .source = source + (reduces ? "" : ", reduction = none"),
         .define = [=](const Instance& i) { return pairwise_loss(i, loss, reduces); }});
  }
}

void add_class_loss(std::vector<OpRecord>& records, const std::string& name,
                    const std::string& term, const std::string& where, const std::string& policy,
                    const std::string& source, bool from_scores) {
  for (const bool reduces : {true, false}) {
    std::vector<ParamDecl> params;
    if (reduces) params.push_back(mean_param());
    params.push_back(offset_param("ignore_index", -100, "target that does not count"));
    if (from_scores)
      params.push_back(value_param("smoothing", 0, "share of the even distribution"));
    const std::string each = term + (reduces ? " (/ sum_r,c w[t] if mean)" : "");
    records.push_back(
        {.name = name + (reduces ? "" : "_none"),
         .family = "loss",
         .equation = (reduces ? "y = sum_r,c " : "y[r, c] = ") + each + ", " + where,
         .inputs = {{"x"}, {"target"}, {"weight", true}},
         .dtypes = dtypes::kReal,
         .params = std::move(params),
         .in_place = {},
         .policy = std::string(reduces ? "with nothing that counts the mean is NaN"
                                       : "an ignored target's loss is 0") +
                   policy,
         .source = source + (reduces ? "" : ", reduction = none"),
         .define = [=](const Instance& i) { return class_loss(i, from_scores, reduces); }});
  }
}

}  // namespace

std::vector<OpRecord> loss_ops() {
  std::vector<OpRecord> records;
  add_pairwise(records, "mse", "(x[n] - target[n])^2", "", "PyTorch MSELoss", squared);
  add_pairwise(records, "bce_with_logits", "max(x[n], 0) - x[n]*target[n] + log1p(exp(-|x[n]|))",
               "does not overflow", "PyTorch BCEWithLogitsLoss", binary_cross_entropy);
  const std::string outside = "; a target outside 0..K-1 reads 0 (the command layer's error)";
  const std::string names = "t = target[r, c], w = weight if there is, else 1";
  add_class_loss(records, "cross_entropy",
                 "-(1 - smoothing) * w[t] * log p[t] - smoothing/K * sum_k w[k] * log p[k]",
                 "p = softmax_k x[r, k, c], " + names,
                 outside +
                     "; without smoothing a class of probability 0 does not matter unless it "
                     "is the target",
                 "PyTorch CrossEntropyLoss; ONNX opset 17 SoftmaxCrossEntropyLoss", true);
  add_class_loss(records, "nll", "-w[t] * x[r, t, c]", names, outside,
                 "PyTorch NLLLoss; ONNX opset 17 NegativeLogLikelihoodLoss", false);
  return records;
}

}  // namespace mote
