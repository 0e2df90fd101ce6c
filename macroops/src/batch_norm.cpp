// SPDX-License-Identifier: Apache-2.0
// Batch normalisation: with given statistics, and with those of the batch, which update the given
// ones.
#include "families.h"

namespace mote {
namespace {

struct Inputs {
  Uop x, gamma, beta, mean, var;
  std::vector<Uop> all() const { return {x, gamma, beta, mean, var}; }
};

Inputs inputs_of(DType t) {
  return {input("x", t, {"N", "C", "S"}), input("gamma", t, {"C"}), input("beta", t, {"C"}),
          input("input_mean", t, {"C"}), input("input_var", t, {"C"})};
}

Uop inv_std(const Uop& var) { return rsqrt(var + param("eps", var.dtype())); }

/// Returns (x - mean)*inv_std * gamma + beta, all four along axis 1.
Uop normalised(const Inputs& in, const Uop& mean, const Uop& inv_std) {
  const Shape shape = shape_of(in.x);
  const Uop d = in.x - broadcast(mean, shape, {1});
  return d * broadcast(inv_std, shape, {1}) * broadcast(in.gamma, shape, {1}) +
         broadcast(in.beta, shape, {1});
}

ProgramSpec batch_norm(const Instance& instance) {
  const Inputs in = inputs_of(instance.dtype);
  return spec(in.all(), normalised(in, in.mean, inv_std(in.var)));
}

/// Returns the divisor of the running variance: the number of a channel's values, less one if
/// $unbiased is 1. For one value it is 1, so that the variance is 0 either way.
Uop running_count(const Uop& statistic) {
  return index_as("max(N*S - $unbiased, min(N*S, 1))", shape_of(statistic), statistic.dtype());
}

ProgramSpec batch_norm_training(const Instance& instance, Passes passes) {
  const Inputs in = inputs_of(instance.dtype);
  const Uop mean = mean_over(in.x, {0, 2});
  const Uop d = in.x - broadcast(mean, shape_of(in.x), {1});
  const Uop var = passes == Passes::one ? max(mean_over(in.x * in.x, {0, 2}) - mean * mean, 0)
                                        : mean_over(d * d, {0, 2});
  const Uop count = index_as("N*S", shape_of(var), instance.dtype);
  const Uop running = passes == Passes::one ? var * (count / running_count(var))
                                            : sum_over(d * d, {0, 2}) / running_count(var);
  const Uop momentum = param("momentum", instance.dtype);
  const auto moved = [&](const Uop& old, const Uop& now) {
    return old * momentum + now * (1 - momentum);
  };
  const Uop scale = inv_std(var);
  return spec(in.all(), {{"y", normalised(in, mean, scale)},
                         {"running_mean", moved(in.mean, mean)},
                         {"running_var", moved(in.var, running)},
                         {"saved_mean", mean},
                         {"saved_inv_std", scale}});
}

}  // namespace

std::vector<OpRecord> batch_norm_ops() {
  const std::vector<InputDecl> inputs = {{"x"}, {"gamma"}, {"beta"}, {"input_mean"}, {"input_var"}};
  const ParamDecl eps = value_param("eps", 1e-5, "added to the variance");
  return {
      {.name = "batch_norm",
       .family = "normalise",
       .equation = "y[n, c, s] = (x[n, c, s] - input_mean[c]) / sqrt(input_var[c] + eps) * "
                   "gamma[c] + beta[c]",
       .inputs = inputs,
       .dtypes = dtypes::kReal,
       .params = {eps},
       .in_place = {{0, 0}},
       .policy = "",
       .source = "ONNX opset 17 BatchNormalization, training_mode = 0",
       .define = batch_norm},
      {.name = "batch_norm_training",
       .family = "normalise",
       .equation = "y as batch_norm with m = mean_n,s x[n, c, s], v = var_n,s x[n, c, s]; "
                   "running_mean = input_mean*momentum + m*(1 - momentum), running_var likewise of "
                   "v, or where unbiased "
                   "of v*M/(M - 1), M = N*S; "
                   "saved_mean = m, saved_inv_std = 1/sqrt(v + eps)",
       .inputs = inputs,
       .dtypes = dtypes::kReal,
       .params = {eps, value_param("momentum", 0.9, "what the running statistics keep"),
                  flag_param("unbiased", 0, "1: running_var as PyTorch has it")},
       .in_place = {},
       .policy = "biased variance, in two passes; momentum is ONNX's: 1 - PyTorch's; unbiased is "
                 "for running_var alone, and of one value (M = 1) its variance stays 0",
       .source = "ONNX opset 17 BatchNormalization, training_mode = 1; PyTorch BatchNorm",
       .define = [](const Instance& i) { return batch_norm_training(i, Passes::two); },
       .forms = {one_pass([](const Instance& i) { return batch_norm_training(i, Passes::one); })},
       .optional_outputs = {"running_mean", "running_var", "saved_mean", "saved_inv_std"}},
  };
}

}  // namespace mote
