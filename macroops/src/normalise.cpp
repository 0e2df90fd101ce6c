// Normalising ops, each over the middle or last axis; the axes around it are merged.
#include "families.h"

namespace mote {
namespace {

ProgramSpec softmax(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N", "C"});
  const Uop e = exp(x - stop_gradient(max(x, {1})));
  return spec({x}, e / sum(e, {1}));
}

ProgramSpec layer_norm(const Instance& instance) {
  const Uop x = input("x", instance.dtype, {"R", "N"});
  const Uop gamma = optional_input(instance, 1, "gamma", {"N"});
  const Uop beta = optional_input(instance, 2, "beta", {"N"});
  const Uop d = x - mean(x, {1});
  Uop y = d * rsqrt(mean(d * d, {1}) + param("eps", instance.dtype));
  if (gamma) y = y * broadcast(gamma, shape_of(x), {1});
  if (beta) y = y + broadcast(beta, shape_of(x), {1});
  return spec({x, gamma, beta}, y);
}

}  // namespace

std::vector<OpRecord> normalise_ops() {
  return {
      {.name = "softmax",
       .family = "normalise",
       .equation =
           "y[r, n, c] = exp(x[r, n, c] - m) / sum_k exp(x[r, k, c] - m), m = max_k x[r, k, c]",
       .inputs = {{"x"}},
       .dtypes = dtypes::kReal,
       .params = {},
       .in_place = {{0, 0}},
       .policy = "over axis 1; a row of -inf, or with +inf or NaN in it, gives NaN",
       .source = "ONNX opset 17 Softmax",
       .define = softmax},
      {.name = "layer_norm",
       .family = "normalise",
       .equation = "y[r, n] = (x[r, n] - mean_j x[r, j]) / sqrt(var_j x[r, j] + eps) "
                   "(* gamma[n] if there is gamma) (+ beta[n] if there is beta)",
       .inputs = {{"x"}, {"gamma", true}, {"beta", true}},
       .dtypes = dtypes::kReal,
       .params = {value_param("eps", 1e-5, "added to the variance")},
       .in_place = {},
       .policy = "biased variance in two passes: the mean first, then the squares of what is left",
       .source = "ONNX opset 17 LayerNormalization",
       .define = layer_norm},
  };
}

}  // namespace mote
