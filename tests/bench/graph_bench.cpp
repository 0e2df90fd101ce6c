// SPDX-License-Identifier: Apache-2.0
// Measures a graph's run in addition to what its nodes do: chains of 1,000 empty functions, of
// empty kernels and of additions of one element, each compared with the same calls without a
// graph; a loop of 1,000 empty iterations; and the gain of a second stream for two independent
// branches of conv2d, one thread for each kernel.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "gate.h"
#include "mote/graph/graph.h"
#include "runtime/fake_backend.h"

namespace mote {
namespace {

constexpr int kNodes = 1000;
constexpr int kIterations = 100;

void empty_functions_called(benchmark::State& state) {
  std::vector<NodeFunction> functions(kNodes, [](auto, auto) {});
  benchmark::DoNotOptimize(functions.data());
  for ([[maybe_unused]] auto _ : state)
    for (const NodeFunction& f : functions) f({}, {});
}

void empty_functions_in_graph(benchmark::State& state) {
  Graph g;
  const GraphTensor x = g.tensor(Tensor(DType::f32, {1}));
  for (int k = 0; k < kNodes; ++k) g.call([](auto, auto) {}, {x}, {x});
  g.find_order();
  g.prepare();
  for ([[maybe_unused]] auto _ : state) g.run();
}

/// Runs a loop of kNodes iterations, with nothing in them.
void empty_iterations(benchmark::State& state) {
  Graph g;
  WhileLoop loop;
  loop.function = [](LoopCounters counters, auto) { return counters[0] < kNodes; };
  g.add_while(Graph(), loop, {});
  g.prepare();
  for ([[maybe_unused]] auto _ : state) g.run();
}

mote_status nothing(const mote_call*, void*) { return MOTE_OK; }

void empty_kernels_called(benchmark::State& state) {
  std::vector<decltype(&nothing)> kernels(kNodes, &nothing);
  benchmark::DoNotOptimize(kernels.data());
  for ([[maybe_unused]] auto _ : state)
    for (auto* kernel : kernels) {
      const mote_status status = kernel(nullptr, nullptr);
      benchmark::DoNotOptimize(status);
    }
}

/// A chain y = x + c of tensors of one element.
struct Chain {
  explicit Chain(const NodeOptions& options) {
    GraphTensor x = graph.tensor(Tensor(DType::f32, {1}));
    const GraphTensor c = graph.tensor(Tensor(DType::f32, {1}));
    fill(graph.memory(x), 1.0);
    fill(graph.memory(c), 0.5);
    for (int k = 0; k < kNodes; ++k) {
      const GraphTensor y = graph.tensor(Tensor(DType::f32, {1}));
      graph.add(Command("add"), {x, c}, {y}, options);
      x = y;
    }
    graph.find_order();
    graph.prepare();
  }
  Graph graph;
};

void empty_kernels_in_graph(benchmark::State& state) {
  test::FakeBackend<0> fake("add");
  fake.kernel.workspace_bytes = nullptr;
  fake.kernel.run = nothing;
  Chain chain({.name = {}, .backends = {&fake.backend}});
  for ([[maybe_unused]] auto _ : state) chain.graph.run();
}

void adds_in_graph(benchmark::State& state) {
  Chain chain({});
  for ([[maybe_unused]] auto _ : state) chain.graph.run();
}

/// Calls the kernel of the chain with the descriptions that a fake backend was called with.
void adds_called(benchmark::State& state) {
  std::vector<const mote_call*> calls;
  test::FakeBackend<1> fake("add");
  fake.on_run = [&](const mote_call* call) {
    calls.push_back(call);
    return MOTE_OK;
  };
  Chain chain({.name = {}, .backends = {&fake.backend}});
  chain.graph.run();
  const Tensor x(DType::f32, {1});
  Tensor y(DType::f32, {1});
  const PreparedCommand prepared(Command("add"), {&x, &x}, {&y});
  const auto run = prepared.kernel().run_checked;  // as bound calls do, which ask nothing again
  for ([[maybe_unused]] auto _ : state)
    for (const mote_call* call : calls) {
      const mote_status status = run(call, nullptr);
      benchmark::DoNotOptimize(status);
    }
}

BENCHMARK(empty_functions_called)->Iterations(kIterations);
BENCHMARK(empty_functions_in_graph)->Iterations(kIterations);
BENCHMARK(empty_iterations)->Iterations(kIterations);
BENCHMARK(empty_kernels_called)->Iterations(kIterations);
BENCHMARK(empty_kernels_in_graph)->Iterations(kIterations);
BENCHMARK(adds_called)->Iterations(kIterations);
BENCHMARK(adds_in_graph)->Iterations(kIterations);

constexpr bench::Ratio kRatios[] = {{"empty_functions_in_graph", "empty_functions_called", 4},
                                    {"empty_iterations", "empty_functions_called", 40},
                                    {"empty_kernels_in_graph", "empty_kernels_called", 20},
                                    {"adds_in_graph", "adds_called", 2}};

/// Two independent branches of conv2d nodes.
Graph branches(Context& context, int streams) {
  Graph g;
  const GraphTensor w = g.tensor(Tensor(DType::f32, {32, 32, 3, 3}));
  fill(g.memory(w), 0.01);
  for (int branch = 0; branch < 2; ++branch) {
    GraphTensor x = g.tensor(Tensor(DType::f32, {1, 32, 28, 28}));
    fill(g.memory(x), 0.5);
    for (int k = 0; k < 4; ++k) {
      const GraphTensor y = g.tensor(Tensor(DType::f32, {1, 32, 28, 28}));
      g.add(Command("conv2d", {{"pads0", 1}, {"pads1", 1}, {"pads2", 1}, {"pads3", 1}}), {x, w},
            {y});
      x = y;
    }
  }
  g.find_order();
  g.prepare({.context = &context, .streams = streams});
  return g;
}

double seconds(Graph& g) {
  const auto start = std::chrono::steady_clock::now();
  g.run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Returns how many times as fast two streams are as one: the ratio of the medians of runs in turn.
double gain_of_two_streams() {
  Context context({.workers = 2});
  Graph one = branches(context, 1);
  Graph two = branches(context, 2);
  constexpr int kRounds = 15;
  std::vector<double> of_one, of_two;
  for (int round = 0; round < kRounds; ++round) {
    of_one.push_back(seconds(one));
    of_two.push_back(seconds(two));
  }
  std::ranges::sort(of_one);
  std::ranges::sort(of_two);
  fmt::print("one stream {:.2f} ms, two {:.2f} ms\n", 1e3 * of_one[kRounds / 2],
             1e3 * of_two[kRounds / 2]);
  return of_one[kRounds / 2] / of_two[kRounds / 2];
}

/// Prints the time of a node that does nothing in a run on two streams, the shortest of some runs;
/// false if it is more than that of a static dispatch may be.
bool is_light_on_streams() {
  constexpr double kMaxNanoseconds = 30;
  constexpr int kLength = 10000;
  constexpr int kRounds = 101;
  Context context({.workers = 2});
  Graph g;
  for (int chain = 0; chain < 2; ++chain) {
    const GraphTensor x = g.tensor(Tensor(DType::f32, {1}));
    for (int k = 0; k < kLength; ++k) g.call([](auto, auto) {}, {x}, {x});
  }
  g.find_order();
  g.prepare({.context = &context, .streams = 2});
  double least = seconds(g);
  for (int round = 1; round < kRounds; ++round) least = std::min(least, seconds(g));
  const double of_node = 1e9 * least / (2 * kLength);
  fmt::print("a node on two streams takes {:.1f} ns, the limit is {}\n", of_node, kMaxNanoseconds);
  return of_node <= kMaxNanoseconds;
}

/// Prints the gain; false if it is below $MOTE_STREAMS, if that is set.
bool has_gain() {
  const char* limit = std::getenv("MOTE_STREAMS");
  const double least = limit != nullptr ? std::strtod(limit, nullptr) : 0;
  double gain = 0;
  for (int attempt = 0; attempt < 3 && (attempt == 0 || gain < least); ++attempt)
    gain = std::max(gain, gain_of_two_streams());
  fmt::print("two streams are {:.2f} times as fast as one\n", gain);
  return gain >= least;
}

}  // namespace
}  // namespace mote

int main(int argc, char** argv) {
  // OpenMP takes the number of threads for each worker from the environment, when the program
  // starts.
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  const int status = mote::bench::measure(argc, argv, mote::kRatios);
  return status == 0 && !(mote::has_gain() && mote::is_light_on_streams()) ? 1 : status;
}
