// SPDX-License-Identifier: Apache-2.0
// Tests stages in parts: they are launched if few iterations have much work, and memory for the
// parts is available.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "kernel_subject.h"

namespace mote {
namespace {

using test::KernelSubject;

std::vector<std::string> names_for(const std::string& line, const cuda::Grid& grid = {}) {
  std::vector<std::string> all;
  for (const cuda::Launch& l : KernelSubject(line, grid).launches())
    all.push_back(l.kernel->function);
  return all;
}

using Names = std::vector<std::string>;

TEST(CudaParts, AreLaunchedWhereFewRoundsGoFar) {
  const Names rows = {"mote_sum_f32_part1_row_vectors", "mote_sum_f32_part2_rows"};
  EXPECT_EQ(names_for("sum x=f32[1,32768,1] fill=uniform:1"), rows);
  // Here each thread of a block of 128 has fewer than 256 elements.
  EXPECT_EQ(names_for("sum x=f32[1,32760,1] fill=uniform:1"), Names{"mote_sum_f32_row_vectors"});
  // Columns get one thread each.
  const Names columns = {"mote_sum_f32_part1", "mote_sum_f32_part2_rows"};
  EXPECT_EQ(names_for("sum x=f32[2,256,50] fill=uniform:1"), columns);
  EXPECT_EQ(names_for("sum x=f32[2,255,50] fill=uniform:1"), Names{"mote_sum_f32"});
  EXPECT_EQ(names_for("sum x=f32[2,256,50] fill=uniform:1", {.busy = 26}), columns);
  EXPECT_EQ(names_for("sum x=f32[2,256,50] fill=uniform:1", {.busy = 25}), Names{"mote_sum_f32"});
}

/// The computations after a reduction are a part of their own, as are those before it.
TEST(CudaParts, AreAsManyAsStepsDependOnEachOther) {
  EXPECT_EQ(
      names_for("batch_norm_training x=f32[300,2,9] gamma=f32[2] beta=f32[2] input_mean=f32[2] "
                "input_var=f32[2] fill=uniform:1")
          .size(),
      6U);
  const Names loss = names_for("cross_entropy x=f32[30,40,1] target=i64[30,1] fill=uniform:1");
  EXPECT_EQ(loss.size(), 5U);
  EXPECT_EQ(loss.front(), "mote_cross_entropy_x_target_f32_part1_row_vectors");
}

TEST(CudaParts, TakeMemoryWhereTheyAreLaunchedAlone) {
  const auto bytes = [](const std::string& line) {
    return KernelSubject(line, cuda::Grid{}).workspace_bytes();
  };
  EXPECT_EQ(bytes("sum x=f32[1,200,1] fill=uniform:1"), 0U);
  EXPECT_EQ(bytes("sum x=f32[1,32768,1] fill=uniform:1"), 512U * 4) << "512 parts";
}

TEST(CudaRows, AreNotForBlocksWhereTheyAreShort) {
  EXPECT_EQ(names_for("softmax x=f32[40,16,1] fill=uniform:1"),
            Names{"mote_softmax_f32_row_vectors"});
  EXPECT_EQ(names_for("softmax x=f32[40,15,1] fill=uniform:1"), Names{"mote_softmax_f32"});
}

/// If a tensor repeats, or the loops' order differs from the order in memory, the location of each
/// row is found once. Short rows are left to single threads.
TEST(CudaRows, AreOfMapsWithGaps) {
  EXPECT_EQ(names_for("mul a=f32[1,2,9,128] b=f32[1,1,1,128] fill=uniform:1"),
            Names{"mote_mul_f32_row_vectors"});
  EXPECT_EQ(names_for("mul a=f32[1,2,9,124] b=f32[1,1,1,124] fill=uniform:1"),
            Names{"mote_mul_f32"});
  EXPECT_EQ(names_for("mul a=f32[1,2,9,128] b=f32[1,2,9,1] fill=uniform:1"), Names{"mote_mul_f32"});
  EXPECT_EQ(names_for("mul a=f32[1,2,9,128] b=f32[1,2,9,128] fill=uniform:1"),
            Names{"mote_mul_f32_vectors"});
  const Names normalised = {"mote_batch_norm_f32_part1", "mote_batch_norm_f32_part2_row_vectors"};
  EXPECT_EQ(names_for("batch_norm x=f32[9,3,128] gamma=f32[3] beta=f32[3] input_mean=f32[3] "
                      "input_var=f32[3] fill=uniform:1"),
            normalised);
}

/// In planes, rows go to warps and their elements to lanes.
TEST(CudaRows, AreOfNestsToo) {
  EXPECT_EQ(names_for("global_avg_pool x=f32[40,3,5,16] fill=uniform:1"),
            Names{"mote_global_avg_pool_f32_row_vectors"});
  EXPECT_EQ(names_for("global_avg_pool x=f32[40,3,5,18] fill=uniform:1"),
            Names{"mote_global_avg_pool_f32_rows"});
}

/// Four warps give the same result for any order of threads; sums of integers are exact.
TEST(CudaRows, OfNestsComputeWhatAThreadDoes) {
  std::vector<shim::Run> runs;
  for (const auto& [layout, function] : {std::pair(":t", "mote_global_avg_pool_f32"),
                                         {"", "mote_global_avg_pool_f32_row_vectors"},
                                         {":off1", "mote_global_avg_pool_f32_rows"}}) {
    KernelSubject subject(std::string("global_avg_pool x=f32[2,3,9,20]") + layout +
                          " fill=integer:1");
    const CudaKernel& kernel = subject.kernel();
    EXPECT_EQ(kernel.function, function);
    const auto library = test::library_of(kernel);
    for (const shim::Order order : {shim::Order::forward, shim::Order::random}) {
      shim::Options options;
      options.order = order;
      runs.push_back(subject.run(library, options));
      EXPECT_EQ(runs.back().error, "");
      EXPECT_EQ(runs.back().output, runs.front().output) << function;
    }
  }
}

TEST(CudaParts, ComputeEveryCaseOfTheirList) {
  std::ifstream file(MOTE_TILES_CASES "/parts.cases");
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto launches = KernelSubject(line, cuda_host::kGrid).launches();
    EXPECT_TRUE(
        std::ranges::any_of(launches, [](const cuda::Launch& l) { return l.kernel->part > 0; }))
        << line << ": " << launches.at(0).kernel->function;
    ++cases;
  }
  EXPECT_GT(cases, 10);
}

}  // namespace
}  // namespace mote
