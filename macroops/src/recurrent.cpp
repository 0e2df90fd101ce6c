// SPDX-License-Identifier: Apache-2.0
// Cells of recurrent networks: one step in time. Weights have a leading axis for the gates, so that
// PyTorch's [4H, I] is a view of w; a sequence is a loop over its cell.
#include "families.h"

namespace mote {
namespace {

/// Returns sum_k of[n, k] * weights[h, k], where `at` (text) is the index of h and k in the
/// weights.
Uop product(const Uop& of, const Uop& weights, const char* extent,
            const std::vector<IndexText>& at) {
  const Shape terms = {"N", "H", extent};
  return sum_over(broadcast(of, terms, {0, 2}) * reindex(weights, terms, at), {2});
}

/// The operands of a cell's gates: x and the state h, and the weights of each.
struct Cell {
  Cell(DType t, int gates)
      : x(input("x", t, {"N", "I"})),
        h(input("h", t, {"N", "H"})),
        w(input("w", t, {gate_axis(gates), "H", "I"})),
        r(input("r", t, {gate_axis(gates), "H", "H"})) {}

  /// Returns sum_i x[n, i] * w[gate, h, i].
  [[nodiscard]] Uop from_input(int gate) const { return product(x, w, "I", {gate, "i1", "i2"}); }
  /// Returns sum_j h[n, j] * r[gate, h, j].
  [[nodiscard]] Uop from_state(int gate) const { return product(h, r, "H", {gate, "i1", "i2"}); }

  static Axis gate_axis(int gates) { return {Expr(gates), "g"}; }

  Uop x, h, w, r;
};

/// Returns b[gate, h].
Uop gate_of(const Uop& b, int gate) { return reindex(b, {"N", "H"}, {gate, "i1"}); }

using Sigmoid = Uop (*)(const Uop& x);

/// Returns tanh(w x + r h + b), without an axis for gates.
ProgramSpec rnn_cell(const Instance& instance) {
  const DType t = instance.dtype;
  const Uop x = input("x", t, {"N", "I"}), h = input("h", t, {"N", "H"});
  const Uop w = input("w", t, {"H", "I"}), r = input("r", t, {"H", "H"});
  const Uop b = input("b", t, {"H"});
  const Uop sums = product(x, w, "I", {"i1", "i2"}) + product(h, r, "H", {"i1", "i2"});
  return spec({x, h, w, r, b}, {{"h_next", tanh(sums + broadcast(b, shape_of(sums), {1}))}});
}

ProgramSpec lstm_cell(const Instance& instance, Sigmoid opened) {
  const DType t = instance.dtype;
  const Cell cell(t, 4);
  const Uop c = input("c", t, {"N", "H"});
  const Uop b = input("b", t, {Axis(Expr(4), "g"), "H"});
  const auto gate = [&](int k) { return cell.from_input(k) + cell.from_state(k) + gate_of(b, k); };
  const Uop c_next = opened(gate(1)) * c + opened(gate(0)) * tanh(gate(2));
  const Uop h_next = opened(gate(3)) * tanh(c_next);
  return spec({cell.x, cell.h, c, cell.w, cell.r, b}, {{"h_next", h_next}, {"c_next", c_next}});
}

ProgramSpec gru_cell(const Instance& instance, Sigmoid opened) {
  const DType t = instance.dtype;
  const Cell cell(t, 3);
  const Uop b = input("b", t, {Axis(Expr(4), "g"), "H"});
  const auto gate = [&](int k) {
    return opened(cell.from_input(k) + cell.from_state(k) + gate_of(b, k));
  };
  const Uop update = gate(0), reset = gate(1);
  const Uop of_input = cell.from_input(2) + gate_of(b, 2);
  const Uop fresh = tanh(of_input + reset * (cell.from_state(2) + gate_of(b, 3)));
  return spec({cell.x, cell.h, cell.w, cell.r, b},
              {{"h_next", (1 - update) * fresh + update * cell.h}});
}

OpRecord cell_record(std::string name, std::string equation, std::vector<InputDecl> inputs,
                     std::vector<std::pair<int, int>> in_place, std::string policy,
                     std::string source, std::function<ProgramSpec(const Instance&)> define) {
  return {.name = std::move(name),
          .family = "recurrent",
          .equation = std::move(equation),
          .inputs = std::move(inputs),
          .dtypes = dtypes::kReal,
          .params = {},
          .in_place = std::move(in_place),
          .policy = std::move(policy),
          .source = std::move(source),
          .define = std::move(define)};
}

/// Defines the cell with sigmoid gates, and its form "of_exp" with sigmoid_of_exp.
OpRecord gated(OpRecord record, ProgramSpec (*cell)(const Instance&, Sigmoid)) {
  const auto by = [cell](Sigmoid opened) {
    return [=](const Instance& instance) { return cell(instance, opened); };
  };
  record.define = by(sigmoid);
  record.forms = {of_exp(by(sigmoid_of_exp))};
  return record;
}

}  // namespace

std::vector<OpRecord> recurrent_ops() {
  return {
      cell_record(
          "rnn_cell", "h'[n, k] = tanh(sum_i x[n, i] * w[k, i] + sum_j h[n, j] * r[k, j] + b[k])",
          {{"x"}, {"h"}, {"w"}, {"r"}, {"b"}}, {},
          "b is the sum of both biases where a framework has two", "PyTorch RNNCell", rnn_cell),
      gated(cell_record(
                "lstm_cell",
                "c' = sigmoid(a1)*c + sigmoid(a0)*tanh(a2), h' = sigmoid(a3)*tanh(c'), ag[n, k] = "
                "sum_i x[n, i] * w[g, k, i] + sum_j h[n, j] * r[g, k, j] + b[g, k]",
                {{"x"}, {"h"}, {"c"}, {"w"}, {"r"}, {"b"}}, {{2, 1}},
                "gates are input, forget, cell, output, in this order (ONNX's is input, output, "
                "forget, cell); no peepholes; b is the sum of both biases where a framework has "
                "two",
                "PyTorch LSTMCell", {}),
            lstm_cell),
      gated(cell_record(
                "gru_cell",
                "h' = (1 - z)*tanh(p2 + b2 + s*(q2 + b3)) + z*h, z = sigmoid(p0 + q0 + b0), s = "
                "sigmoid(p1 + q1 + b1), pg[n, k] = sum_i x[n, i] * w[g, k, i], qg[n, k] = sum_j "
                "h[n, j] * r[g, k, j], bg = b[g, k]",
                {{"x"}, {"h"}, {"w"}, {"r"}, {"b"}}, {},
                "gates are update, reset, new, in this order (PyTorch's and cuDNN's is reset, "
                "update, new); the reset gate comes after the product with r; b0 and b1 are sums "
                "of both biases where a framework has two, b3 is that of the new gate's state",
                "ONNX opset 17 GRU, linear_before_reset = 1", {}),
            gru_cell),
  };
}

}  // namespace mote
