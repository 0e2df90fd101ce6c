// SPDX-License-Identifier: Apache-2.0
// Measures dynamic graphs in addition to their kernels: chains of additions of one element, not
// traced, traced and deferred, next to the same prepared commands; the way back of a chain, the
// first time and when its structure is known, next to its nodes in a compiled graph; and what must
// not cost more beside a long trace: views of views, finish() and commands in place.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <vector>

#include "gate.h"
#include "mote/dynamic/dynamic_graph.h"
#include "mote/dynamic/ops.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/gradient.h"

namespace mote {
namespace {

constexpr int kNodes = 1000;
constexpr int kIterations = 50;

Tensor one_element(double value) {
  const Tensor tensor(DType::f32, {1});
  fill(tensor, value);
  return tensor;
}

void adds_prepared(benchmark::State& state) {
  Context context;
  const Tensor c = one_element(0.5);
  std::vector<Tensor> values{one_element(1)};
  std::vector<PreparedCommand> commands;
  for (int k = 0; k < kNodes; ++k) {
    values.push_back(one_element(0));
    commands.emplace_back(
        Command("add"), std::initializer_list<const Tensor*>{&values[values.size() - 2], &c},
        std::initializer_list<Tensor*>{&values.back()}, RunOptions{.context = &context});
  }
  for ([[maybe_unused]] auto _ : state)
    for (PreparedCommand& command : commands) command.run();
}

void add_chain(benchmark::State& state, const DynamicOptions& options, bool is_traced) {
  Context context;
  DynamicGraph g(context, options);
  const Variable first = is_traced ? g.variable(one_element(1)) : g.constant(one_element(1));
  const Variable c = g.constant(one_element(0.5));
  const Command add("add");
  for ([[maybe_unused]] auto _ : state) {
    Variable x = first;
    for (int k = 0; k < kNodes; ++k) x = g.run(add, {x, c});
    benchmark::DoNotOptimize(x);
  }
}
void adds_not_traced(benchmark::State& state) { add_chain(state, {}, false); }
void adds_traced(benchmark::State& state) { add_chain(state, {}, true); }
void adds_pending(benchmark::State& state) { add_chain(state, {.deferred = true}, true); }

void views_of_views(benchmark::State& state) {
  Context context;
  DynamicGraph g(context);
  const Variable x = g.variable(one_element(1));
  for ([[maybe_unused]] auto _ : state) {
    Variable last = x;
    for (int k = 0; k < 10 * kNodes; ++k) last = last.slice(0, 0, 1);
    benchmark::DoNotOptimize(last);
  }
}

Variable tanh_chain(Variable x, int nodes = kNodes) {
  for (int k = 0; k < nodes; ++k) x = tanh(x);
  return x;
}

void backward_of(benchmark::State& state, int nodes) {
  Context context;
  DynamicGraph g(context);
  const Variable first = g.variable(one_element(1));
  const Variable last = tanh_chain(first, nodes);
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    g.trim();
    state.ResumeTiming();
    benchmark::DoNotOptimize(g.backward({last}, {first}));
  }
}

void backward_first(benchmark::State& state) { backward_of(state, kNodes); }
void backward_first_of_10000(benchmark::State& state) { backward_of(state, 10 * kNodes); }
void backward_first_of_100000(benchmark::State& state) { backward_of(state, 100 * kNodes); }

void backward_known(benchmark::State& state) {
  Context context;
  DynamicGraph g(context);
  const Variable first = g.variable(one_element(1));
  const Variable last = tanh_chain(first);
  g.backward({last}, {first});
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(g.backward({last}, {first}));
}

/// Runs both ways, on values that are made anew.
void chain_step(benchmark::State& state) {
  Context context;
  DynamicGraph g(context);
  const Variable first = g.variable(one_element(1));
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(g.backward({tanh_chain(first)}, {first}));
}
void chain_step_deferred(benchmark::State& state) {
  Context context;
  DynamicGraph g(context, {.deferred = true});
  const Variable first = g.variable(one_element(1));
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(g.backward({tanh_chain(first)}, {first})[0].value());
}

/// The nodes of the way back, compiled for values of the way forward that stay where they are.
void backward_compiled(benchmark::State& state) {
  Context context;
  SymbolicGraph g("chain");
  std::vector<TensorSymbol> values{g.input("x", {DType::f32, {1}})};
  for (int k = 0; k < kNodes; ++k) values.push_back(g.add("tanh", {values.back()}));
  const TensorSymbol gradient = mote::gradient(g, {values.back()}, {values.front()})[0];
  std::vector<TensorBinding> bindings{{values.front(), one_element(1)}};
  for (int k = 1; k <= kNodes; ++k) {
    const TensorSymbol given = g.input("v" + std::to_string(k), {DType::f32, {1}});
    g.replace_uses(values[static_cast<std::size_t>(k)], given);
    bindings.emplace_back(given, one_element(0.5));
  }
  Executable executable = compile(g, {.outputs = {gradient}}, context);
  executable.run(bindings);
  for ([[maybe_unused]] auto _ : state) executable.run();
}

void calls_beside_a_long_trace(benchmark::State& state, bool in_place) {
  Context context;
  DynamicGraph g(context);
  const Variable x = g.variable(one_element(1)), z = g.constant(one_element(1)) * 1.0;
  const Variable last = tanh_chain(x, 10 * kNodes);
  const Command neg("neg");
  for ([[maybe_unused]] auto _ : state)
    for (int k = 0; k < kNodes; ++k) in_place ? g.run_in_place(z, neg) : g.finish();
}
void finish_beside_a_long_trace(benchmark::State& state) {
  calls_beside_a_long_trace(state, false);
}
void in_place_beside_a_long_trace(benchmark::State& state) {
  calls_beside_a_long_trace(state, true);
}

BENCHMARK(adds_prepared)->Iterations(kIterations);
BENCHMARK(adds_not_traced)->Iterations(kIterations);
BENCHMARK(adds_traced)->Iterations(kIterations);
BENCHMARK(adds_pending)->Iterations(kIterations);
BENCHMARK(views_of_views)->Iterations(1)->Repetitions(3);
BENCHMARK(finish_beside_a_long_trace)->Iterations(3);
BENCHMARK(in_place_beside_a_long_trace)->Iterations(3);
BENCHMARK(backward_first)->Iterations(3);
BENCHMARK(backward_first_of_10000)->Iterations(1);
BENCHMARK(backward_first_of_100000)->Iterations(1)->Repetitions(5);
BENCHMARK(backward_known)->Iterations(kIterations);
BENCHMARK(chain_step)->Iterations(4 * kIterations);
BENCHMARK(chain_step_deferred)->Iterations(4 * kIterations);
BENCHMARK(backward_compiled)->Iterations(kIterations);

}  // namespace
}  // namespace mote

int main(int argc, char** argv) {
  // Where a prepared add takes 50 ns, the limits allow 300 ns beyond it for a traced command, 100
  // for a node of a known way back, 5,000 for a node of one that is made the first time or for a
  // view of a view, of which there are ten times as many as adds, and 500 for a call beside a
  // trace.
  return mote::bench::measure(
      argc, argv,
      std::vector<mote::bench::Ratio>{{"adds_traced", "adds_prepared", 7.0},
                                      {"backward_known", "adds_prepared", 2.0},
                                      {"views_of_views", "adds_prepared", 1000.0},
                                      {"finish_beside_a_long_trace", "adds_prepared", 10.0},
                                      {"in_place_beside_a_long_trace", "adds_prepared", 10.0},
                                      {"backward_first", "adds_prepared", 100.0},
                                      {"backward_first_of_10000", "adds_prepared", 1000.0},
                                      {"backward_first_of_100000", "adds_prepared", 10000.0}});
}
