// SPDX-License-Identifier: Apache-2.0
// Tests recurrent networks as loops (sequence.h) against their cells, node by node: values and
// gradients, lengths of rows, both directions, layers; and mistakes.
#include "mote/symbolic/sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "graphs/sequences/sequence_case.h"
#include "graphs/symbolic/error_of.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/text.h"

namespace mote {
namespace {

using test::elements;
using test::error_of;
using test::evaluated;
using test::finish;
using test::op_of;
using test::sequence_difference;
using test::unrolled;
using Case = test::SequenceCase;
using Network = test::SequenceNetwork;
using Values = test::SequenceValues;
using Symbols = std::vector<TensorSymbol>;

/// Checks the network of the case against the unrolled one.
void check(const Case& c) { EXPECT_EQ(sequence_difference(c), std::nullopt) << to_string(c); }

TEST(Sequence, AtRandomIsThatOfTheCellsStepByStep) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) check(test::random_sequence(seed));
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

TEST(Sequence, HasTheSameGradientsWithCheckpoints) {
  for (const std::int64_t checkpoints : {kKeepSquareRoot, std::int64_t{2}}) {
    const Case c{.cell = Cell::lstm, .steps = 11, .lengths = {11, 4, 0}};
    Network all(c), some(c);
    some.options.checkpoints = checkpoints;
    const Values expected =
        evaluated(all, finish(all, lstm(all.g, all.x, all.weights, all.options)));
    const std::vector<std::string> names =
        finish(some, lstm(some.g, some.x, some.weights, some.options));
    EXPECT_EQ(evaluated(some, names), expected);
    Context context;
    Executable e = compile(some.g, {.poison = true}, context);
    e.run(some.bindings);
    for (std::size_t k = 0; k < names.size(); ++k)
      EXPECT_EQ(elements(e.output(some.g.outputs()[k])), expected.at(names[k])) << names[k];
  }
}

TEST(Sequence, CheckpointsAreOfItsStatesAndNotOfY) {
  const Case c{.cell = Cell::rnn, .steps = 128, .rows = 1, .features = 1, .width = 4};
  Network n(c);
  n.options.checkpoints = 4;
  finish(n, rnn(n.g, n.x, n.weights, n.options));
  Context context;
  Executable e = compile(n.g, {}, context);
  reset_tape_bytes();
  e.run(n.bindings);
  // 4 states h, and of one iteration what the gradient of the cell reads: h, and maybe h'.
  constexpr std::int64_t kState = 4 * 4;
  EXPECT_LE(tape_bytes().most, 4 * kState + 2 * kState);
  EXPECT_GE(tape_bytes().most, 4 * kState);
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

/// A case with lengths of its rows, if asked for: 1, 2, ….
Case of_extents(Cell cell, int steps, int rows, bool with_lengths) {
  Case c{.cell = cell, .steps = steps, .direction = Direction::both, .rows = rows};
  for (int row = 0; with_lengths && row < rows; ++row) c.lengths.push_back(row % steps + 1);
  return c;
}

/// Compiles a network once, and compares its runs of other extents with networks made for them.
void expect_any_extents(Cell cell, int built_steps, int built_rows, bool with_lengths) {
  const auto make = cell == Cell::gru ? gru : lstm;
  Network n(of_extents(cell, built_steps, built_rows, with_lengths));
  const std::vector<std::string> names = finish(n, make(n.g, n.x, n.weights, n.options));
  Context context;
  Executable e = compile(n.g, {}, context);
  e.run(n.bindings);
  for (const auto& [steps, rows] :
       std::vector<std::pair<int, int>>{{2, 3}, {9, 3}, {5, 3}, {4, 6}, {1, 2}, {5, 1}}) {
    const std::string where = "built [" + std::to_string(built_steps) + ", " +
                              std::to_string(built_rows) + "], run [" + std::to_string(steps) +
                              ", " + std::to_string(rows) + "]";
    SCOPED_TRACE(where + (with_lengths ? " with lengths" : ""));
    Network other(of_extents(cell, steps, rows, with_lengths));
    const Values expected =
        evaluated(other, finish(other, make(other.g, other.x, other.weights, other.options)));
    std::vector<TensorBinding> bindings;
    for (const auto& [symbol, tensor] : other.bindings)
      bindings.emplace_back(n.g.find(other.g.text(symbol)), tensor);
    ASSERT_NO_THROW(e.run(bindings));
    for (std::size_t k = 0; k < names.size(); ++k)
      EXPECT_EQ(elements(e.output(n.g.outputs()[k])), expected.at(names[k])) << names[k];
  }
}

TEST(Sequence, AnyNumberOfStepsAndRowsRunsThroughOneExecutable) {
  for (const bool with_lengths : {false, true})
    for (const auto& [steps, rows] : std::vector<std::pair<int, int>>{{5, 3}, {4, 1}, {1, 2}}) {
      expect_any_extents(Cell::gru, steps, rows, with_lengths);
      expect_any_extents(Cell::lstm, steps, rows, with_lengths);
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
