// SPDX-License-Identifier: Apache-2.0
// Adapters of recurrent layers, step by step: the cells of the catalogue; nodes that need more use
// gemm, activations and elementwise ops.
#include <algorithm>

#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// One direction of a layer with G gates: time first, biases and states filled in.
struct Layer {
  Array x;               ///< [T, B, I], reversed if it runs backwards
  Array w, r;            ///< [G*H, I], [G*H, H]
  Array w_bias, r_bias;  ///< [G*H]
  Array h, cell;         ///< [B, H]
  std::int64_t hidden = 0, batch = 0;
};

Array first_of(const Array& x) { return reshaped(x, {x.shape.begin() + 1, x.shape.end()}); }

Array part_of(const Call& c, const Array& x, std::int64_t direction) {
  return first_of(x.shape[0] == 1 ? x : c.slice(x, 0, direction, 1));
}

bool is_batch_first(const Call& c) { return c.integer("layout", 0) == 1; }

/// Returns a state [D, B, H] (or [B, D, H]) as [B, H]; zeros if it is absent.
Array state(const Call& c, std::size_t k, const Layer& layer, std::int64_t direction) {
  if (!c.has(k)) return broadcast_to(constant(c.dtype(), 0), {layer.batch, layer.hidden});
  return part_of(c, is_batch_first(c) ? permuted(c.in(k), {1, 0, 2}) : c.in(k), direction);
}

void expect_plain(const Call& c) {
  for (const char* unmapped : {"activations", "clip", "activation_alpha", "activation_beta"}) {
    if (c.has_attribute(unmapped)) throw NotApplicable(std::string("attribute ") + unmapped);
  }
  if (!c.has(4)) return;
  const std::int64_t steps = c.in(0).shape.at(is_batch_first(c) ? 1 : 0);
  for (const std::int64_t length : integers_in(c.in(4))) {
    if (length != steps) throw NotApplicable("sequences of different lengths");
  }
}

Array reversed(const Call& c, const Array& x) {
  const Array flat = around_axis(x, 0);
  return reshaped(c.kernels().run("flip", x.dtype, {&flat}), x.shape);
}

Layer layer_of(const Call& c, std::int64_t gates, std::int64_t direction, bool backwards) {
  Layer layer;
  layer.x = is_batch_first(c) ? c.transpose(c.in(0), {1, 0, 2}) : c.in(0);
  if (backwards) layer.x = reversed(c, layer.x);
  layer.w = part_of(c, c.in(1), direction);
  layer.r = part_of(c, c.in(2), direction);
  layer.hidden = layer.r.shape.at(1);
  layer.batch = layer.x.shape.at(1);
  const std::int64_t rows = gates * layer.hidden;
  const Array bias =
      c.has(3) ? part_of(c, c.in(3), direction) : broadcast_to(constant(c.dtype(), 0), {2 * rows});
  layer.w_bias = c.slice(bias, 0, 0, rows);
  layer.r_bias = c.slice(bias, 0, rows, rows);
  layer.h = state(c, 5, layer, direction);
  layer.cell = state(c, 6, layer, direction);
  return layer;
}

/// Computes x w^T + bias, for rows `gate`*H to `gate`*H + count*H of w.
Array linear(const Call& c, const Layer& layer, const Array& x, const Array& w, const Array& bias,
             std::int64_t gate, std::int64_t count) {
  const std::int64_t from = gate * layer.hidden, rows = count * layer.hidden;
  const Array part = permuted(c.slice(w, 0, from, rows), {1, 0});
  const Array added = broadcast_to(c.slice(bias, 0, from, rows), {x.shape[0], rows});
  return c.kernels().run("gemm", x.dtype, {&x, &part, &added});
}

Array gate_of(const Call& c, const Layer& layer, const Array& all, std::int64_t gate) {
  return c.slice(all, 1, gate * layer.hidden, layer.hidden);
}

/// Returns the gates of w, r or a bias in another order, as a leading axis.
Array gates_of(const Call& c, const Layer& layer, const Array& all,
               const std::vector<std::int64_t>& order) {
  std::vector<Array> gates;
  for (const std::int64_t k : order)
    gates.push_back(c.slice(all, 0, k * layer.hidden, layer.hidden));
  Dims shape = all.shape;
  shape[0] = layer.hidden;
  shape.insert(shape.begin(), std::ssize(order));
  return reshaped(c.concat(gates, 0), shape);
}

/// Returns the sum of both biases.
Array bias_of(const Call& c, const Layer& layer) {
  return c.binary("add", layer.w_bias, layer.r_bias);
}

/// Computes the layer's new states from x[t]; the direction selects among the node's inputs.
using Step = std::function<void(Layer&, const Array& x, std::int64_t direction)>;

/// Returns h of every step: [T, 1, B, H].
Array unrolled(const Call& c, Layer& layer, const Step& step, std::int64_t direction) {
  std::vector<Array> all;
  const std::int64_t steps = layer.x.shape[0];
  for (std::int64_t t = 0; t < steps; ++t) {
    step(layer, first_of(c.slice(layer.x, 0, t, 1)), direction);
    all.push_back(reshaped(layer.h, {1, 1, layer.batch, layer.hidden}));
  }
  return c.concat(all, 0);
}

/// Returns Y, Y_h and Y_c of all directions.
Outputs in_directions(const Call& c, std::int64_t gates, const Step& step) {
  expect_plain(c);
  const std::string direction = c.text("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  std::vector<Array> every, last, cells;
  for (std::int64_t d = 0; d < directions; ++d) {
    const bool backwards = d == 1 || direction == "reverse";
    Layer layer = layer_of(c, gates, d, backwards);
    const Array y = unrolled(c, layer, step, d);
    every.push_back(backwards ? reversed(c, y) : y);
    last.push_back(reshaped(layer.h, {1, layer.batch, layer.hidden}));
    cells.push_back(reshaped(layer.cell, {1, layer.batch, layer.hidden}));
  }
  Outputs outputs = {c.concat(every, 1), c.concat(last, 0), c.concat(cells, 0)};
  if (!is_batch_first(c)) return outputs;
  return {c.transpose(outputs[0], {2, 0, 1, 3}), c.transpose(outputs[1], {1, 0, 2}),
          c.transpose(outputs[2], {1, 0, 2})};
}

Outputs rnn(const Call& c) {
  return in_directions(c, 1, [&](Layer& layer, const Array& x, std::int64_t) {
    const Array bias = bias_of(c, layer);
    layer.h = c.kernels().run("rnn_cell", x.dtype, {&x, &layer.h, &layer.w, &layer.r, &bias});
  });
}

/// Runs the form in which the reset gate is applied after the product.
void step_gru(const Call& c, Layer& layer, const Array& x) {
  const Array w = gates_of(c, layer, layer.w, {0, 1, 2}),
              r = gates_of(c, layer, layer.r, {0, 1, 2});
  const Array both = gates_of(c, layer, bias_of(c, layer), {0, 1});
  const Array of_x = gates_of(c, layer, layer.w_bias, {2});
  const Array of_h = gates_of(c, layer, layer.r_bias, {2});
  const Array b = c.concat({both, of_x, of_h}, 0);
  layer.h = c.kernels().run("gru_cell", x.dtype, {&x, &layer.h, &w, &r, &b});
}

/// The gates are z, r, h.
Outputs gru(const Call& c) {
  if (c.integer("linear_before_reset", 0) != 0) {
    return in_directions(
        c, 3, [&](Layer& layer, const Array& x, std::int64_t) { step_gru(c, layer, x); });
  }
  return in_directions(c, 3, [&](Layer& layer, const Array& x, std::int64_t) {
    const Array from_x = linear(c, layer, x, layer.w, layer.w_bias, 0, 3);
    const Array from_h = linear(c, layer, layer.h, layer.r, layer.r_bias, 0, 2);
    const auto gate = [&](std::int64_t k) {
      return c.unary("sigmoid",
                     c.binary("add", gate_of(c, layer, from_x, k), gate_of(c, layer, from_h, k)));
    };
    const Array z = gate(0), r = gate(1);
    const Array hidden = linear(c, layer, c.binary("mul", r, layer.h), layer.r, layer.r_bias, 2, 1);
    const Array fresh = c.unary("tanh", c.binary("add", gate_of(c, layer, from_x, 2), hidden));
    layer.h = c.binary("add", c.binary("mul", c.binary("sub", 1.0, z), fresh),
                       c.binary("mul", z, layer.h));
  });
}

/// Reorders ONNX's gates i, o, f, c to the cell's i, f, c, o.
void step_lstm(const Call& c, Layer& layer, const Array& x) {
  const std::vector<std::int64_t> order = {0, 2, 3, 1};
  const Array w = gates_of(c, layer, layer.w, order), r = gates_of(c, layer, layer.r, order);
  const Array b = gates_of(c, layer, bias_of(c, layer), order);
  const Outputs next =
      c.kernels().run_all("lstm_cell", x.dtype, {&x, &layer.h, &layer.cell, &w, &r, &b});
  layer.h = next.at(0);
  layer.cell = next.at(1);
}

/// The gates are i, o, f, c, with peepholes of the cell on i, o, f.
Outputs lstm(const Call& c) {
  if (c.integer("input_forget", 0) != 0) throw NotApplicable("attribute input_forget");
  if (!c.has(7)) {
    return in_directions(
        c, 4, [&](Layer& layer, const Array& x, std::int64_t) { step_lstm(c, layer, x); });
  }
  return in_directions(c, 4, [&](Layer& layer, const Array& x, std::int64_t direction) {
    const Array peepholes = part_of(c, c.in(7), direction);
    const Array all = c.binary("add", linear(c, layer, x, layer.w, layer.w_bias, 0, 4),
                               linear(c, layer, layer.h, layer.r, layer.r_bias, 0, 4));
    const auto gate = [&](std::int64_t k) {
      const Array peephole = c.slice(peepholes, 0, k * layer.hidden, layer.hidden);
      return c.unary("sigmoid", c.binary("add", gate_of(c, layer, all, k),
                                         c.binary("mul", layer.cell, peephole)));
    };
    const Array i = gate(0), f = gate(2), fresh = c.unary("tanh", gate_of(c, layer, all, 3));
    layer.cell = c.binary("add", c.binary("mul", f, layer.cell), c.binary("mul", i, fresh));
    layer.h = c.binary("mul", gate(1), c.unary("tanh", layer.cell));
  });
}

}  // namespace

Adapters recurrent_adapters() { return {{"RNN", rnn}, {"GRU", gru}, {"LSTM", lstm}}; }

}  // namespace mote::onnx
