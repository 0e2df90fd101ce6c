// SPDX-License-Identifier: Apache-2.0
#include "gradient_cases.h"

#include <ostream>

namespace mote {
namespace {

CaseInput in(const AxisList& shape, double lowest = -2, double highest = 2) {
  return {.shape = shape, .lowest = lowest, .highest = highest};
}
CaseInput whole(const AxisList& shape, std::vector<std::int64_t> elements) {
  return {.dtype = DType::i64, .shape = shape, .whole = std::move(elements)};
}
CaseInput truth(const AxisList& shape, std::vector<std::int64_t> elements) {
  return {.dtype = DType::boolean, .shape = shape, .whole = std::move(elements)};
}
CaseInput none() { return {.shape = {}, .is_left_out = true}; }

void add_pointwise(std::vector<GradientCase>& cases) {
  for (const char* op : {"abs",
                         "atan",
                         "celu alpha=1.5",
                         "cos",
                         "cosh",
                         "elu alpha=0.5",
                         "erf",
                         "exp",
                         "expm1",
                         "gelu",
                         "gelu_tanh",
                         "hardsigmoid",
                         "hardswish",
                         "leaky_relu",
                         "mish",
                         "neg",
                         "relu",
                         "selu",
                         "sigmoid",
                         "silu",
                         "sin",
                         "sinh",
                         "softplus",
                         "softsign",
                         "tanh",
                         "threshold threshold=0.5 value=-1",
                         "cast_f64",
                         "tan"})
    cases.push_back({op, {in({2, 3})}});
  for (const char* op : {"acos", "asin"}) cases.push_back({op, {in({2, 3}, -0.8, 0.8)}});
  for (const char* op : {"log", "log1p", "recip", "rsqrt", "sqrt"})
    cases.push_back({op, {in({2, 3}, 0.5, 3)}});
  for (const char* op : {"add", "sub", "mul", "max", "min"}) {
    cases.push_back({op, {in({2, 3}), in({3})}});
    cases.push_back({op, {in({2, 1}), in({2, 2, 3})}});
  }
  for (const char* op : {"div", "fmod", "mod"})
    cases.push_back({op, {in({2, 3}, 2.1, 2.9), in({3}, 0.6, 0.9)}});
  cases.push_back({"pow", {in({2, 3}, 0.5, 2), in({3})}});
  cases.push_back({"prelu", {in({2, 3}), in({3})}});
  cases.push_back({"lerp", {in({2, 3}), in({3}), in({2, 1}, 0, 1)}});
  cases.push_back({"clamp", {in({2, 3}), in({3}, -1.3, -1.1), in({2, 1}, 0.6, 1.2)}});
  cases.push_back({"clamp", {in({2, 3}), none(), in({}, 0.6, 1.2)}});
  cases.push_back({"where", {truth({2, 3}, {1, 0, 0, 1, 1, 0}), in({2, 3}), in({3})}});
  for (const char* op : {"geglu", "glu", "reglu", "swiglu"})
    cases.push_back({op, {in({2, 3}), in({2, 3})}});
}

void add_index(std::vector<GradientCase>& cases) {
  const std::vector<std::int64_t> ends = {2, 0, 2};
  cases.push_back({"concat", {in({2, 2, 3}), in({2, 1, 3})}});
  cases.push_back({"concat axis=0", {in({2, 3}), in({1, 3})}});
  cases.push_back({"embedding", {in({4, 2}), whole({3}, ends)}});
  cases.push_back({"flip axis=1", {in({2, 3})}});
  cases.push_back({"gather axis=1", {in({2, 3, 2}), whole({3}, ends)}});
  cases.push_back({"gather_elements", {in({1, 3, 2}), whole({1, 3, 2}, {2, 0, 1, 1, 2, 2})}});
  cases.push_back({"index_add alpha=2", {in({2, 3, 2}), whole({3}, ends), in({2, 3, 2})}});
  cases.push_back({"one_hot depth=3", {whole({2, 2}, {0, 2, 1, 1}), in({2})}});
  for (const char* op : {"pad_constant", "pad_edge", "pad_reflect", "pad_wrap"})
    cases.push_back({std::string(op) + " pads2=1 pads3=2 pads7=1", {in({1, 1, 3, 4})}});
  cases.push_back({"pad_constant pads3=1 value=7", {in({1, 1, 2, 2})}});
  for (const char* op : {"scatter_elements", "scatter_elements_add"})
    cases.push_back({op, {in({1, 4, 2}), whole({1, 2, 2}, {3, 0, 1, 1}), in({1, 2, 2})}});
  for (const char* op : {"scatter_elements_max", "scatter_elements_min", "scatter_elements_mul"})
    cases.push_back({op,
                     {in({1, 4, 2}), whole({1, 2, 2}, {3, 0, 3, 1}), in({1, 2, 2})},
                     std::string(op).ends_with("mul") ? 1 : kTestedOrders});
  for (const char* op : {"scatter_nd", "scatter_nd_add"})
    cases.push_back({op, {in({2, 2, 2, 3}), whole({2, 3}, {0, 1, 0, 1, 1, 1}), in({2, 3})}});
  for (const char* op : {"scatter_nd_max", "scatter_nd_min", "scatter_nd_mul"})
    cases.push_back({op,
                     {in({2, 2, 2, 3}), whole({3, 3}, {0, 1, 0, 1, 1, 1, 0, 1, 0}), in({3, 3})},
                     std::string(op).ends_with("mul") ? 1 : kTestedOrders});
  cases.push_back({"slice start=1 count=2 step=2", {in({2, 4, 3})}});
  cases.push_back({"tile repeats2=2 repeats3=3", {in({1, 2, 2, 2})}});
  cases.push_back({"transpose", {in({2, 3})}});
  for (const char* op : {"tril", "triu"}) cases.push_back({op, {in({3, 3})}});
  cases.push_back({"rope", {in({1, 1, 2, 2, 2})}});
  cases.push_back({"dropout seed=3", {in({1, 2, 2, 3})}});
}

void add_linear(std::vector<GradientCase>& cases) {
  cases.push_back({"matmul", {in({2, 3}), in({3, 2})}});
  cases.push_back({"matmul", {in({2, 1, 2, 3}), in({2, 3, 2})}});
  cases.push_back({"gemm alpha=2 beta=3", {in({2, 3}), in({3, 2}), in({2, 2})}});
  cases.push_back({"gemm", {in({2, 3}), in({3, 2})}});
  cases.push_back({"conv1d stride0=2", {in({1, 2, 5}), in({2, 2, 2}), in({2})}});
  cases.push_back({"conv2d groups=2 pads0=1", {in({1, 2, 3, 3}), in({2, 1, 2, 2}), in({2})}});
  cases.push_back({"conv2d stride0=2 stride1=2", {in({1, 1, 4, 4}), in({1, 1, 3, 2})}});
  cases.push_back({"conv3d", {in({1, 1, 2, 3, 2}), in({1, 1, 2, 2, 1}), in({1})}});
  cases.push_back({"conv_transpose2d stride0=2", {in({1, 2, 2, 2}), in({2, 1, 2, 2}), in({1})}});
  cases.push_back({"conv2d_relu", {in({1, 1, 3, 3}), in({1, 1, 2, 2}), in({1})}});
  const CaseInput q = in({1, 2, 2, 2});
  const CaseInput k = in({1, 1, 3, 2});
  for (const char* op : {"attention", "attention_with_lse"})
    cases.push_back({op, {q, k, in({1, 1, 3, 2}), in({1, 2, 2, 3})}});
  for (const char* op : {"attention_softcap softcap=2", "attention_softcap_with_lse softcap=2"})
    cases.push_back({op, {q, k, in({1, 1, 3, 2})}});
  cases.push_back({"attention causal=1 scale=0.5", {q, k, in({1, 1, 3, 2})}});
  cases.push_back({"attention window0=0 window1=1 anchor=1",
                   {in({1, 4, 2, 2}), in({1, 2, 3, 2}), in({1, 2, 3, 2})}});
}

void add_reductions(std::vector<GradientCase>& cases) {
  for (const char* op :
       {"mean", "norm1", "norm2", "reduce_max", "reduce_min", "std", "sum", "sumsq", "var",
        "logsumexp", "softmax", "log_softmax", "l2_normalise", "cumsum"}) {
    cases.push_back({op, {in({2, 3, 2})}});
    cases.push_back({std::string(op) + " axis=1", {in({2, 3})}});
    cases.push_back({std::string(op) + " axis=0", {in({3, 2})}});
  }
  cases.push_back({"cumsum axis=1 exclusive=1 reverse=1", {in({2, 3})}});
  cases.push_back({"logsum axis=1", {in({2, 3}, 0.5, 2)}});
  cases.push_back({"prod axis=1", {in({2, 3})}});
  cases.push_back({"prod axis=0", {in({6, 2})}});
  cases.push_back({"prod", {in({1, 1, 2})}});
  for (const char* op : {"layer_norm", "rms_norm"}) {
    const bool has_beta = std::string(op) == "layer_norm";
    std::vector<CaseInput> inputs = {in({2, 2, 3}), in({3})};
    if (has_beta) inputs.push_back(in({3}));
    cases.push_back({op, inputs});
    cases.push_back({op, {in({2, 3})}});
  }
  cases.push_back({"batch_norm", {in({2, 2, 2}), in({2}), in({2}), in({2}), in({2}, 0.5, 2)}});
  cases.push_back({"batch_norm_training momentum=0.5",
                   {in({2, 2, 2}), in({2}), in({2}), in({2}), in({2}, 0.5, 2)}});
  for (const char* op : {"instance_norm", "group_norm groups=2"})
    cases.push_back({op, {in({1, 2, 3}), in({2}), in({2})}});
  cases.push_back({"layer_norm_with_statistics", {in({2, 3}), in({3}), in({3})}});
  cases.push_back({"lrn size=2 alpha=1", {in({1, 3, 2})}});
}

void add_losses(std::vector<GradientCase>& cases) {
  for (const char* op :
       {"mse", "bce_with_logits", "mse mean=0", "mse_none", "bce_with_logits_none"})
    cases.push_back({op, {in({4}), in({4})}});
  const CaseInput target = whole({2, 2}, {0, 2, 1, 1});
  for (const char* op :
       {"cross_entropy", "nll", "cross_entropy mean=0", "cross_entropy_none", "nll_none"})
    cases.push_back({op, {in({2, 3, 2}), target}});
  for (const char* op :
       {"cross_entropy", "cross_entropy smoothing=0.25 ignore_index=1", "cross_entropy mean=0",
        "cross_entropy_none smoothing=0.5", "nll", "nll ignore_index=2", "nll_none"})
    cases.push_back({op, {in({2, 3, 2}), target, in({3}, 0.5, 2)}});
  for (const char* op : {"cross_entropy smoothing=0.25", "cross_entropy_none smoothing=0.5"})
    cases.push_back({op, {in({2, 3, 2}), target}});
}

void add_spatial(std::vector<GradientCase>& cases) {
  cases.push_back({"adaptive_avg_pool2d output0=2 output1=1", {in({1, 1, 3, 2})}});
  cases.push_back({"adaptive_max_pool2d output0=2 output1=1", {in({1, 1, 3, 2})}});
  cases.push_back({"adaptive_max_pool2d output0=3 output1=2", {in({1, 2, 4, 5})}});
  cases.push_back({"avg_pool2d kernel0=2 kernel1=2", {in({1, 1, 3, 3})}});
  cases.push_back({"avg_pool3d kernel0=2 kernel1=1 kernel2=2", {in({1, 1, 2, 2, 3})}});
  cases.push_back({"global_avg_pool", {in({1, 2, 2, 2})}});
  cases.push_back({"global_max_pool", {in({1, 2, 2, 2})}});
  cases.push_back({"max_pool2d kernel0=2 kernel1=2", {in({2, 1, 3, 3})}});
  cases.push_back({"max_pool2d_with_indices kernel0=2 kernel1=2 stride0=2", {in({1, 2, 4, 3})}});
  cases.push_back({"max_pool3d kernel0=2 kernel1=1 kernel2=2", {in({1, 1, 2, 2, 3})}});
  cases.push_back(
      {"max_pool3d kernel0=2 kernel1=2 kernel2=2 stride0=2 dilation1=2 pads0=1 pads5=1 "
       "ceil_mode=1",
       {in({1, 2, 2, 3, 3})}});
  cases.push_back(
      {"max_unpool2d output0=3 output1=3", {in({1, 1, 2, 2}), whole({1, 1, 2, 2}, {0, 4, 7, 8})}});
  for (const char* op : {"resize_linear2d", "resize_linear2d_align_corners", "resize_nearest2d"})
    cases.push_back({std::string(op) + " output0=4 output1=3", {in({1, 1, 2, 2})}});
}

void add_steps(std::vector<GradientCase>& cases) {
  cases.push_back({"sgd step=2 momentum=0.5 weight_decay=0.25", {in({3}), in({3}), in({3})}});
  cases.push_back({"adam step=2", {in({3}), in({3}), in({3}), in({3}, 0.5, 2)}});
  const CaseInput x = in({2, 2});
  cases.push_back({"rnn_cell", {x, in({2, 3}), in({3, 2}), in({3, 3}), in({3})}});
  cases.push_back({"gru_cell", {x, in({2, 3}), in({3, 3, 2}), in({3, 3, 3}), in({4, 3})}});
  cases.push_back(
      {"lstm_cell", {x, in({2, 3}), in({2, 3}), in({4, 3, 2}), in({4, 3, 3}), in({4, 3})}});
}

}  // namespace

std::string GradientCase::name(std::size_t index) const {
  return command.substr(0, command.find(' ')) + "_" + std::to_string(index);
}

std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> cases;
  add_pointwise(cases);
  add_index(cases);
  add_linear(cases);
  add_reductions(cases);
  add_losses(cases);
  add_spatial(cases);
  add_steps(cases);
  return cases;
}

void PrintTo(const GradientCase& c, std::ostream* out) { *out << c.command; }

Tensor whole_numbers(const CaseInput& in) {
  Tensor tensor(in.dtype, {static_cast<std::int64_t>(in.whole.size())});
  for (std::size_t k = 0; k < in.whole.size(); ++k)
    tensor.set({static_cast<std::int64_t>(k)}, in.whole[k]);
  return tensor.reshape(in.shape);
}

}  // namespace mote
