// SPDX-License-Identifier: Apache-2.0
// Measures the overhead of a call in addition to the kernel: prepared commands, run(), attributes
// of ops, the choice by measured time. Each is a google-benchmark; with --gate the program also
// compares the ratios of medians below with their limits. All are measured in one run with randomly
// interleaved repetitions, so that a busy machine slows both sides of a ratio.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "command/check_call.h"
#include "gate.h"
#include "mote/runtime/bound_call.h"
#include "mote/runtime/context.h"
#include "mote/runtime/operation.h"
#include "mote/runtime/prepared.h"
#include "mote/runtime/registry.h"
#include "mote/runtime/tune.h"
#include "runtime/fake_backend.h"

namespace mote {
namespace {

mote_status empty(const mote_call*, void*) { return MOTE_OK; }

/// A kernel for relu that does nothing, called as prepared commands call it.
struct Subject {
  Subject() : fake("relu") {
    fake.kernel.workspace_bytes = nullptr;
    fake.kernel.run = empty;
  }
  test::FakeBackend<0> fake;
  Command relu = Command("relu");
  Tensor x = Tensor(DType::f32, {4, 16});
  Tensor y = Tensor(DType::f32, {4, 16});
  RunOptions options = {.backends = fake.list};
};

void indirect_call(benchmark::State& state) {
  auto* run = &empty;
  benchmark::DoNotOptimize(run);
  for ([[maybe_unused]] auto _ : state) {
    const mote_status status = run(nullptr, nullptr);
    benchmark::DoNotOptimize(status);
  }
}

void prepared_command(benchmark::State& state) {
  Subject s;
  PreparedCommand prepared(s.relu, {&s.x}, {&s.y}, s.options);
  for ([[maybe_unused]] auto _ : state) prepared.run();
}

void rebound_command(benchmark::State& state) {
  Subject s;
  PreparedCommand prepared(s.relu, {&s.x}, {&s.y}, s.options);
  const Tensor* in[] = {&s.x};
  Tensor* out[] = {&s.y};
  for ([[maybe_unused]] auto _ : state) {
    prepared.rebind(in, out);
    prepared.run();
  }
}

void command(benchmark::State& state) {
  Subject s;
  for ([[maybe_unused]] auto _ : state) run(s.relu, {&s.x}, {&s.y}, s.options);
}

void prepared_relu(benchmark::State& state) {
  Subject s;
  fill(s.x, 0.5);
  PreparedCommand prepared(s.relu, {&s.x}, {&s.y});
  for ([[maybe_unused]] auto _ : state) prepared.run();
}

/// An add of one element, as a kernel of the backend gen computes it.
struct TinyAdd {
  TinyAdd() {
    fill(a, 1);
    fill(b, 2);
  }
  Command add = Command("add");
  Tensor a = Tensor(DType::f32, {1});
  Tensor b = Tensor(DType::f32, {1});
  Tensor y = Tensor(DType::f32, {1});
};

void prepared_add(benchmark::State& state) {
  TinyAdd t;
  PreparedCommand prepared(t.add, {&t.a, &t.b}, {&t.y});
  for ([[maybe_unused]] auto _ : state) prepared.run();
}

/// Calls the kernel's run, which checks the call each time.
void run_of_add(benchmark::State& state) {
  TinyAdd t;
  const mote_kernel& kernel = PreparedCommand(t.add, {&t.a, &t.b}, {&t.y}).kernel();
  std::array<std::int64_t, 4> ones = {1, 1, 1, 1};
  const auto seen = [&](const Tensor& x) {
    DLTensor dl = x.dl();
    dl.ndim = 4;
    dl.shape = dl.strides = ones.data();
    return dl;
  };
  DLTensor a = seen(t.a), b = seen(t.b), y = seen(t.y);
  std::array<const DLTensor*, 2> inputs = {&a, &b};
  DLTensor* outputs = &y;
  mote_call call{};
  call.size = sizeof call;
  call.op = "add";
  call.input_count = 2;
  call.output_count = 1;
  call.inputs = inputs.data();
  call.outputs = &outputs;
  for ([[maybe_unused]] auto _ : state) {
    const mote_status status = kernel.run(&call, nullptr);
    benchmark::DoNotOptimize(status);
  }
}

/// A thousand operations that do nothing, as a graph runs them.
constexpr int kChain = 1000;
void chain_of_operations(benchmark::State& state) {
  Subject s;
  const TensorForm form = s.x.form();
  const auto plan = KernelPlan::make(s.relu, {&form}, {&form}, {}, s.options);
  std::vector<PreparedOperation> operations;
  std::vector<PreparedOperation*> list;
  for (int k = 0; k < kChain; ++k) {
    BoundCall call(plan);
    call.bind_input(0, s.x.data());
    call.bind_output(0, s.y.data());
    operations.emplace_back(std::move(call));
  }
  for (PreparedOperation& operation : operations) list.push_back(&operation);
  for ([[maybe_unused]] auto _ : state) run(list);
}

/// Makes a call of a plan of add, binds its three tensors and drops it.
void bound_call(benchmark::State& state) {
  TinyAdd t;
  const TensorForm form = t.a.form();
  const auto plan = KernelPlan::make(t.add, {&form, &form}, {&form});
  for ([[maybe_unused]] auto _ : state) {
    BoundCall call(plan);
    call.bind_input(0, t.a.data());
    call.bind_input(1, t.b.data());
    call.bind_output(0, t.y.data());
    benchmark::DoNotOptimize(call);
  }
}

#ifdef _OPENMP
/// Measures the overhead of a parallel region for one thread and an empty body.
void region_of_threads(benchmark::State& state) {
  int threads = 1;
  benchmark::DoNotOptimize(threads);
  for ([[maybe_unused]] auto _ : state) {
#pragma omp parallel if (threads > 1)
    benchmark::ClobberMemory();
  }
}
#endif

/// Returns ops in an order that no loop unrolling removes.
std::array<OpId, 256> some_ops() {
  std::array<OpId, 256> ops{};
  const auto count = static_cast<OpId>(Registry::global().size());
  for (OpId k = 0; k < ops.size(); ++k) ops[k] = k * 101U % count;
  return ops;
}

void array_read(benchmark::State& state) {
  const std::array<OpId, 256> ops = some_ops();
  std::vector<const void*> values(Registry::global().size(), &ops);
  const void** array = values.data();
  benchmark::DoNotOptimize(array);
  std::size_t k = 0;
  for ([[maybe_unused]] auto _ : state) {
    const void* value = array[ops[k++ % ops.size()]];
    benchmark::DoNotOptimize(value);
  }
}

void attribute_lookup(benchmark::State& state) {
  const std::array<OpId, 256> ops = some_ops();
  Column<Definition> column = Registry::global().column(kDefinition);
  benchmark::DoNotOptimize(column);
  std::size_t k = 0;
  for ([[maybe_unused]] auto _ : state) {
    const Definition* value = column.find(ops[k++ % ops.size()]);
    benchmark::DoNotOptimize(value);
  }
}

/// Looks up one signature in a table of 200.
void known_signature(benchmark::State& state) {
  Subject s;
  Context context;
  for (std::int64_t n = 1; n <= 200; ++n) {
    const Tensor x(DType::f32, {n % 20, n});
    Tensor y(DType::f32, {n % 20, n});
    fill(x, 0.5);
    autotune(s.relu, {&x}, {&y}, context, {.rounds = 1, .seconds = 0});
  }
  autotune(s.relu, {&s.x}, {&s.y}, context);
  const DLTensor* in[] = {&s.x.dl()};
  const DLTensor* out[] = {&s.y.dl()};
  std::array<CallOperand, 2> operands{};
  std::array<int, 2> slots{};
  const CallTensors tensors = check_call(s.relu, in, out, operands, slots);
  for ([[maybe_unused]] auto _ : state) {
    const mote_kernel* kernel = context.tuning().find(s.relu, tensors);
    benchmark::DoNotOptimize(kernel);
  }
}

/// The number of iterations of a sample is fixed. The library's own choice is one iteration if the
/// thread is interrupted during the first try, and every sample would then run with a cold cache.
constexpr int kIterations = 20000;

BENCHMARK(indirect_call)->Iterations(kIterations);
BENCHMARK(prepared_command)->Iterations(kIterations);
BENCHMARK(rebound_command)->Iterations(kIterations);
BENCHMARK(command)->Iterations(kIterations);
BENCHMARK(prepared_relu)->Iterations(kIterations);
BENCHMARK(prepared_add)->Iterations(kIterations);
BENCHMARK(run_of_add)->Iterations(kIterations);
BENCHMARK(chain_of_operations)->Iterations(kIterations / kChain);
BENCHMARK(bound_call)->Iterations(kIterations);
#ifdef _OPENMP
BENCHMARK(region_of_threads)->Iterations(kIterations);
#endif
BENCHMARK(array_read)->Iterations(kIterations);
BENCHMARK(attribute_lookup)->Iterations(kIterations);
BENCHMARK(known_signature)->Iterations(kIterations);

constexpr bench::Ratio kRatios[] = {
    {"prepared_command", "indirect_call", 20},
    {"prepared_add", "run_of_add", 0.35},  // it checks nothing again
    {"chain_of_operations", "indirect_call", 10.0 * kChain},
    {"bound_call", "run_of_add", 1},
#ifdef _OPENMP
    {"prepared_relu", "region_of_threads", 1},  // it enters no parallel region
#endif
    {"attribute_lookup", "array_read", 3},
    {"known_signature", "indirect_call", 40}};

}  // namespace
}  // namespace mote

int main(int argc, char** argv) { return mote::bench::measure(argc, argv, mote::kRatios); }
