// SPDX-License-Identifier: Apache-2.0
// Second gradients of recurrent networks as loops, against the error bound of those of the cells
// step by step.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graphs/sequences/sequence_case.h"
#include "inlined_checks.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

using Case = test::SequenceCase;
using Network = test::SequenceNetwork;
using Symbols = std::vector<TensorSymbol>;

/// Adds the first gradients of the network's y, the gradients of their products with directions,
/// and their changes along these.
Symbols second_order(Network& n, const Sequence& s) {
  const Symbols wrt = n.wrt;
  Symbols found = gradient(n.g, Symbols{s.y}, wrt);
  Symbols directions;
  for (std::size_t k = 0; k < wrt.size(); ++k)
    directions.push_back(n.input("direction" + std::to_string(k), n.g.form(wrt[k]).shape));
  const Symbols first = found;
  for (const Symbols& second :
       {gradient(n.g, first, wrt, directions), jvp(n.g, first, wrt, directions)})
    found.insert(found.end(), second.begin(), second.end());
  return found;
}

void check(const Case& c) {
  SCOPED_TRACE(to_string(c));
  Network loop(c);
  Network cells(c);
  const Symbols of_loop =
      second_order(loop, sequence(loop.g, c.cell, loop.x, loop.weights, loop.options));
  const Symbols of_cells = second_order(cells, test::unrolled(cells, c));
  const InlinedCase program{.g = std::move(cells.g), .bindings = cells.bindings, .of = of_cells};
  expect_in_bound(program, evaluate(loop.g, loop.bindings, of_loop));
}

TEST(InlinedSequences, HaveTheSecondGradientOfTheCellsStepByStep) {
  for (const Cell cell : {Cell::rnn, Cell::lstm, Cell::gru})
    for (const std::int64_t steps : {0, 1, 2})
      check({.cell = cell, .steps = steps, .rows = 2, .features = 2, .width = 1});
}

TEST(InlinedSequences, HaveItBackwardsBothWaysAndWithLengths) {
  const Case one{.cell = Cell::rnn, .steps = 2, .rows = 2, .features = 1, .width = 1};
  Case c = one;
  c.direction = Direction::both;
  check(c);
  c = one;
  c.lengths = {2, 1};
  check(c);
  c = one;
  c.layers = 2;
  check(c);
  c.layers = 1;
  c.cell = Cell::gru;
  c.direction = Direction::backwards;
  check(c);
}

}  // namespace
}  // namespace mote
