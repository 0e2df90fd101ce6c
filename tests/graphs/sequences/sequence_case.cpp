// SPDX-License-Identifier: Apache-2.0
#include "graphs/sequences/sequence_case.h"

#include <algorithm>
#include <functional>

#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote::test {

using Symbols = std::vector<TensorSymbol>;

const char* op_of(Cell cell) {
  return cell == Cell::rnn ? "rnn_cell" : cell == Cell::lstm ? "lstm_cell" : "gru_cell";
}

namespace {

std::size_t ways(const SequenceCase& c) { return c.direction == Direction::both ? 2 : 1; }

/// Returns f32 elements between -1 and 1 that follow from the name.
Tensor made(const std::string& name, const AxisList& shape) {
  Tensor x(DType::f32, shape);
  const std::int64_t count = x.element_count();
  const Tensor flat = x.reshape({count});
  std::uint64_t word = std::hash<std::string>()(name) | 1U;
  for (std::int64_t k = 0; k < count; ++k) {
    word = word * 6364136223846793005U + 1442695040888963407U;
    flat.set({k}, static_cast<double>(static_cast<std::int32_t>(word >> 32U)) / 2147483648.0);
  }
  return x;
}

Tensor integer_of(std::int64_t value) {
  Tensor x(DType::i64, AxisList{});
  x.set({}, value);
  return x;
}

Tensor integers(const std::vector<std::int64_t>& values) {
  Tensor x(DType::i64, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k) x.set({static_cast<std::int64_t>(k)}, values[k]);
  return x;
}

}  // namespace

TensorSymbol SequenceNetwork::input(const std::string& name, const AxisList& shape) {
  const TensorSymbol symbol = g.input(name, {DType::f32, shape});
  bindings.emplace_back(symbol, made(name, shape));
  wrt.push_back(symbol);
  return symbol;
}

SequenceNetwork::SequenceNetwork(const SequenceCase& c) {
  options.checkpoints = c.checkpoints;
  options.direction = c.direction;
  x = input("x", {c.steps, c.rows, c.features});
  for (std::size_t k = 0; k < static_cast<std::size_t>(c.layers) * ways(c); ++k) {
    const std::string n = std::to_string(k);
    const std::int64_t features =
        k < ways(c) ? c.features : c.width * static_cast<std::int64_t>(ways(c));
    const auto shape = [&](std::int64_t gates, std::initializer_list<std::int64_t> extents) {
      AxisList list;
      if (c.cell != Cell::rnn) list.push_back(gates);
      for (const std::int64_t extent : extents) list.push_back(extent);
      return list;
    };
    const std::int64_t gates = c.cell == Cell::gru ? 3 : 4;
    weights.push_back({input("w" + n, shape(gates, {c.width, features})),
                       input("r" + n, shape(gates, {c.width, c.width})),
                       input("b" + n, shape(4, {c.width}))});
    options.h.push_back(input("h" + n, {c.rows, c.width}));
    if (c.cell == Cell::lstm) options.c.push_back(input("c" + n, {c.rows, c.width}));
  }
  if (!c.lengths.empty()) {
    options.lengths = g.input("lengths", {DType::i64, {c.rows}});
    bindings.emplace_back(options.lengths, integers(c.lengths));
  }
}

namespace {

/// Adds a layer in one direction, step by step.
TensorSymbol unrolled(SequenceNetwork& n, const SequenceCase& c, TensorSymbol x, std::size_t k,
                      Sequence& result) {
  SymbolicGraph& g = n.g;
  const bool is_backwards = c.direction == Direction::backwards || k % ways(c) == 1;
  Symbols states = {n.options.h[k]};
  if (c.cell == Cell::lstm) states.push_back(n.options.c[k]);
  const TensorSymbol y = g.zeros({DType::f32, {c.steps, c.rows, c.width}});
  for (std::int64_t s = 0; s < c.steps; ++s) {
    const std::int64_t t = is_backwards ? c.steps - 1 - s : s;
    Symbols inputs = {g.select(x, 0, t)};
    inputs.insert(inputs.end(), states.begin(), states.end());
    inputs.insert(inputs.end(), {n.weights[k].w, n.weights[k].r, n.weights[k].b});
    const NodeSymbol cell = g.add_node(Command(op_of(c.cell)), inputs);
    TensorSymbol out = g.output(cell, 0);
    Symbols next;
    for (std::size_t i = 0; i < states.size(); ++i) next.push_back(g.output(cell, i));
    if (n.options.lengths) {
      const TensorSymbol number = g.constant({}, integer_of(t));
      const TensorSymbol is_there =
          g.reshape(g.add("less", {number, n.options.lengths}), {c.rows, 1});
      out = g.add("where", {is_there, out, g.zeros({DType::f32, AxisList{}})});
      for (std::size_t i = 0; i < states.size(); ++i)
        next[i] = g.add("where", {is_there, next[i], states[i]});
    }
    g.copy(out, g.select(y, 0, t));
    states = next;
  }
  result.h.push_back(states[0]);
  if (c.cell == Cell::lstm) result.c.push_back(states[1]);
  return y;
}

}  // namespace

Sequence unrolled(SequenceNetwork& n, const SequenceCase& c) {
  Sequence result;
  TensorSymbol x = n.x;
  for (std::size_t k = 0; k < n.weights.size(); k += ways(c)) {
    const TensorSymbol first = unrolled(n, c, x, k, result);
    if (ways(c) == 1) {
      x = first;
      continue;
    }
    const TensorSymbol second = unrolled(n, c, x, k + 1, result);
    x = n.g.tensor({DType::f32, {c.steps, c.rows, 2 * c.width}});
    n.g.copy(first, n.g.slice(x, 2, 0, c.width));
    n.g.copy(second, n.g.slice(x, 2, c.width, c.width));
  }
  result.y = x;
  return result;
}

std::vector<double> elements(const Tensor& x) {
  const std::int64_t count = x.element_count();
  const Tensor flat = clone(x).reshape({count});
  std::vector<double> list;
  for (std::int64_t k = 0; k < count; ++k) list.push_back(flat.real_at({k}));
  return list;
}

/// Adds the gradients, and sets the outputs. Returns a name for each.
std::vector<std::string> finish(SequenceNetwork& n, const Sequence& s) {
  Symbols of = {s.y};
  of.insert(of.end(), s.h.begin(), s.h.end());
  of.insert(of.end(), s.c.begin(), s.c.end());
  std::vector<std::string> names;
  Symbols seeds;
  const std::size_t inputs = n.wrt.size();
  for (std::size_t k = 0; k < of.size(); ++k) {
    names.push_back("output " + std::to_string(k));
    seeds.push_back(n.input("seed" + std::to_string(k), n.g.form(of[k]).shape));
  }
  n.wrt.resize(inputs);
  const Symbols gradients = gradient(n.g, of, n.wrt, seeds);
  for (const TensorSymbol x : n.wrt) names.push_back("gradient of " + n.g.text(x));
  of.insert(of.end(), gradients.begin(), gradients.end());
  n.g.set_outputs(of);
  verify(n.g);
  return names;
}

SequenceValues evaluated(SequenceNetwork& n, const std::vector<std::string>& names) {
  const std::vector<Tensor> tensors = evaluate(n.g, n.bindings, n.g.outputs());
  SequenceValues values;
  for (std::size_t k = 0; k < names.size(); ++k) values[names[k]] = elements(tensors[k]);
  return values;
}

std::string to_string(const SequenceCase& c) {
  std::string text = std::string(op_of(c.cell)) + " steps=" + std::to_string(c.steps) +
                     " direction=" + std::to_string(static_cast<int>(c.direction)) +
                     " layers=" + std::to_string(c.layers) + " rows=" + std::to_string(c.rows) +
                     " features=" + std::to_string(c.features) +
                     " width=" + std::to_string(c.width) +
                     " checkpoints=" + std::to_string(c.checkpoints);
  for (const std::int64_t length : c.lengths) text += " length=" + std::to_string(length);
  return text;
}

SequenceCase random_sequence(std::uint64_t seed) {
  const auto below = [&](std::uint64_t end) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((seed >> 33U) % end);
  };
  SequenceCase c;
  c.cell = static_cast<Cell>(below(3));
  c.steps = std::vector<std::int64_t>{0, 1, 2, 3, 5, 9}[static_cast<std::size_t>(below(6))];
  c.direction = static_cast<Direction>(below(3));
  c.layers = 1 + static_cast<int>(below(2));
  c.rows = 1 + below(3);
  c.features = 1 + below(4);
  c.width = 1 + below(3);
  if (below(2) == 0)
    for (std::int64_t row = 0; row < c.rows; ++row)
      c.lengths.push_back(below(static_cast<std::uint64_t>(c.steps) + 2));
  c.checkpoints = std::vector<std::int64_t>{0, 0, -1, 1, 3}[static_cast<std::size_t>(below(5))];
  return c;
}

namespace {

std::optional<std::string> difference(const SequenceValues& expected, const SequenceValues& got,
                                      const std::string& how) {
  for (const auto& [name, values] : expected) {
    const std::vector<double>& others = got.at(name);
    for (std::size_t k = 0; k < values.size(); ++k)
      if (values[k] != others[k])
        return how + ": " + name + "[" + std::to_string(k) + "] is " + std::to_string(others[k]) +
               " instead of " + std::to_string(values[k]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> sequence_difference(const SequenceCase& c) {
  SequenceNetwork loop(c), cells(c);
  const std::vector<std::string> names =
      finish(loop, sequence(loop.g, c.cell, loop.x, loop.weights, loop.options));
  const SequenceValues expected = evaluated(cells, finish(cells, unrolled(cells, c)));
  if (const auto found = difference(expected, evaluated(loop, names), "evaluated")) return found;
  Context context;
  for (const int streams : {1, 2}) {
    Executable e = compile(loop.g, {.streams = streams, .poison = streams == 1}, context);
    if (c.checkpoints == kKeepEach && e.report().copied_bytes != 0)
      return std::to_string(e.report().copied_bytes) + " bytes are copied";
    for (int run = 0; run < 2; ++run) {
      e.run(loop.bindings);
      SequenceValues got;
      for (std::size_t k = 0; k < names.size(); ++k)
        got[names[k]] = elements(e.output(loop.g.outputs()[k]));
      const std::string how =
          "on " + std::to_string(streams) + " streams, run " + std::to_string(run);
      if (const auto found = difference(expected, got, how)) return found;
    }
  }
  return std::nullopt;
}

}  // namespace mote::test
