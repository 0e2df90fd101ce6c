// SPDX-License-Identifier: Apache-2.0
// The table of rules by which gradients of gradients are computed.
#include "gradient/op_rules.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "gradient/formulas.h"

namespace mote {
namespace {

/// Element-wise ops with straight pieces.
constexpr std::string_view kPieces[] = {"abs", "clamp", "fmod", "hardsigmoid", "leaky_relu", "max",
                                        "min", "mod",   "relu", "threshold",   "where"};
/// Element-wise ops that bend; their formulas are in pointwise_formulas.cpp.
constexpr std::string_view kBent[] = {"acos",      "asin",     "atan",      "bce_with_logits_none",
                                      "celu",      "cos",      "cosh",      "div",
                                      "elu",       "erf",      "exp",       "expm1",
                                      "geglu",     "gelu",     "gelu_tanh", "glu",
                                      "hardswish", "lerp",     "log",       "log1p",
                                      "mish",      "mse_none", "pow",       "prelu",
                                      "recip",     "reglu",    "rsqrt",     "selu",
                                      "sigmoid",   "silu",     "sin",       "sinh",
                                      "softplus",  "softsign", "sqrt",      "swiglu",
                                      "tan",       "tanh"};
/// Their formulas are right where a kernel of the gradient's gradient is not.
constexpr std::string_view kRightByFormula[] = {"pow"};
/// Linear in all real inputs together.
constexpr std::string_view kLinear[] = {"adaptive_avg_pool2d",
                                        "add",
                                        "avg_pool2d",
                                        "avg_pool3d",
                                        "concat",
                                        "cumsum",
                                        "dequantize",
                                        "dropout",
                                        "embedding",
                                        "flip",
                                        "gather",
                                        "gather_elements",
                                        "global_avg_pool",
                                        "index_add",
                                        "max_unpool2d",
                                        "mean",
                                        "neg",
                                        "one_hot",
                                        "pad_constant",
                                        "pad_edge",
                                        "pad_reflect",
                                        "pad_wrap",
                                        "resize_linear2d",
                                        "resize_linear2d_align_corners",
                                        "resize_nearest2d",
                                        "rope",
                                        "scatter_elements",
                                        "scatter_elements_add",
                                        "scatter_nd",
                                        "scatter_nd_add",
                                        "sgd",
                                        "slice",
                                        "sub",
                                        "sum",
                                        "tile",
                                        "transpose",
                                        "tril",
                                        "triu"};
/// Linear in each of two inputs, and in a third that is added.
constexpr std::string_view kBilinear[] = {"conv1d", "conv2d", "conv3d", "conv_transpose2d",
                                          "gemm",   "matmul", "mul"};

std::vector<OpRule> make_rules() {
  std::vector<OpRule> rules;
  for (const std::string_view op : kPieces)
    rules.push_back({op, Tangent::pointwise, Curvature::zero});
  for (const std::string_view op : kBent)
    rules.push_back({op, Tangent::pointwise, Curvature::formula, pointwise_formula(op), true,
                     nullptr, nullptr,
                     std::ranges::find(kRightByFormula, op) != std::end(kRightByFormula)});
  for (const std::string_view op : kLinear) rules.push_back({op, Tangent::linear, Curvature::zero});
  for (const std::string_view op : kBilinear)
    rules.push_back({op, Tangent::bilinear, Curvature::bilinear});
  for (const std::string_view op : {"global_max_pool", "norm1", "reduce_max", "reduce_min"})
    rules.push_back({op, Tangent::reduction, Curvature::zero});
  for (const std::string_view op : {"max_pool2d", "max_pool2d_with_indices"})
    rules.push_back({op, Tangent::picked, Curvature::zero});
  for (const std::string_view op : {"logsum", "logsumexp", "norm2", "std", "sumsq", "var"})
    rules.push_back({op, Tangent::reduction, Curvature::formula, reduction_formula(op)});
  for (const std::string_view op : {"bce_with_logits", "mse"})
    rules.push_back({op, Tangent::reduction, Curvature::formula, pointwise_formula(op)});
  for (const std::string_view op : {"softmax", "l2_normalise"})
    rules.push_back({op, Tangent::self_adjoint, Curvature::formula, reduction_formula(op)});
  for (const std::string_view op : {"batch_norm", "layer_norm", "log_softmax", "rms_norm"})
    rules.push_back({op, Tangent::none, Curvature::formula, reduction_formula(op)});
  for (const std::string_view op :
       {"adam", "attention", "attention_softcap", "attention_softcap_with_lse",
        "attention_with_lse", "batch_norm_training", "conv2d_relu", "group_norm", "gru_cell",
        "instance_norm", "layer_norm_with_statistics", "lrn", "lstm_cell", "prod", "rnn_cell"})
    rules.push_back({op, Tangent::none, Curvature::formula, composed_formula(op)});
  for (const std::string_view op : {"adaptive_max_pool2d", "max_pool3d"})
    rules.push_back({op, Tangent::formula, Curvature::zero, composed_formula(op)});
  for (const std::string_view op :
       {"scatter_elements_max", "scatter_elements_min", "scatter_nd_max", "scatter_nd_min"})
    rules.push_back({op, Tangent::scattered, Curvature::zero});
  // The products of the others' elements have no formula: which these are, indices tell.
  for (const std::string_view op : {"scatter_elements_mul", "scatter_nd_mul"})
    rules.push_back({op, Tangent::scattered, Curvature::none});
  for (const std::string_view op : {"nll", "nll_none"})
    rules.push_back(
        {op, Tangent::reduction, Curvature::zero, nullptr, false, nullptr, composed_formula(op)});
  for (const std::string_view op : {"cross_entropy", "cross_entropy_none"})
    rules.push_back({op, Tangent::reduction, Curvature::formula, reduction_formula(op), false,
                     "smoothing", composed_formula(op)});
  std::ranges::sort(rules, {}, &OpRule::op);
  return rules;
}

}  // namespace

const OpRule* rule_of(std::string_view op) {
  static const std::vector<OpRule> rules = make_rules();
  const auto found = std::ranges::lower_bound(rules, op, {}, &OpRule::op);
  return found != rules.end() && found->op == op ? &*found : nullptr;
}

}  // namespace mote
