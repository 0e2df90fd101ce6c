// SPDX-License-Identifier: Apache-2.0
// Measures an LSTM over a sequence, forward and backward, as a loop and unrolled, in turn.
#include <algorithm>
#include <ctime>
#include <memory>
#include <span>
#include <utility>

#include "measures.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/control.h"
#include "mote/symbolic/gradient.h"
#include "mote/symbolic/sequence.h"

namespace mote::bench {
namespace {

struct Sizes {
  std::int64_t steps, rows, width;
};

double cpu_now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// A training step, and what it took until it was compiled.
struct SequenceStep {
  double seconds = 0;
  std::size_t arena = 0;
  std::unique_ptr<Executable> executable = {};

  double run() const {
    const double start = cpu_now();
    executable->run();
    return cpu_now() - start;
  }
};

TensorSymbol unrolled(SymbolicGraph& g, TensorSymbol x, const CellWeights& weights, TensorSymbol h,
                      TensorSymbol c, const Sizes& sizes) {
  const TensorSymbol y = g.tensor({DType::f32, {sizes.steps, sizes.rows, sizes.width}});
  const Command cell("lstm_cell");
  for (std::int64_t t = 0; t < sizes.steps; ++t) {
    const std::vector<TensorSymbol> inputs = {g.select(x, 0, t), h,         c,
                                              weights.w,         weights.r, weights.b};
    const NodeSymbol node = g.add_node(cell, inputs);
    h = g.output(node, 0);
    c = g.output(node, 1);
    g.copy(h, g.select(y, 0, t));
  }
  return y;
}

/// Builds, differentiates and compiles the step, and binds its inputs.
SequenceStep made_step(const Sizes& sizes, bool is_loop, std::int64_t checkpoints,
                       Context& context) {
  SequenceStep step;
  const double start = cpu_now();
  SymbolicGraph g("lstm");
  std::vector<TensorSymbol> inputs;
  const auto input = [&](const char* name, const AxisList& shape) {
    inputs.push_back(g.input(name, {DType::f32, shape}));
    return inputs.back();
  };
  const auto& [steps, rows, width] = sizes;
  const TensorSymbol x = input("x", {steps, rows, width});
  const CellWeights weights{input("w", {4, width, width}), input("r", {4, width, width}),
                            input("b", {4, width})};
  const TensorSymbol h = input("h", {rows, width}), c = input("c", {rows, width});
  const TensorSymbol seed = input("seed", {steps, rows, width});
  const TensorSymbol y =
      is_loop ? lstm(g, x, {weights}, {.h = {h}, .c = {c}, .checkpoints = checkpoints}).y
              : unrolled(g, x, weights, h, c, sizes);
  std::vector<TensorSymbol> outputs = {y};
  const std::vector<TensorSymbol> of = {y}, seeds = {seed};
  for (const TensorSymbol gradient :
       gradient(g, of, std::vector{x, weights.w, weights.r, weights.b, h, c}, seeds))
    outputs.push_back(gradient);
  step.executable = std::make_unique<Executable>(compile(g, {.outputs = outputs}, context));
  step.seconds = cpu_now() - start;
  step.arena = step.executable->report().arena_bytes;
  std::uint32_t word = 1;
  for (const TensorSymbol symbol : inputs) {
    const Tensor value(DType::f32, g.form(symbol).shape);
    for (float& element : std::span(static_cast<float*>(value.data()),
                                    static_cast<std::size_t>(value.element_count()))) {
      word = word * 1664525U + 1013904223U;
      element = 0.1F * (static_cast<float>(word >> 8U) * 0x1p-23F - 1);
    }
    step.executable->bind(symbol, value);
  }
  step.run();
  return step;
}

}  // namespace

SequenceCost sequence_cost(std::int64_t steps, std::int64_t rows, std::int64_t width, int rounds,
                           std::int64_t checkpoints, Context& context) {
  const Sizes sizes{steps, rows, width};
  SequenceCost cost{.steps = steps, .rows = rows, .width = width};
  constexpr int kBuilds = 7;
  SequenceStep loop, cells;
  std::vector<double> to_loop, to_cells, compile_ratios;
  for (int build = 0; build < kBuilds; ++build) {
    reset_tape_bytes();
    loop = made_step(sizes, true, checkpoints, context);
    cost.tape = static_cast<std::size_t>(tape_bytes().most);
    cells = made_step(sizes, false, kKeepEach, context);
    to_loop.push_back(loop.seconds);
    to_cells.push_back(cells.seconds);
    compile_ratios.push_back(loop.seconds / cells.seconds);
  }
  cost.arena = loop.arena;
  cost.arena_unrolled = cells.arena;
  cost.compile = middle(to_loop);
  cost.compile_unrolled = middle(to_cells);
  cost.compile_ratio = middle(compile_ratios);
  std::vector<double> of_loop, of_cells, ratios;
  for (int round = 0; round < rounds; ++round) {
    // Each of the two is first in half of the rounds.
    const double first = round % 2 == 0 ? loop.run() : cells.run();
    const double second = round % 2 == 0 ? cells.run() : loop.run();
    of_loop.push_back(round % 2 == 0 ? first : second);
    of_cells.push_back(round % 2 == 0 ? second : first);
    ratios.push_back(of_loop.back() / of_cells.back());
  }
  cost.run = middle(of_loop);
  cost.run_unrolled = middle(of_cells);
  cost.run_ratio = middle(ratios);
  return cost;
}

}  // namespace mote::bench
