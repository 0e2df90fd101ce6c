// SPDX-License-Identifier: Apache-2.0
// Chains of nodes: the cost of building, differentiating and compiling, and of running.
#include <algorithm>
#include <bit>
#include <chrono>
#include <ctime>
#include <limits>

#include "measures.h"
#include "mote/runtime/status.h"
#include "mote/symbolic/checkpoint.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/gradient.h"
#include "peak_heap.h"

namespace mote::bench {
namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

/// Returns the median seconds of a run.
double run_seconds(Executable& executable, int runs) {
  std::vector<double> times;
  for (int k = 0; k < runs; ++k) {
    const double start = wall_seconds();
    executable.run();
    times.push_back(wall_seconds() - start);
  }
  return median(times);
}

/// Two independent branches of four conv2d.
Executable branches(Context& context, int streams) {
  SymbolicGraph g("branches");
  const TensorSymbol w = g.input("w", {DType::f32, {32, 32, 3, 3}});
  std::vector<TensorBinding> bindings = {{w, Tensor(DType::f32, {32, 32, 3, 3})}};
  std::vector<TensorSymbol> outputs;
  for (const char* name : {"a", "b"}) {
    TensorSymbol x = g.input(name, {DType::f32, {1, 32, 28, 28}});
    bindings.emplace_back(x, Tensor(DType::f32, {1, 32, 28, 28}));
    for (int k = 0; k < 4; ++k) x = g.add("conv2d pads0=1 pads1=1 pads2=1 pads3=1", {x, w});
    outputs.push_back(x);
  }
  Executable executable = compile(g, {.outputs = outputs, .streams = streams}, context);
  for (TensorBinding& binding : bindings) {
    fill(binding.second, 0.01);
    executable.bind(binding.first, binding.second);
  }
  return executable;
}

ChainCost chain_times(int nodes, bool with_gradient, Context& context) {
  ChainCost cost;
  cost.nodes = nodes;
  double start = cpu_seconds();
  const auto lap = [&] {
    const double end = cpu_seconds();
    return end - std::exchange(start, end);
  };
  SymbolicGraph g("chain");
  const TensorSymbol first = g.input("x", {DType::f32, {1}});
  const Command tanh("tanh");
  TensorSymbol x = first;
  for (int k = 0; k < nodes; ++k) x = g.add(tanh, {x});
  cost.build = lap();
  std::vector<TensorSymbol> outputs = {x};
  if (with_gradient) outputs.push_back(gradient(g, {x}, {first})[0]);
  cost.gradient = lap();
  const Executable executable = compile(g, {.outputs = outputs}, context);
  cost.compile = lap();
  return cost;
}

}  // namespace

ChainCost chain_cost(int nodes, bool with_gradient, Context& context) {
  empty_heap();
  ChainCost cost = chain_times(nodes, with_gradient, context);
  start_counting();
  chain_times(nodes, with_gradient, context);
  cost.peak = stop_counting();
  return cost;
}

BudgetCost budget_cost(int nodes, Context& context) {
  SymbolicGraph g("chain");
  const TensorSymbol first = g.input("x", {DType::f32, {16, 16}});
  TensorSymbol x = first;
  for (int k = 0; k < nodes; ++k) x = g.add("tanh", {x});
  g.set_outputs({x, gradient(g, {x}, {first})[0]});
  const auto planned = [&](int slots) {
    SymbolicGraph other = g;
    checkpoint(other, std::vector{other.at(x.index)},
               {.policy = CheckpointPolicy::binomial, .slots = slots});
    return plan_graph(other, {}, context).arena_bytes;
  };
  /// Returns the seconds, and whether the budget was met.
  const auto fitted = [&](std::size_t budget) {
    SymbolicGraph other = g;
    const double start = cpu_seconds();
    bool is_met = true;
    try {
      checkpoint(other, std::vector{other.at(x.index)},
                 {.policy = CheckpointPolicy::budget, .budget = budget});
    } catch (const StatusError&) {
      is_met = false;
    }
    return std::pair(cpu_seconds() - start, is_met);
  };
  const std::size_t least = planned(1);  // one slot needs least
  const double start = cpu_seconds();
  planned(std::bit_width(static_cast<unsigned>(nodes)));
  const double attempt = cpu_seconds() - start;
  const auto [meet, is_met] = fitted(plan_graph(g, {}, context).arena_bytes / 50);
  const auto [refuse, is_not_refused] = fitted(least - 1);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  return {is_met ? meet / attempt : kNever, is_not_refused ? kNever : refuse / attempt};
}

double dispatch_nanoseconds(Context& context) {
  constexpr int kNodes = 1000;
  SymbolicGraph g("functions");
  const TensorForm form(DType::f32, {1});
  TensorSymbol x = g.input("x", form);
  const TensorSymbol first = x;
  for (int k = 0; k < kNodes; ++k) {
    const TensorSymbol y = g.tensor(form);
    g.call({"nothing", [](auto, auto) {}}, std::span(&x, 1), std::span(&y, 1));
    x = y;
  }
  Executable executable = compile(g, {.outputs = {x}}, context);
  executable.bind(first, Tensor(DType::f32, {1}));
  return 1e9 * run_seconds(executable, 301) / kNodes;
}

double gain_of_two_streams() {
  Context context({.workers = 2});
  Executable one = branches(context, 1);
  Executable two = branches(context, 2);
  std::vector<double> of_one, of_two;
  for (int round = 0; round < 31; ++round) {
    of_one.push_back(run_seconds(one, 1));
    of_two.push_back(run_seconds(two, 1));
  }
  return median(of_one) / median(of_two);
}

}  // namespace mote::bench
