// SPDX-License-Identifier: Apache-2.0
// Normalising ops, each over the middle or last axes; the axes around them are merged.
#include <algorithm>

#include "families.h"

namespace mote {
namespace {

ProgramSpec softmax(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop e = exp(x - stop_gradient(max(x, {1})));
  return spec({x}, e / sum(e, {1}));
}

/// Returns gx = y*(gy - sum gy*y), which needs no x.
ProgramSpec softmax_gradient(const Instance& instance, const Uop& gy) {
  const Uop y = input("y", instance.dtype, shape_of(gy));
  return spec({gy, y}, {{"gx", y * (gy - sum(gy * y, {1}))}});
}

ProgramSpec log_softmax(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop d = x - stop_gradient(max(x, {1}));
  return spec({x}, d - log(sum(exp(d), {1})));
}

ProgramSpec logsumexp(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop greatest = stop_gradient(max(x, {1}));
  const Uop m = where(map(MapOp::isinf, std::vector<Uop>{greatest}), 0, greatest);
  return spec({x}, squeeze(m + log(sum(exp(x - m), {1})), {1}));
}

ProgramSpec hardmax(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop first = broadcast(argmax_over(x, {1}), shape_of(x), {0, 2});
  return spec({x}, cast(eq(iota("i1", shape_of(x)), first), instance.dtype));
}

ProgramSpec l2_normalise(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  return spec({x}, x / max(sqrt(sum(x * x, {1})), param("eps", instance.dtype)));
}

/// Normalises over `size` channels from c - (size - 1)/2 on; channels out of range count as 0.
ProgramSpec lrn(const Instance& instance) {
  const DType t = instance.dtype;
  const Uop x = input("x", t, {"N", "C", "S"});
  const Uop near = reindex(x, {"N", "C", "S", "k: $size"}, {"i0", "i1 - ($size - 1)/2 + i3", "i2"});
  const Uop squares = sum_over(near * near, {3});
  const Uop share = param("alpha", t) / index_as("$size", {}, t);
  return spec({x}, x / pow(param("bias", t) + share * squares, param("beta", t)));
}

/// (x - mean)/sqrt(var + eps) over the axes, with its mean and 1/sqrt(var + eps), which lack those
/// axes.
struct Standardised {
  Uop y, mean, inv_std;
};
Standardised statistics(const Uop& x, const Axes& axes, Passes passes) {
  Axes kept;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) kept.push_back(axis);
  const Uop average = mean_over(x, axes), d = x - broadcast(average, shape_of(x), kept);
  const Uop var = passes == Passes::one ? max(mean_over(x * x, axes) - average * average, 0)
                                        : mean_over(d * d, axes);
  const Uop inv_std = rsqrt(var + param("eps", x.dtype()));
  return {d * broadcast(inv_std, shape_of(x), kept), average, inv_std};
}

/// Returns y * gamma + beta along the axis; an empty gamma or beta is left out.
Uop affine(Uop y, const Uop& gamma, const Uop& beta, int axis) {
  if (gamma) y = y * broadcast(gamma, shape_of(y), {axis});
  if (beta) y = y + broadcast(beta, shape_of(y), {axis});
  return y;
}

ProgramSpec layer_norm(const Instance& instance, Passes passes) {
  const Uop x = input("x", instance.dtype, {"R", "N"});
  const Uop gamma = optional_input(instance, 1, "gamma", {"N"});
  const Uop beta = optional_input(instance, 2, "beta", {"N"});
  return spec({x, gamma, beta}, affine(statistics(x, {1}, passes).y, gamma, beta, 1));
}

ProgramSpec layer_norm_with_statistics(const Instance& instance, Passes passes) {
  ProgramSpec all = layer_norm(instance, passes);
  const Standardised s = statistics(all.inputs.front(), {1}, passes);
  all.outputs.push_back({"row_mean", s.mean});
  all.outputs.push_back({"row_inv_std", s.inv_std});
  return all;
}

ProgramSpec rms_norm(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N"});
  const Uop gamma = optional_input(instance, 1, "gamma", {"N"});
  const Uop y = x * rsqrt(mean(x * x, {1}) + param("eps", instance.dtype));
  return spec({x, gamma}, affine(y, gamma, Uop(), 1));
}

ProgramSpec group_norm(const Instance& instance, Passes passes) {
  const Uop x = input("x", instance.dtype, {"N", "c: $groups*CG", "S"});
  const Uop gamma = optional_input(instance, 1, "gamma", {"c: $groups*CG"});
  const Uop beta = optional_input(instance, 2, "beta", {"c: $groups*CG"});
  const Uop grouped = reindex(x, {"N", "g: $groups", "CG", "S"}, {"i0", "i1*CG + i2", "i3"});
  const Uop y =
      reindex(statistics(grouped, {2, 3}, passes).y, shape_of(x), {"i0", "i1/CG", "i1%CG", "i2"});
  return spec({x, gamma, beta}, affine(y, gamma, beta, 1));
}

ProgramSpec instance_norm(const Instance& instance, Passes passes) {
  const Uop x = input("x", instance.dtype, {"N", "C", "S"});
  const Uop gamma = optional_input(instance, 1, "gamma", {"C"});
  const Uop beta = optional_input(instance, 2, "beta", {"C"});
  return spec({x, gamma, beta}, affine(statistics(x, {2}, passes).y, gamma, beta, 1));
}

using InPlace = std::vector<std::pair<int, int>>;

OpRecord along_axis(std::string name, std::string equation, InPlace in_place, std::string policy,
                    std::string source, ProgramSpec (*define)(const Instance&),
                    std::vector<ParamDecl> params = {}, const OneGradient& gradient = {}) {
  return {.name = std::move(name),
          .family = "normalise",
          .equation = std::move(equation),
          .inputs = {{"x"}},
          .dtypes = dtypes::kReal,
          .params = std::move(params),
          .in_place = std::move(in_place),
          .policy = std::move(policy),
          .source = std::move(source),
          .define = define,
          .gradient = written(gradient)};
}

OpRecord standardised(std::string name, std::string equation, std::string policy,
                      std::string source, ProgramSpec (*define)(const Instance&, Passes),
                      std::vector<ParamDecl> more_params = {}) {
  std::vector<ParamDecl> params = {value_param("eps", 1e-5, "added to the variance")};
  for (ParamDecl& p : more_params) params.push_back(std::move(p));
  return {
      .name = std::move(name),
      .family = "normalise",
      .equation = std::move(equation) + " (* gamma if there is gamma) (+ beta if there is beta)",
      .inputs = {{"x"}, {"gamma", true}, {"beta", true}},
      .dtypes = dtypes::kReal,
      .params = std::move(params),
      .in_place = {},
      .policy =
          "biased variance in two passes: the mean first, then the squares of what is "
          "left" +
          std::move(policy),
      .source = std::move(source),
      .define = [define](const Instance& instance) { return define(instance, Passes::two); },
      .forms = {one_pass([define](const Instance& i) { return define(i, Passes::one); })}};
}

OpRecord with_optional(std::vector<std::string> outputs, OpRecord record) {
  record.optional_outputs = std::move(outputs);
  return record;
}

}  // namespace

std::vector<OpRecord> normalise_ops() {
  return {
      along_axis("softmax",
                 "y[r, n, c] = exp(x[r, n, c] - m) / sum_k exp(x[r, k, c] - m), m = max_k x[r, k, "
                 "c]",
                 {{0, 0}}, "over axis 1; a row of -inf, or with +inf or NaN in it, gives NaN",
                 "ONNX opset 17 Softmax", softmax, {}, softmax_gradient),
      along_axis("log_softmax",
                 "y[r, n, c] = x[r, n, c] - m - log(sum_k exp(x[r, k, c] - m)), m = max_k x[r, k, "
                 "c]",
                 {{0, 0}}, "over axis 1; a row of -inf, or with +inf or NaN in it, gives NaN",
                 "ONNX opset 17 LogSoftmax", log_softmax),
      along_axis("logsumexp",
                 "y[r, c] = m + log(sum_k exp(x[r, k, c] - m)), m = max_k x[r, k, c], or 0 where "
                 "that is infinite",
                 {},
                 "over axis 1; what the formula says: a row of -inf, or an empty one, gives -inf; "
                 "one with +inf gives +inf, with NaN NaN",
                 "ONNX opset 17 ReduceLogSumExp", logsumexp),
      along_axis("hardmax", "y[r, n, c] = n is the first at which x[r, n, c] is greatest ? 1 : 0",
                 {{0, 0}}, "over axis 1; the first NaN if there is one; N = 0 is an error",
                 "ONNX opset 17 Hardmax", hardmax),
      along_axis("l2_normalise", "y[r, n, c] = x[r, n, c] / max(sqrt(sum_k x[r, k, c]^2), eps)",
                 {{0, 0}}, "over axis 1; squares are not scaled; NaN propagates",
                 "PyTorch normalize, p = 2; ONNX opset 17 LpNormalization with eps = 0",
                 l2_normalise, {value_param("eps", 1e-12, "least divisor")}),
      along_axis("lrn",
                 "y[n, c, s] = x[n, c, s] / (bias + alpha/size * sum_i x[n, i, s]^2)^beta, "
                 "c - floor((size-1)/2) <= i <= c + ceil((size-1)/2), 0 <= i < C",
                 {}, "squares of channels that do not exist are 0", "ONNX opset 17 LRN", lrn,
                 {integer_param("size", 1, std::nullopt, "channels in a sum"),
                  value_param("alpha", 1e-4, "factor of the mean square"),
                  value_param("beta", 0.75, "exponent"),
                  value_param("bias", 1, "added to the mean square")}),
      standardised("layer_norm", "y[r, n] = (x[r, n] - mean_j x[r, j]) / sqrt(var_j x[r, j] + eps)",
                   "; gamma and beta along n", "ONNX opset 17 LayerNormalization", layer_norm),
      with_optional(
          {"row_mean", "row_inv_std"},
          standardised(
              "layer_norm_with_statistics",
              "row_mean[r] = mean_j x[r, j], row_inv_std[r] = 1/sqrt(var_j x[r, j] + eps), "
              "y[r, n] = (x[r, n] - row_mean[r]) * row_inv_std[r]",
              "; gamma and beta along n, not in the statistics",
              "ONNX opset 17 LayerNormalization with its optional outputs",
              layer_norm_with_statistics)),
      standardised("group_norm",
                   "y[n, c, s] = (x[n, c, s] - mean) / sqrt(var + eps) over the CG channels of c's "
                   "group and all s",
                   "; gamma and beta along c", "PyTorch GroupNorm; ONNX opset 21", group_norm,
                   {integer_param("groups", 1, std::nullopt, "groups of channels")}),
      standardised("instance_norm",
                   "y[n, c, s] = (x[n, c, s] - mean_t x[n, c, t]) / sqrt(var_t x[n, c, t] + eps)",
                   "; gamma and beta along c", "ONNX opset 17 InstanceNormalization",
                   instance_norm),
      {.name = "rms_norm",
       .family = "normalise",
       .equation = "y[r, n] = x[r, n] / sqrt(mean_j x[r, j]^2 + eps) (* gamma[n] if there is "
                   "gamma)",
       .inputs = {{"x"}, {"gamma", true}},
       .dtypes = dtypes::kReal,
       .params = {value_param("eps", 1e-5, "added to the mean square")},
       .in_place = {},
       .policy = "",
       .source = "PyTorch RMSNorm; ONNX opset 23 RMSNormalization",
       .define = rms_norm},
  };
}

}  // namespace mote
