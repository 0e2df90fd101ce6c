// SPDX-License-Identifier: Apache-2.0
// Ops as they are written with other ops: cells, normalisations with statistics, windows of
// channels, products. The gradient of such an op is that of the ops which it is written with.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gradient/composed.h"
#include "gradient/formula.h"
#include "gradient/formulas.h"

namespace mote {
namespace {

using Value = FormulaValue;

Value gate_value(Value sums) { return sums.formula->op("sigmoid", {sums}); }
Value tanh_value(Value sums) { return sums.formula->op("tanh", {sums}); }
Value root_inverted(Value v) { return v.formula->op("rsqrt", {v}); }

/// Returns x w^T for the rows of weights [G, H, I] or [H, I].
Value weighted_rows(Formula& f, Value x, Value weights) {
  const AxisList shape = f.shape(weights);
  const int rank = shape.size();
  const std::int64_t rows = rank == 3 ? shape[0] * shape[1] : shape[0];
  const Value flat = f.reshaped(weights, {rows, shape[rank - 1]});
  return f.op("matmul", {x, f.transposed(flat)});
}
/// Returns the part of [N, G H] that belongs to a gate.
Value gate_sums(Formula& f, Value sums, std::int64_t gates, std::int64_t gate) {
  const AxisList shape = f.shape(sums);
  const std::int64_t width = shape[shape.size() - 1] / gates;
  return f.slice(sums, -1, gate * width, width);
}

/// The gradient of rnn_cell does not take b, but h' = tanh(…).
void rnn_cell_gradient(Formula& f) {
  const Value of_sums = f.gy() * (1 - f.y() * f.y());
  const Value rows = f.transposed(of_sums);
  f.set(0, f.op("matmul", {of_sums, f.x(2)}));
  f.set(1, f.op("matmul", {of_sums, f.x(3)}));
  f.set(2, f.op("matmul", {rows, f.x(0)}));
  f.set(3, f.op("matmul", {rows, f.x(1)}));
  f.set(4, f.sum_to_axis(of_sums, 1));
}

void write_lstm_cell(Formula& f) {
  const Value sums = weighted_rows(f, f.x(0), f.x(3)) + weighted_rows(f, f.x(1), f.x(4));
  const auto gate = [&](std::int64_t k) { return gate_sums(f, sums, 4, k) + f.row(f.x(5), k); };
  const Value c_next = gate_value(gate(1)) * f.x(2) + gate_value(gate(0)) * tanh_value(gate(2));
  f.give(0, gate_value(gate(3)) * tanh_value(c_next));
  f.give(1, c_next);
}

void write_gru_cell(Formula& f) {
  const Value from_x = weighted_rows(f, f.x(0), f.x(2));
  const Value from_h = weighted_rows(f, f.x(1), f.x(3));
  const auto of_x = [&](std::int64_t k) { return gate_sums(f, from_x, 3, k) + f.row(f.x(4), k); };
  const auto of_h = [&](std::int64_t k) { return gate_sums(f, from_h, 3, k); };
  const Value update = gate_value(of_x(0) + of_h(0));
  const Value reset = gate_value(of_x(1) + of_h(1));
  const Value fresh = tanh_value(of_x(2) + reset * (of_h(2) + f.row(f.x(4), 3)));
  f.give(0, (1 - update) * fresh + update * f.x(1));
}

void write_adam(Formula& f) {
  const double beta1 = f.param("beta1");
  const double beta2 = f.param("beta2");
  const double step = f.param("step");
  const Value slope = f.x(1) + f.param("weight_decay") * f.x(0);
  const Value m = beta1 * f.x(2) + (1 - beta1) * slope;
  const Value v = beta2 * f.x(3) + (1 - beta2) * (slope * slope);
  const Value root = f.op("sqrt", {1 / (1 - std::pow(beta2, step)) * v});
  const double rate = f.param("lr") / (1 - std::pow(beta1, step));
  f.give(0, f.x(0) - rate * m / (f.param("eps") + root));
  f.give(1, m);
  f.give(2, v);
}

void write_conv2d_relu(Formula& f) {
  std::vector<Value> inputs = {f.x(0), f.x(1)};
  if (f.has(2)) inputs.push_back(f.x(2));
  f.give(0, f.op("relu", {f.op_like("conv2d", inputs)}));
}

/// Returns y * gamma + beta, of inputs 1 and 2, where they are there.
Value scaled_and_moved(Formula& f, Value y, int axis) {
  if (f.has(1)) y = y * f.along_axis(f.x(1), axis);
  return f.has(2) ? y + f.along_axis(f.x(2), axis) : y;
}

void write_batch_norm_training(Formula& f) {
  const std::int64_t channels = f.shape(f.x(1))[0];
  const auto count = static_cast<double>(channels == 0 ? 0 : f.element_count() / channels);
  const Value mean = 1 / count * f.sum_to_axis(f.x(0), 1);
  const Value d = f.x(0) - f.along_axis(mean, 1);
  const Value squares = f.sum_to_axis(d * d, 1);
  const Value r = root_inverted(f.param("eps") + 1 / count * squares);
  const double momentum = f.param("momentum");
  const double running = std::max(count - f.param("unbiased"), std::min(count, 1.0));
  f.give(0, d * f.along_axis(r, 1) * f.along_axis(f.x(1), 1) + f.along_axis(f.x(2), 1));
  f.give(1, momentum * f.x(3) + (1 - momentum) * mean);
  f.give(2, momentum * f.x(4) + (1 - momentum) / running * squares);
  f.give(3, mean);
  f.give(4, r);
}

/// Returns the values less their mean over the last axis, and the inverse of their deviation.
std::pair<Value, Value> centred_rows(Formula& f, Value rows) {
  const int last = f.shape(rows).size() - 1;
  const double share = 1 / static_cast<double>(f.shape(rows)[last]);
  const auto mean = [&](Value v) {
    AxisList kept = f.shape(v);
    kept[last] = 1;
    return f.reshaped(share * f.op("sum axis=" + std::to_string(last), {v}), kept);
  };
  const Value d = rows - mean(rows);
  return {d, root_inverted(f.param("eps") + mean(d * d))};
}

/// Normalises groups of channels of x [N, C, S].
void write_groups(Formula& f, std::int64_t groups) {
  const AxisList shape = f.shape(f.x());
  const int channels = shape.size() - 2;
  AxisList rows;
  for (int axis = 0; axis < channels; ++axis) rows.push_back(shape[axis]);
  rows.push_back(groups);
  rows.push_back(groups == 0 ? 0 : shape[channels] / groups * shape[channels + 1]);
  const auto [d, r] = centred_rows(f, f.reshaped(f.x(), rows));
  f.give(0, scaled_and_moved(f, f.reshaped(d * r, shape), 1));
}
void write_group_norm(Formula& f) { write_groups(f, static_cast<std::int64_t>(f.param("groups"))); }
void write_instance_norm(Formula& f) { write_groups(f, f.shape(f.x())[f.shape(f.x()).size() - 2]); }

void write_layer_norm_with_statistics(Formula& f) {
  const AxisList shape = f.shape(f.x());
  const auto [d, r] = centred_rows(f, f.x());
  const auto of_rows = [&](Value v) { return f.reshaped(v, shape_without_last(shape)); };
  f.give(0, scaled_and_moved(f, d * r, 1));
  f.give(1, of_rows(f.mean(f.x())));
  f.give(2, of_rows(r));
}

/// The mean of squares in a window of channels is an average pool over them.
void write_lrn(Formula& f) {
  const AxisList shape = f.shape(f.x());
  const int channels = shape.size() - 2;
  const auto size = static_cast<std::int64_t>(f.param("size"));
  std::int64_t images = 1;
  for (int axis = 0; axis < channels; ++axis) images *= shape[axis];
  const Value squares =
      f.reshaped(f.x() * f.x(), {images, 1, shape[channels], shape[channels + 1]});
  const Value means = f.op("avg_pool2d count_include_pad=1 kernel0=" + std::to_string(size) +
                               " kernel1=1 pads0=" + std::to_string((size - 1) / 2) +
                               " pads2=" + std::to_string(size - 1 - (size - 1) / 2),
                           {squares});
  const Value base = f.param("bias") + f.param("alpha") * f.reshaped(means, shape);
  f.give(0, f.x() / f.op("pow", {base, f.number(f.param("beta"))}));
}

/// Multiplies neighbours until one is left, so that no element is divided by.
void write_prod(Formula& f) {
  Value left = f.x();
  Value odd = {};
  const int axis = f.axis();
  AxisList reduced;
  for (int k = 0; k < f.shape(left).size(); ++k)
    if (k != axis) reduced.push_back(f.shape(left)[k]);
  std::int64_t count = f.shape(left)[axis];
  if (count == 0) return f.give(0, f.filled(1, reduced));
  while (count > 1) {
    if (count % 2 != 0) {
      const Value last = f.slice(left, axis, count - 1, 1);
      odd = odd.symbol ? odd * last : last;
    }
    const std::int64_t half = count / 2;
    left = f.slice(left, axis, 0, half, 2) * f.slice(left, axis, 1, half, 2);
    count = half;
  }
  f.give(0, f.reshaped(odd.symbol ? left * odd : left, reduced));
}

void write_cross_entropy(Formula& f) { write_class_loss(f, "cross_entropy"); }
void write_cross_entropy_none(Formula& f) { write_class_loss(f, "cross_entropy_none"); }
void write_nll(Formula& f) { write_class_loss(f, "nll"); }
void write_nll_none(Formula& f) { write_class_loss(f, "nll_none"); }

constexpr auto kComposedFormulas = std::to_array<std::pair<std::string_view, WriteFormula>>({
    {"adam", by_other_ops<write_adam>},
    {"adaptive_max_pool2d", by_other_ops<write_adaptive_max_pool2d>},
    {"attention", by_other_ops<write_attention>},
    {"attention_softcap", by_other_ops<write_attention>},
    {"attention_softcap_with_lse", by_other_ops<write_attention>},
    {"attention_with_lse", by_other_ops<write_attention>},
    {"batch_norm_training", by_other_ops<write_batch_norm_training>},
    {"conv2d_relu", by_other_ops<write_conv2d_relu>},
    {"cross_entropy", by_other_ops<write_cross_entropy>},
    {"cross_entropy_none", by_other_ops<write_cross_entropy_none>},
    {"group_norm", by_other_ops<write_group_norm>},
    {"gru_cell", by_other_ops<write_gru_cell>},
    {"instance_norm", by_other_ops<write_instance_norm>},
    {"layer_norm_with_statistics", by_other_ops<write_layer_norm_with_statistics>},
    {"lrn", by_other_ops<write_lrn>},
    {"lstm_cell", by_other_ops<write_lstm_cell>},
    {"max_pool3d", by_other_ops<write_max_pool3d>},
    {"nll", by_other_ops<write_nll>},
    {"nll_none", by_other_ops<write_nll_none>},
    {"prod", by_other_ops<write_prod>},
    {"rnn_cell", rnn_cell_gradient},
});

}  // namespace

WriteFormula composed_formula(std::string_view op) {
  for (const auto& [name, formula] : kComposedFormulas)
    if (name == op) return formula;
  return nullptr;
}

}  // namespace mote
