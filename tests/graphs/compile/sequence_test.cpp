// SPDX-License-Identifier: Apache-2.0
// Tests recurrent networks as loops (sequence.h) against their cells, node by node: values and
// gradients, lengths of rows, both directions, layers; and mistakes.
#include "mote/symbolic/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/symbolic/error_of.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::error_of;
using Symbols = std::vector<TensorSymbol>;

/// A network's sizes, and what is special about it.
struct Case {
  Cell cell = Cell::lstm;
  std::int64_t steps = 5;
  Direction direction = Direction::forwards;
  int layers = 1;
  std::vector<std::int64_t> lengths = {};  ///< by row; none: no lengths
  std::int64_t rows = 3, features = 4, width = 2;
};

const char* op_of(Cell cell) {
  return cell == Cell::rnn ? "rnn_cell" : cell == Cell::lstm ? "lstm_cell" : "gru_cell";
}

std::size_t ways(const Case& c) { return c.direction == Direction::both ? 2 : 1; }

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

Tensor integers(const std::vector<std::int64_t>& values) {
  Tensor x(DType::i64, {static_cast<std::int64_t>(values.size())});
  for (std::size_t k = 0; k < values.size(); ++k) x.set({static_cast<std::int64_t>(k)}, values[k]);
  return x;
}

/// A graph with the inputs of a network, and their values.
struct Network {
  SymbolicGraph g{"network"};
  std::vector<TensorBinding> bindings;
  TensorSymbol x;
  std::vector<CellWeights> weights;
  SequenceOptions options;
  Symbols wrt;

  TensorSymbol input(const std::string& name, const AxisList& shape) {
    const TensorSymbol symbol = g.input(name, {DType::f32, shape});
    bindings.emplace_back(symbol, made(name, shape));
    wrt.push_back(symbol);
    return symbol;
  }

  explicit Network(const Case& c) {
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
};

/// Adds a layer in one direction, step by step.
TensorSymbol unrolled(Network& n, const Case& c, TensorSymbol x, std::size_t k, Sequence& result) {
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
      const TensorSymbol number = g.constant({}, test::integer(t));
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

Sequence unrolled(Network& n, const Case& c) {
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

using Values = std::map<std::string, std::vector<double>>;

/// Adds the gradients, and sets the outputs. Returns a name for each.
std::vector<std::string> finish(Network& n, const Sequence& s) {
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

Values evaluated(Network& n, const std::vector<std::string>& names) {
  const std::vector<Tensor> tensors = evaluate(n.g, n.bindings, n.g.outputs());
  Values values;
  for (std::size_t k = 0; k < names.size(); ++k) values[names[k]] = elements(tensors[k]);
  return values;
}

/// Checks the network of the case against the unrolled one.
void check(const Case& c) {
  Network loop(c), cells(c);
  const std::vector<std::string> names =
      finish(loop, sequence(loop.g, c.cell, loop.x, loop.weights, loop.options));
  const Values expected = evaluated(cells, finish(cells, unrolled(cells, c)));
  EXPECT_EQ(evaluated(loop, names), expected);
  Context context;
  for (const int streams : {1, 2}) {
    Executable e = compile(loop.g, {.streams = streams, .poison = streams == 1}, context);
    EXPECT_EQ(e.report().copied_bytes, 0U);
    for (int run = 0; run < 2; ++run) {
      e.run(loop.bindings);
      Values got;
      for (std::size_t k = 0; k < names.size(); ++k)
        got[names[k]] = elements(e.output(loop.g.outputs()[k]));
      EXPECT_EQ(got, expected) << streams << " streams, run " << run;
    }
  }
}

TEST(Sequence, IsThatOfTheCellsStepByStep) {
  for (const Cell cell : {Cell::rnn, Cell::lstm, Cell::gru})
    for (const std::int64_t steps : {0, 1, 5}) {
      SCOPED_TRACE(std::string(op_of(cell)) + ", steps " + std::to_string(steps));
      check({.cell = cell, .steps = steps});
    }
}

TEST(Sequence, GoesBackwardsAndBothWays) {
  for (const Direction direction : {Direction::backwards, Direction::both})
    for (const std::int64_t steps : {1, 5}) {
      SCOPED_TRACE(steps);
      check({.cell = Cell::gru, .steps = steps, .direction = direction});
    }
}

TEST(Sequence, RowsHaveTheirLengths) {
  for (const Cell cell : {Cell::rnn, Cell::lstm, Cell::gru})
    for (const Direction direction : {Direction::forwards, Direction::backwards}) {
      SCOPED_TRACE(op_of(cell));
      check({.cell = cell, .direction = direction, .lengths = {5, 0, 3}});
    }
  check({.steps = 0, .lengths = {0, 0, 0}});
  check({.steps = 1, .direction = Direction::both, .lengths = {1, 0, 7}});
}

TEST(Sequence, LayersAreOnTopOfEachOther) {
  check({.cell = Cell::lstm, .steps = 4, .layers = 3});
  check({.cell = Cell::rnn,
         .steps = 3,
         .direction = Direction::both,
         .layers = 2,
         .lengths = {3, 1, 2}});
}

TEST(Sequence, ARowOfALengthIsASequenceOfSoManySteps) {
  for (const Direction direction : {Direction::forwards, Direction::backwards}) {
    const Case many{.cell = Cell::lstm, .direction = direction, .lengths = {5, 0, 3}};
    Network n(many);
    const Sequence s = lstm(n.g, n.x, n.weights, n.options);
    const std::vector<Tensor> all = evaluate(n.g, n.bindings, Symbols{s.y, s.h[0], s.c[0]});
    for (std::int64_t row = 0; row < 3; ++row) {
      const std::int64_t steps = many.lengths[static_cast<std::size_t>(row)];
      Network one({.cell = Cell::lstm, .steps = steps, .direction = direction, .rows = 1});
      const auto value = [&](TensorSymbol of) -> const Tensor& {
        return std::ranges::find(n.bindings, of, [](const TensorBinding& b) { return b.first; })
            ->second;
      };
      for (auto& [symbol, tensor] : one.bindings) {
        const Tensor& whole = value(n.g.find(one.g.text(symbol)));
        if (symbol == one.x)
          tensor = whole.slice(0, 0, steps).slice(1, row, 1);
        else if (tensor.shape()[0] == 1)
          tensor = whole.slice(0, row, 1);
        else
          tensor = whole;
        tensor = clone(tensor);
      }
      const Sequence alone = lstm(one.g, one.x, one.weights, one.options);
      const std::vector<Tensor> expected =
          evaluate(one.g, one.bindings, Symbols{alone.y, alone.h[0], alone.c[0]});
      EXPECT_EQ(elements(all[0].slice(0, 0, steps).slice(1, row, 1)), elements(expected[0]));
      const std::vector<double> rest = elements(all[0].slice(0, steps, 5 - steps).slice(1, row, 1));
      EXPECT_EQ(rest, std::vector<double>(rest.size(), 0.0));
      for (std::size_t k = 1; k < 3; ++k)
        EXPECT_EQ(elements(all[k].slice(0, row, 1)), elements(expected[k])) << row;
    }
  }
}

TEST(Sequence, YHasOnePlaceOfWhichEachStepIsWritten) {
  const Case c{.cell = Cell::rnn, .steps = 64, .rows = 1, .features = 1, .width = 8};
  Network n(c);
  const Sequence s = rnn(n.g, n.x, n.weights, n.options);
  n.g.set_outputs({s.y});
  Context context;
  const Executable e = compile(n.g, {}, context);
  std::size_t places = 0;
  for (const CompiledBlock& block : e.report().blocks)
    if (block.name.starts_with("result ") && block.bytes == 64 * 8 * 4) ++places;
  EXPECT_EQ(places, 1U);
  EXPECT_EQ(e.report().copied_bytes, 0U);
}

TEST(Sequence, ItsStateIsZeroWithoutOneThatIsGiven) {
  const Case c{.cell = Cell::lstm};
  Network given(c), none(c);
  for (auto& [symbol, tensor] : given.bindings)
    if (const std::string name = given.g.text(symbol); name == "h0" || name == "c0")
      fill(tensor, 0);
  none.options.h.clear();
  none.options.c.clear();
  const Sequence a = lstm(given.g, given.x, given.weights, given.options);
  const Sequence b = lstm(none.g, none.x, none.weights, none.options);
  EXPECT_EQ(elements(evaluate(given.g, given.bindings, Symbols{a.y})[0]),
            elements(evaluate(none.g, none.bindings, Symbols{b.y})[0]));
}

TEST(Sequence, AnyNumberOfStepsAndRowsRunsThroughOneExecutable) {
  const Case c{.cell = Cell::gru, .steps = 5, .direction = Direction::both};
  Network n(c);
  const std::vector<std::string> names = finish(n, gru(n.g, n.x, n.weights, n.options));
  Context context;
  Executable e = compile(n.g, {}, context);
  e.run(n.bindings);
  for (const auto& [steps, rows] : std::vector<std::pair<int, int>>{{2, 3}, {9, 3}, {5, 3}, {4, 6}}) {
    Network other({.cell = Cell::gru, .steps = steps, .direction = Direction::both, .rows = rows});
    const Values expected =
        evaluated(other, finish(other, gru(other.g, other.x, other.weights, other.options)));
    std::vector<TensorBinding> bindings;
    for (const auto& [symbol, tensor] : other.bindings)
      bindings.emplace_back(n.g.find(other.g.text(symbol)), tensor);
    e.run(bindings);
    for (std::size_t k = 0; k < names.size(); ++k)
      EXPECT_EQ(elements(e.output(n.g.outputs()[k])), expected.at(names[k]))
          << names[k] << ", steps " << steps;
  }
}

TEST(Sequence, ReadsBackFromItsText) {
  const Case c{.cell = Cell::lstm, .lengths = {5, 2, 0}};
  Network n(c);
  const std::vector<std::string> names = finish(n, lstm(n.g, n.x, n.weights, n.options));
  const std::string text = to_text(n.g);
  const SymbolicGraph read = parse_graph(text);
  EXPECT_EQ(to_text(read), text);
  std::vector<TensorBinding> bindings;
  for (const auto& [symbol, tensor] : n.bindings)
    bindings.emplace_back(read.find(n.g.text(symbol)), tensor);
  const std::vector<Tensor> got = evaluate(read, bindings, read.outputs());
  const Values expected = evaluated(n, names);
  for (std::size_t k = 0; k < names.size(); ++k)
    EXPECT_EQ(elements(got[k]), expected.at(names[k])) << names[k];
}

TEST(Sequence, MistakesSayWhatIsExpected) {
  const auto error = [](const auto& change, const Case& c = {.cell = Cell::lstm}) {
    Network n(c);
    change(n);
    return error_of([&] { sequence(n.g, c.cell, n.x, n.weights, n.options); });
  };
  const auto says = [](const std::string& error, const std::string& part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  says(error([](Network& n) { n.x = n.weights[0].b; }),
       "lstm: x: expected reals [T, N, C], got b0 f32[4,2]");
  says(error([](Network& n) { n.x = {}; }), "lstm: x: expected reals [T, N, C], got none");
  says(error([](Network& n) { n.weights.clear(); }),
       "lstm: weights: expected one set for each layer, got 0");
  says(error([](Network& n) { n.options.direction = Direction::both; }),
       "lstm: weights: expected two sets for each layer, got 1");
  says(error([](Network& n) { n.weights[0].r = n.options.h[0]; }),
       "lstm: weights 0, r: expected [g, H, H], got h0 f32[3,2]");
  says(error([](Network& n) { n.weights[0].w = n.weights[0].r; }),
       "lstm: weights 0, w: expected f32[4,2,4], got r0 f32[4,2,2]");
  says(error([](Network& n) { n.weights[0].b = {}; }),
       "lstm: weights 0, b: expected f32[4,2], got none");
  says(error([](Network& n) { n.options.h.clear(), n.options.h.resize(2); }),
       "lstm: h: expected 1 states, got 2");
  says(error([](Network& n) { n.options.c[0] = n.x; }),
       "lstm: c 0: expected f32[3,2], got x f32[5,3,4]");
  says(error([](Network& n) { n.options.c = n.options.h; }, {.cell = Cell::gru}),
       "gru: c: expected none, got 1");
  says(error([](Network& n) { n.options.lengths = n.options.h[0]; }),
       "lstm: lengths: expected i64[3], got h0 f32[3,2]");
  SymbolicGraph other;
  says(error([&](Network& n) {
         n.x = other.input("x", {DType::f32, {1, 1, 1}});
       }),
       "belongs to another graph");
}

}  // namespace
}  // namespace mote
