// Adapters of recurrent layers, composed of gemm, activations and element-wise ops, step by step.
#include <algorithm>

#include "call.h"
#include "mote/base/error.h"

namespace mote::onnx {
namespace {

using Outputs = std::vector<Array>;

/// A layer of one direction with G gates: time first, biases and states filled in.
struct Layer {
  Array x;               ///< [T, B, I]
  Array w, r;            ///< [G*H, I], [G*H, H]
  Array w_bias, r_bias;  ///< [G*H]
  Array h;               ///< [B, H]
  std::int64_t hidden = 0, batch = 0;
  bool batch_first = false;
};

Array first_of(const Array& x) { return reshaped(x, {x.shape.begin() + 1, x.shape.end()}); }

/// A state [1, B, H] (or [B, 1, H]) as [B, H]; zeros where it is absent.
Array state(const Call& c, std::size_t k, const Layer& layer) {
  const Dims shape = {layer.batch, layer.hidden};
  return c.has(k) ? reshaped(c.in(k), shape) : broadcast_to(constant(c.dtype(), 0), shape);
}

Layer layer_of(const Call& c, std::int64_t gates) {
  for (const char* unmapped : {"activations", "clip", "activation_alpha", "activation_beta"}) {
    if (c.has_attribute(unmapped)) throw NotApplicable(std::string("attribute ") + unmapped);
  }
  if (c.text("direction", "forward") != "forward") throw NotApplicable("another direction");
  Layer layer;
  layer.batch_first = c.integer("layout", 0) == 1;
  layer.x = layer.batch_first ? c.transpose(c.in(0), {1, 0, 2}) : c.in(0);
  layer.w = first_of(c.in(1));
  layer.r = first_of(c.in(2));
  layer.hidden = layer.r.shape.at(1);
  layer.batch = layer.x.shape.at(1);
  const std::int64_t rows = gates * layer.hidden;
  const Array bias =
      c.has(3) ? reshaped(c.in(3), {2 * rows}) : broadcast_to(constant(c.dtype(), 0), {2 * rows});
  layer.w_bias = c.slice(bias, 0, 0, rows);
  layer.r_bias = c.slice(bias, 0, rows, rows);
  layer.h = state(c, 5, layer);
  if (c.has(4)) {
    for (const std::int64_t length : integers_in(c.in(4))) {
      if (length != layer.x.shape[0]) throw NotApplicable("sequences of different lengths");
    }
  }
  return layer;
}

/// x w^T + bias, for rows `gate`*H to `gate`*H + count*H of w.
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

/// h of every step, by a function from x[t] to the new layer.h; Y and Y_h.
Outputs unrolled(const Call& c, Layer& layer, const std::function<void(const Array&)>& step) {
  std::vector<Array> all;
  const std::int64_t steps = layer.x.shape[0];
  for (std::int64_t t = 0; t < steps; ++t) {
    step(first_of(c.slice(layer.x, 0, t, 1)));
    all.push_back(reshaped(layer.h, {1, 1, layer.batch, layer.hidden}));
  }
  Array y = c.concat(all, 0), last = reshaped(layer.h, {1, layer.batch, layer.hidden});
  if (layer.batch_first) {
    y = c.transpose(y, {2, 0, 1, 3});
    last = c.transpose(last, {1, 0, 2});
  }
  return {y, last};
}

Outputs rnn(const Call& c) {
  Layer layer = layer_of(c, 1);
  return unrolled(c, layer, [&](const Array& x) {
    const Array from_x = linear(c, layer, x, layer.w, layer.w_bias, 0, 1);
    const Array from_h = linear(c, layer, layer.h, layer.r, layer.r_bias, 0, 1);
    layer.h = c.unary("tanh", c.binary("add", from_x, from_h));
  });
}

/// Gates z, r, h.
Outputs gru(const Call& c) {
  Layer layer = layer_of(c, 3);
  const bool reset_after = c.integer("linear_before_reset", 0) != 0;
  return unrolled(c, layer, [&](const Array& x) {
    const Array from_x = linear(c, layer, x, layer.w, layer.w_bias, 0, 3);
    const Array from_h = linear(c, layer, layer.h, layer.r, layer.r_bias, 0, 2);
    const auto gate = [&](std::int64_t k) {
      return c.unary("sigmoid",
                     c.binary("add", gate_of(c, layer, from_x, k), gate_of(c, layer, from_h, k)));
    };
    const Array z = gate(0), r = gate(1);
    const Array kept = reset_after ? layer.h : c.binary("mul", r, layer.h);
    Array hidden = linear(c, layer, kept, layer.r, layer.r_bias, 2, 1);
    if (reset_after) hidden = c.binary("mul", r, hidden);
    const Array fresh = c.unary("tanh", c.binary("add", gate_of(c, layer, from_x, 2), hidden));
    layer.h = c.binary("add", c.binary("mul", c.binary("sub", 1.0, z), fresh),
                       c.binary("mul", z, layer.h));
  });
}

/// Gates i, o, f, c; peepholes of the cell on i, o, f.
Outputs lstm(const Call& c) {
  Layer layer = layer_of(c, 4);
  if (c.integer("input_forget", 0) != 0) throw NotApplicable("attribute input_forget");
  Array cell = state(c, 6, layer);
  const Array peepholes = c.has(7) ? reshaped(c.in(7), {3, 1, layer.hidden}) : Array{};
  Outputs outputs = unrolled(c, layer, [&](const Array& x) {
    const Array all = c.binary("add", linear(c, layer, x, layer.w, layer.w_bias, 0, 4),
                               linear(c, layer, layer.h, layer.r, layer.r_bias, 0, 4));
    const auto gate = [&](std::int64_t k) {
      Array sum = gate_of(c, layer, all, k);
      if (c.has(7)) {
        const Array peephole = first_of(c.slice(peepholes, 0, k, 1));
        sum = c.binary("add", sum, c.binary("mul", cell, peephole));
      }
      return c.unary("sigmoid", sum);
    };
    const Array i = gate(0), f = gate(2), fresh = c.unary("tanh", gate_of(c, layer, all, 3));
    cell = c.binary("add", c.binary("mul", f, cell), c.binary("mul", i, fresh));
    layer.h = c.binary("mul", gate(1), c.unary("tanh", cell));
  });
  Array last = reshaped(cell, {1, layer.batch, layer.hidden});
  outputs.push_back(layer.batch_first ? c.transpose(last, {1, 0, 2}) : last);
  return outputs;
}

}  // namespace

Adapters recurrent_adapters() { return {{"RNN", rnn}, {"GRU", gru}, {"LSTM", lstm}}; }

}  // namespace mote::onnx
