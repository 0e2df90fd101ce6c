// SPDX-License-Identifier: Apache-2.0
#include "mote/symbolic/sequence.h"

#include <array>
#include <string>
#include <utility>

#include "fail.h"
#include "mote/symbolic/control.h"
#include "sequence/steps.h"
#include "shape_notes.h"

namespace mote {
namespace {

using SymbolList = std::vector<TensorSymbol>;

struct CellKind {
  const char* name;  ///< of the function
  const char* op;
  int gates;  ///< of w and r; 0: they have no such axis
  int biases;
};

const CellKind& kind_of(Cell cell) {
  static constexpr std::array<CellKind, 3> kKinds = {
      {{"rnn", "rnn_cell", 0, 0}, {"lstm", "lstm_cell", 4, 4}, {"gru", "gru_cell", 3, 4}}};
  const auto index = static_cast<std::size_t>(cell);
  if (index >= kKinds.size())
    fail_graph("sequence: expected a cell of 0 to 2, got " + std::to_string(index));
  return kKinds[index];
}

TensorSymbol number(SymbolicGraph& graph, std::int64_t value) {
  Tensor tensor(DType::i64, AxisList{});
  tensor.set({}, value);
  return graph.constant({}, tensor);
}

/// Views x, which has the shape of `like`, [n], as [n, 1], for inputs of other shapes too.
TensorSymbol column_like(SymbolicGraph& graph, TensorSymbol x, TensorSymbol like) {
  const TensorSymbol column = graph.reshape(x, {graph.form(x).shape[0], 1});
  AxisGroups groups;
  groups.push_back(0, 1);
  groups.push_back(1, 0);
  note_shape(graph, column, {ShapeNoteKind::follows, like.index, groups});
  return column;
}

/// One layer in one direction.
class LayerMaker {
 public:
  LayerMaker(SymbolicGraph& graph, const CellKind& kind, const SequenceOptions& options)
      : graph_(graph), kind_(kind), options_(options) {}

  struct Given {
    TensorSymbol x = {};
    CellWeights weights = {};
    SymbolList states = {};  ///< h, and c of an LSTM
    bool is_backwards = false;
  };
  struct Made {
    TensorSymbol y = {};
    SymbolList states = {};
  };

  /// Adds the loop. It carries the states and y, of which each iteration writes one step.
  Made make(const Given& given) {
    SymbolList inputs = given.states;
    inputs.push_back(zero_steps(graph_, given.x, given.weights.b));
    inputs.insert(inputs.end(), {given.x, given.weights.w, given.weights.r, given.weights.b});
    inputs.push_back(count_steps(graph_, given.x));
    if (options_.lengths) inputs.push_back(options_.lengths);
    const NodeSymbol loop = graph_.add_while(
        body(given, inputs), inputs, {.has_counter = true, .checkpoints = options_.checkpoints});
    Made made;
    for (std::size_t k = 0; k < given.states.size(); ++k)
      made.states.push_back(graph_.output(loop, k));
    made.y = graph_.output(loop, given.states.size());
    return made;
  }

 private:
  SymbolicGraph body(const Given& given, const SymbolList& inputs) const {
    SymbolicGraph g(std::string(kind_.name) + (given.is_backwards ? "_back_step" : "_step"),
                    graph_.registry());
    std::size_t next_input = 0;
    const auto input = [&](const char* name) {
      return g.input(name, graph_.form(inputs[next_input++]));
    };
    SymbolList states = {input("h")};
    if (given.states.size() > 1) states.push_back(input("c"));
    const TensorSymbol y = input("y");
    const TensorSymbol x = input("x");
    const TensorSymbol w = input("w"), r = input("r"), b = input("b");
    const TensorSymbol steps = input("steps");
    const TensorSymbol lengths = options_.lengths ? input("lengths") : TensorSymbol{};
    const TensorSymbol counter = g.input("counter", {DType::i64, AxisList{}});
    const TensorSymbol left = g.add("sub", {steps, counter});
    const TensorSymbol t = given.is_backwards ? g.add("sub", {left, number(g, 1)}) : counter;
    SymbolList operands = {take_step(g, x, t)};
    operands.insert(operands.end(), states.begin(), states.end());
    operands.insert(operands.end(), {w, r, b});
    const NodeSymbol cell = g.add_node(Command(kind_.op, {}, std::nullopt, g.registry()), operands);
    SymbolList next;
    for (std::size_t k = 0; k < states.size(); ++k) next.push_back(g.output(cell, k));
    TensorSymbol out = next[0];
    if (lengths) {
      const TensorSymbol is_there = column_like(g, g.add("less", {t, lengths}), lengths);
      const TensorForm& state = g.form(states[0]);
      TensorForm scalar(state.dtype, AxisList{});
      scalar.device = state.device;
      out = g.add("where", {is_there, next[0], g.zeros(scalar)});
      for (std::size_t k = 0; k < states.size(); ++k)
        next[k] = g.add("where", {is_there, next[k], states[k]});
    }
    next.push_back(put_step(g, y, out, t));
    next.push_back(left);
    g.set_outputs(next);
    return g;
  }

  SymbolicGraph& graph_;
  const CellKind& kind_;
  const SequenceOptions& options_;
};

/// Checks what is given, and adds layer after layer.
class SequenceMaker {
 public:
  SequenceMaker(SymbolicGraph& graph, Cell cell, const SequenceOptions& options)
      : graph_(graph), kind_(kind_of(cell)), options_(options), is_lstm_(cell == Cell::lstm) {}

  Sequence make(TensorSymbol x, const std::vector<CellWeights>& weights) {
    if (options_.direction > Direction::both)
      fail_graph("sequence: expected a direction of 0 to 2, got " +
                 std::to_string(static_cast<int>(options_.direction)));
    check_x(x);
    if (weights.empty() || weights.size() % directions() != 0)
      fail("weights", directions() == 1 ? "one set for each layer" : "two sets for each layer",
           std::to_string(weights.size()));
    check_states(options_.h, "h", weights);
    check_states(options_.c, "c", weights);
    Sequence result;
    for (std::size_t k = 0; k < weights.size(); k += directions()) {
      SymbolList ways;
      for (std::size_t d = 0; d < directions(); ++d) ways.push_back(add(x, weights, k + d, result));
      x = ways.size() == 1 ? ways[0] : graph_.add("concat axis=2", {ways[0], ways[1]});
    }
    result.y = x;
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& expected,
                         const std::string& got) const {
    fail_graph(std::string(kind_.name) + ": " + what + ": expected " + expected + ", got " + got);
  }
  std::string text(TensorSymbol x) const {
    return x ? graph_.text(x) + " " + to_string(graph_.form(x)) : "none";
  }
  std::size_t directions() const { return options_.direction == Direction::both ? 2 : 1; }

  void check(TensorSymbol x, const std::string& what, DType dtype, const AxisList& shape) const {
    const TensorForm expected(dtype, shape);
    if (!x || graph_.form(x).dtype != dtype || graph_.form(x).shape != shape)
      fail(what, to_string(expected), text(x));
  }

  void check_x(TensorSymbol x) {
    if (!x || graph_.form(x).shape.size() != 3 || !is_real(graph_.form(x).dtype))
      fail("x", "reals [T, N, C]", text(x));
    dtype_ = graph_.form(x).dtype;
    rows_ = graph_.form(x).shape[1];
    if (options_.lengths) check(options_.lengths, "lengths", DType::i64, {rows_});
  }

  void check_states(const SymbolList& given, const char* what,
                    const std::vector<CellWeights>& weights) const {
    if (given.empty()) return;
    const bool has_such = what[0] == 'h' || is_lstm_;
    if (!has_such || given.size() != weights.size())
      fail(what, has_such ? std::to_string(weights.size()) + " states" : "none",
           std::to_string(given.size()));
  }

  /// Checks the weights of a cell whose x has that many features. Returns the width of its state.
  std::int64_t checked_width(const CellWeights& weights, std::int64_t features,
                             const std::string& where) const {
    const int axis = kind_.gates == 0 ? 0 : 1;
    if (!weights.r || graph_.form(weights.r).shape.size() != axis + 2)
      fail(where + "r", kind_.gates == 0 ? "[H, H]" : "[g, H, H]", text(weights.r));
    const std::int64_t width = graph_.form(weights.r).shape[axis];
    const auto shape = [&](int count, std::initializer_list<std::int64_t> extents) {
      AxisList list;
      if (kind_.gates > 0) list.push_back(count);
      for (const std::int64_t extent : extents) list.push_back(extent);
      return list;
    };
    check(weights.r, where + "r", dtype_, shape(kind_.gates, {width, width}));
    check(weights.w, where + "w", dtype_, shape(kind_.gates, {width, features}));
    check(weights.b, where + "b", dtype_, shape(kind_.biases, {width}));
    return width;
  }

  /// Returns state k, which is 0 if none are given.
  TensorSymbol state(const SymbolList& given, std::size_t k, std::int64_t width,
                     const std::string& what, TensorSymbol x, TensorSymbol b) {
    if (given.empty()) return zero_state(graph_, x, b);
    check(given[k], what, dtype_, {rows_, width});
    const TensorForm form(dtype_, {rows_, width});
    return graph_.form(given[k]).is_row_major() ? given[k] : graph_.convert(given[k], form);
  }

  /// Adds layer and direction k. Returns its y.
  TensorSymbol add(TensorSymbol x, const std::vector<CellWeights>& weights, std::size_t k,
                   Sequence& result) {
    const std::string where = "weights " + std::to_string(k) + ", ";
    const std::int64_t width = checked_width(weights[k], graph_.form(x).shape[2], where);
    const std::string of = " " + std::to_string(k);
    SymbolList states = {state(options_.h, k, width, "h" + of, x, weights[k].b)};
    if (is_lstm_) states.push_back(state(options_.c, k, width, "c" + of, x, weights[k].b));
    const bool is_backwards = options_.direction == Direction::backwards || k % directions() == 1;
    const LayerMaker::Made made = LayerMaker(graph_, kind_, options_)
                                      .make({.x = x,
                                             .weights = weights[k],
                                             .states = std::move(states),
                                             .is_backwards = is_backwards});
    result.h.push_back(made.states[0]);
    if (is_lstm_) result.c.push_back(made.states[1]);
    return made.y;
  }

  SymbolicGraph& graph_;
  const CellKind& kind_;
  const SequenceOptions& options_;
  bool is_lstm_;
  DType dtype_ = DType::f32;
  std::int64_t rows_ = 0;
};

}  // namespace

Sequence sequence(SymbolicGraph& graph, Cell cell, TensorSymbol x,
                  const std::vector<CellWeights>& weights, const SequenceOptions& options) {
  return SequenceMaker(graph, cell, options).make(x, weights);
}

Sequence rnn(SymbolicGraph& graph, TensorSymbol x, const std::vector<CellWeights>& weights,
             const SequenceOptions& options) {
  return sequence(graph, Cell::rnn, x, weights, options);
}

Sequence lstm(SymbolicGraph& graph, TensorSymbol x, const std::vector<CellWeights>& weights,
              const SequenceOptions& options) {
  return sequence(graph, Cell::lstm, x, weights, options);
}

Sequence gru(SymbolicGraph& graph, TensorSymbol x, const std::vector<CellWeights>& weights,
             const SequenceOptions& options) {
  return sequence(graph, Cell::gru, x, weights, options);
}

}  // namespace mote
