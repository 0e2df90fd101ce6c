// SPDX-License-Identifier: Apache-2.0
// Runs random programs on the shim by random steps of a GPU's schedule, with the threads in several
// orders. MOTE_RANDOM_CUDA is the number of programs, MOTE_RANDOM_SCHEDULES that of the schedules
// of each, MOTE_SEED the first seed.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check_program.h"
#include "cuda/plan.h"
#include "cuda_host/host_library.h"
#include "mote/macroops/program_record.h"
#include "random_program.h"
#include "random_run.h"
#include "random_schedule.h"
#include "tensor_memory.h"

namespace mote {
namespace {

using namespace test;

constexpr int kBatch = 20;    // programs that are compiled together
constexpr int kTrials = 4;    // of each program
constexpr int kMaxSteps = 8;  // that are tried for one schedule

int number_from(const char* variable, int otherwise) {
  const std::string value = environment(variable);
  return value.empty() ? otherwise : std::stoi(value);
}

/// A program, and its kernels by steps that were drawn.
struct Subject {
  std::uint64_t seed = 0;
  Prepared prepared;
  std::unique_ptr<OpRecord> record;
  std::unique_ptr<cuda::OpInstance> instance;

  std::shared_ptr<std::vector<Step>> steps;

  const CudaProgram& kernels() const { return instance->source(cuda::Variant::gen); }
};

/// Draws the schedule; `word_counts` gets the steps that were taken.
Subject subject_of(const Program& p, std::uint64_t seed, int schedule,
                   std::map<std::string, int>& word_counts) {
  Subject s;
  s.seed = seed;
  s.prepared.program = std::make_shared<const Program>(p);
  for (Trial t : make_trials(p, seed, kTrials)) {
    t.fill = Fill::integers;  // most results are exact then, and are compared
    add_trial(s.prepared, t);
  }
  s.record = std::make_unique<OpRecord>(program_record(p.name, to_string(p), {}));
  s.record->name = fmt::format("{}_{}", p.name, schedule);
  if (p.outputs.size() > 1)
    for (const Output& o : p.outputs) s.record->optional_outputs.push_back(o.name);
  s.steps = std::make_shared<std::vector<Step>>();
  const auto drawn = [&word_counts, seed, schedule, steps = s.steps](const LoopProgram& loops,
                                                                     CudaVariant /*gen*/,
                                                                     const EmitOptions& options) {
    Rng rng(seed * 41 + static_cast<std::uint64_t>(schedule));
    DrawnCuda made = draw_cuda(loops, rng, kMaxSteps, options);
    for (const std::string& word : made.taken) ++word_counts[word];
    *steps = made.steps;
    return made.program;
  };
  s.instance = std::make_unique<cuda::OpInstance>(*s.record, instances(*s.record).front(), drawn);
  return s;
}

/// Compiles the kernels of all subjects into one library.
cuda_host::HostLibrary library_of(const std::vector<Subject>& subjects) {
  std::vector<std::string> functions;
  std::set<std::string> helpers;
  std::string texts;
  for (const Subject& s : subjects)
    for (const CudaKernel* k : all_kernels(s.kernels())) {
      functions.push_back(k->function);
      helpers.insert(k->helpers.begin(), k->helpers.end());
      texts += k->text;
    }
  const std::string source = cuda_host::host_source(functions, cuda_helpers(helpers) + texts);
  return cuda_host::compile_for_host(source, [&] { return source; });
}

mote_status refused(const mote_call& call, const std::string& why) {
  fmt::format_to_n(call.message, static_cast<std::ptrdiff_t>(call.message_bytes) - 1, "{}", why);
  return MOTE_FAILED;
}

/// Launches the kernels of the call, on small blocks, whose threads take turns by the seed.
mote_status run(const Subject& s, const cuda_host::HostLibrary& library, const mote_call& call,
                std::uint64_t seed, std::map<std::string, int>& workers) {
  backend::Check refusal;
  const cuda::Plan plan(call, *s.instance, cuda::Variant::gen, true, cuda_host::kGrid, refusal);
  if (refusal) return refused(call, refusal->text);
  std::vector<void*> data;
  for (const cuda::TensorView& view : plan.views()) data.push_back(view.data);
  struct alignas(64) Line {
    unsigned char bytes[64];
  };
  std::vector<Line> workspace(plan.workspace_bytes() / sizeof(Line) + 1);
  for (Line& line : workspace) std::fill_n(line.bytes, sizeof line.bytes, 0xff);  // NaNs
  shim::Options options;
  options.order = shim::Order::random;
  options.seed = seed;
  for (cuda::Launch& launch : plan.launches(data, workspace.data())) {
    const std::string error = cuda_host::run_launch(library, launch, options);
    if (!error.empty()) return refused(call, launch.kernel->function + ": " + error);
    ++workers[fmt::format("worker {}", launch.kernel->worker.index())];
  }
  return MOTE_OK;
}

TEST(CudaRandomSchedules, ComputeWhatTheProgramSays) {
  setenv("MOTE_CACHE", MOTE_CUDA_CACHE, 1);
  const int count = number_from("MOTE_RANDOM_CUDA", 250);
  const int schedules = number_from("MOTE_RANDOM_SCHEDULES", 4);
  const std::uint64_t first = first_seed();
  std::cout << count << " random programs, " << schedules
            << " schedules each, from MOTE_SEED=" << first << "\n";
  std::map<std::string, int> counts;
  for (int done = 0; done < count && !HasFailure(); done += kBatch) {
    std::vector<Subject> subjects;
    for (int k = done; k < std::min(count, done + kBatch); ++k)
      for (int schedule = 0; schedule < schedules; ++schedule) {
        const std::uint64_t seed = first + static_cast<std::uint64_t>(k);
        const Program p = random_program(seed, {.has_products = true});
        subjects.push_back(subject_of(p, seed, schedule, counts));
      }
    const cuda_host::HostLibrary library = library_of(subjects);
    for (const Subject& s : subjects) {
      const auto m = check_gen(s.prepared, "gen on the shim", [&](std::size_t t) {
        const Trial& trial = s.prepared.trials[t];
        return run_on_memory(
            *s.prepared.program, s.prepared.inputs[t], trial,
            [&](const mote_call& call) { return run(s, library, call, trial.seed, counts); });
      });
      if (m)
        ADD_FAILURE() << "MOTE_RANDOM_CUDA=1 MOTE_SEED=" << s.seed << ", steps "
                      << to_string(*s.steps) << ": " << to_string(*m) << "\n"
                      << to_string(*s.prepared.program);
    }
  }
  for (const auto& [what, times] : counts) std::cout << fmt::format("  {:6}  {}\n", times, what);
  const auto expect = [&](const std::vector<std::string>& what, int least) {
    for (const std::string& one : what)
      if (count >= least) {
        EXPECT_GT(counts[one], 0) << "no schedule with " << one;
      }
  };
  expect({"parts", "grid", "threads", "row_vectors", "block_tile", "distribute", "worker 0",
          "worker 1", "worker 3"},
         250);
  // They need iterations and tensors without gaps, which are seldom drawn.
  expect({"thread_vectors", "worker 2", "worker 4"}, 2500);
}

/// Runs the program's own kernels on whole numbers. Expects that tiles are among them.
void expect_right_in_tiles(const std::string& text,
                           const std::map<std::string, std::int64_t>& sizes) {
  SCOPED_TRACE(text);
  setenv("MOTE_CACHE", MOTE_CUDA_CACHE, 1);
  std::vector<Subject> subjects(1);
  Subject& s = subjects.front();
  s.prepared.program = std::make_shared<const Program>(parse_program(text));
  Trial trial;
  trial.sizes = sizes;
  add_trial(s.prepared, trial);
  s.record = std::make_unique<OpRecord>(program_record(s.prepared.program->name, text, {}));
  s.instance = std::make_unique<cuda::OpInstance>(*s.record, instances(*s.record).front());
  const cuda_host::HostLibrary library = library_of(subjects);
  std::map<std::string, int> workers;
  const auto m = check_gen(s.prepared, "gen on the shim", [&](std::size_t t) {
    return run_on_memory(*s.prepared.program, s.prepared.inputs[t], s.prepared.trials[t],
                         [&](const mote_call& call) { return run(s, library, call, 1, workers); });
  });
  EXPECT_FALSE(m) << to_string(*m);
  EXPECT_GT(workers[fmt::format("worker {}", CudaWorker(CudaPerTile{0, 0, 0}).index())], 0);
}

/// Rows, columns and the sum are several loops each, and there is no batch: the digits of a tile's
/// rows stay as they are in all of its slices.
TEST(CudaPrograms, CountThroughSeveralLoopsInTiles) {
  const std::string dense = R"(op dense
input x f32[B, T, K]
input w f32[N, K]
output y = sum[3](x[i0, i1, i3 over B, T, N, K] * w[i2, i3 over B, T, N, K])
)";
  expect_right_in_tiles(dense, {{"B", 5}, {"T", 13}, {"K", 40}, {"N", 65}});
  expect_right_in_tiles(dense, {{"B", 3}, {"T", 43}, {"K", 17}, {"N", 3}});
  expect_right_in_tiles(R"(op both
input x f32[A, B, K, L]
input w f32[K, L, M, N]
output y = sum[4, 5](x[i0, i1, i4, i5 over A, B, M, N, K, L] * w[i4, i5, i2, i3 over A, B, M, N, K, L])
)",
                        {{"A", 9}, {"B", 8}, {"K", 5}, {"L", 7}, {"M", 6}, {"N", 12}});
}

/// Tiles are apart in a flattened result by the digits of its index.
TEST(CudaPrograms, StoreFlattenedResultsOfTiles) {
  const std::string both = R"(op both
input x f32[2, A, K]
input y f32[K, B]
v = max(sum[3](x[i0, i2, i3 over 2, B, A, K] * y[i3, i1 over 2, B, A, K]), 0)
output e = v + 1
output f = v[i0/B, i0%B, i1 over 2*B, A]
)";
  expect_right_in_tiles(both, {{"A", 33}, {"K", 18}, {"B", 66}});
  expect_right_in_tiles(both, {{"A", 70}, {"K", 17}, {"B", 9}});
  expect_right_in_tiles(R"(op flat
input x f32[M, K]
input y f32[K, N]
v = sum[2](x[i0, i2 over M, N, K] * y[i2, i1 over M, N, K])
output e = v
output f = v[i0/N, i0%N over M*N]
)",
                        {{"M", 65}, {"K", 17}, {"N", 67}});
}

TEST(CudaPrograms, CopyTilesAlongOneKnownLoop) {
  expect_right_in_tiles(R"(op turns
input x f32[2, M]; input y f32[K, N]
output z = sum[2](x[i2%2, i0 over M, N, K] * y[i2, i1 over M, N, K])
)",
                        {{"M", 66}, {"K", 18}, {"N", 65}});
}

/// Sizes may have the names that the text gives to the numbers of threads.
TEST(CudaPrograms, HaveSizesOfTheNamesOfThreads) {
  for (const std::string name : {"thread_row", "thread_column", "lane", "location"})
    expect_right_in_tiles(fmt::format(R"(op named
input a f32[M, {0}]; input b f32[{0}, N]
output y = sum[2](a[i0, i2 over M, N, {0}] * b[i2, i1 over M, N, {0}])
)",
                                      name),
                          {{"M", 5}, {name, 18}, {"N", 66}});
}

}  // namespace
}  // namespace mote
