// SPDX-License-Identifier: Apache-2.0
// Tests the kernels of tiles: they are launched if there are enough rows and columns, no order of
// threads changes their results, each of their barriers is needed, and operands are loaded 16 bytes
// at a time where possible.
#include <fmt/format.h>
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
using test::library_of;

constexpr std::uint64_t kSeeds = 50;
constexpr cuda::Grid kWide = KernelSubject::kWide;

std::string replaced(std::string text, std::size_t at, const std::string& old,
                     const std::string& by) {
  return text.replace(at, old.size(), by);
}

/// Returns, for each barrier or wait, the text without it; a barrier that votes keeps the thread's
/// own vote, and a wait for all groups except two becomes a wait for all except three.
std::vector<std::string> without_barriers(const std::string& text) {
  std::vector<std::string> all;
  for (const auto& [old, by] : {std::pair<std::string, std::string>{"__syncthreads();", ""},
                                {"__syncthreads_or(", "("},
                                {"mote_wait_for_copies<2>();", "mote_wait_for_copies<3>();"},
                                {"mote_wait_for_copies<0>();", ""}})
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + 1))
      all.push_back(replaced(text, at, old, by));
  return all;
}

/// Expects no race in the kernel, and one without any single barrier, for every seed.
void expect_needs_its_barriers(const std::string& line, std::size_t barriers,
                               cuda::Variant variant = cuda::Variant::gen,
                               const cuda::Grid& grid = KernelSubject::kFew,
                               std::uint64_t seeds = kSeeds) {
  KernelSubject subject(line, grid, variant);
  const CudaKernel& kernel = subject.kernel();
  ASSERT_TRUE(kernel.has_tiles()) << kernel.function;
  EXPECT_EQ(kernel.rounds_to_tf32(), variant == cuda::Variant::tf32);
  EXPECT_EQ(kernel.has_pipelined_tiles(), grid.least_pipelined_tiles == 1);
  const auto seeds_with_race = [&](const std::string& text) {
    const cuda_host::HostLibrary library = library_of(kernel, text);
    const auto once = [&](const shim::Options& o) { return subject.run(library, o); };
    std::uint64_t found = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      found += shim::find_race(seed, once).empty() ? 0 : 1;
    return found;
  };
  EXPECT_EQ(seeds_with_race(kernel.text), 0);
  const std::vector<std::string> all = without_barriers(kernel.text);
  EXPECT_EQ(all.size(), barriers);
  for (std::size_t k = 0; k < all.size(); ++k)
    EXPECT_EQ(seeds_with_race(all[k]), seeds) << "without barrier " << k;
}

TEST(CudaTiles, OfAMatmulNeedTheirBarriers) {
  expect_needs_its_barriers("matmul a=f32[1,1,65,33] b=f32[1,1,33,66] fill=uniform:1", 4);
}

/// The kernel has tables of positions and a mask, in shared memory as well.
TEST(CudaTiles, OfAConvolutionNeedTheirBarriers) {
  expect_needs_its_barriers("conv2d x=f32[2,3,6,7] w=f32[40,3,3,3] pads=1,1,1,1 fill=uniform:1", 5);
}

/// Tensor cores multiply, and lanes exchange operands.
TEST(CudaTiles, OfSixteenBitsNeedTheirBarriers) {
  expect_needs_its_barriers("matmul a=f16[4,1,9,17] b=f16[1,1,17,10] fill=uniform:1", 4);
}

/// This is the f32 version: operands are staged and results returned in one array.
TEST(CudaTiles, OfTf32NeedTheirBarriers) {
  expect_needs_its_barriers("matmul a=f32[4,1,9,17] b=f32[1,1,17,10] fill=uniform:1", 4,
                            cuda::Variant::tf32);
}

/// If an infinity is staged, all threads must know of it.
TEST(CudaTiles, OfSixteenBitsWithAMaskNeedTheirBarriers) {
  expect_needs_its_barriers(
      "conv2d x=bf16[5,2,3,4] w=bf16[6,2,3,3] pads=1,1,1,1 fill=uniform:1 set=w[0,0,0,0]=inf", 5);
}

/// There are four slices, of which the last is partial, in memory for three.
TEST(CudaTiles, ThatArePipelinedNeedTheirBarriersAndWaits) {
  expect_needs_its_barriers("matmul a=f16[2,1,16,104] b=f16[1,1,104,16] fill=uniform:1", 6,
                            cuda::Variant::gen, kWide, 3);
}

/// This is the f32 version, without tensor cores.
TEST(CudaTiles, OfFloatThatArePipelinedNeedTheirBarriersAndWaits) {
  expect_needs_its_barriers("matmul a=f32[2,1,16,53] b=f32[1,1,53,16] fill=uniform:1", 6,
                            cuda::Variant::gen, kWide, 3);
}

/// 16-bit operands may be row-major or column-major, in each combination; f32 operands may have any
/// layout.
TEST(CudaTiles, ArePipelinedWhereSixteenBytesLieSideBySide) {
  const auto is_pipelined = [](const std::string& line) {
    return KernelSubject(line, kWide).kernel().has_pipelined_tiles();
  };
  for (const char* line :
       {"matmul a=f16[16,40] b=f16[40,24] fill=uniform:1",
        "matmul a=f16[16,40]:t b=f16[40,24] fill=uniform:1",
        "matmul a=bf16[16,40] b=bf16[40,24]:t fill=uniform:1",
        "matmul a=bf16[16,40]:t b=bf16[40,24]:t y=bf16[1,1,16,24]:t fill=uniform:1",
        "matmul a=f16[16,37]:pad3 b=f16[37,11]:pad5 fill=uniform:1",
        "gemm a=f16[16,40] b=f16[40,11]:t c=f16[16,11] fill=uniform:1",
        "matmul a=f16[16,1] b=f16[1,16] fill=uniform:1",
        "matmul a=f32[2,16,39]:off1 b=f32[2,39,21]:t fill=uniform:1"})
    EXPECT_TRUE(is_pipelined(line)) << line;
  for (const char* line : {"matmul a=f16[16,40]:off1 b=f16[40,24] fill=uniform:1",
                           "matmul a=f16[16,37] b=f16[37,24] fill=uniform:1",
                           "matmul a=f16[16,40] b=f16[40,11] fill=uniform:1",
                           "matmul a=f16[2,16,40] b=f16[2,40,20] fill=uniform:1",
                           "matmul a=f16[8,40] b=f16[40,24] fill=uniform:1",
                           "matmul a=f64[16,40] b=f64[40,24] fill=uniform:1"})
    EXPECT_FALSE(is_pipelined(line)) << line;
}

TEST(CudaTiles, ArePipelinedWhereThereAreEnoughForAGpu) {
  const auto kernel_for = [](int rows, int columns) {
    return KernelSubject(
               fmt::format("matmul a=bf16[{},8] b=bf16[8,{}] fill=uniform:1", rows, columns), {})
        .kernel()
        .function;
  };
  EXPECT_EQ(kernel_for(12 * 128, 8 * 128), "mote_matmul_bf16_pipelined_tiles");
  EXPECT_EQ(kernel_for(12 * 128, 7 * 128), "mote_matmul_bf16_tiles");
  EXPECT_EQ(kernel_for(96, 96 * 128), "mote_matmul_bf16_pipelined_tiles");
  EXPECT_EQ(kernel_for(88, 200 * 128), "mote_matmul_bf16_tiles");
}

/// The cases have exact sums, so that their order does not matter.
TEST(CudaTiles, ThatArePipelinedComputeWhatOthersDo) {
  for (const char* line :
       {"matmul a=bf16[1,2,130,72] b=bf16[1,1,72,136] fill=integer:1",
        "matmul a=f16[136,45]:t b=f16[45,20]:pad4 y=f16[1,1,136,20]:t fill=integer:2",
        "matmul a=bf16[40,45]:pad3 b=bf16[45,144] fill=integer:3",
        "matmul a=f16[136,32]:t b=f16[32,136]:t fill=integer:4",
        "gemm a=f16[72,40] b=f16[40,72] c=f16[72,72]:bcast0 alpha=2 beta=-1 fill=integer:5",
        "matmul a=f32[1,2,130,39] b=f32[1,1,39,136] fill=integer:6",
        "matmul a=f32[136,45]:t b=f32[45,20]:t y=f32[1,1,136,20]:t fill=integer:7",
        "matmul a=f32[40,32]:off1 b=f32[32,128]:off2 fill=integer:8",
        "gemm a=f32[140,33]:t b=f32[33,132] c=f32[140,132]:bcast1 alpha=2 beta=1 fill=integer:9",
        "matmul a=f32[132,17]:pad3 b=f32[17,128]:pad1 fill=integer:10"}) {
    SCOPED_TRACE(line);
    shim::Run runs[2];
    for (const bool wide : {false, true}) {
      KernelSubject subject(line, wide ? kWide : KernelSubject::kFew);
      const CudaKernel& kernel = subject.kernel();
      EXPECT_EQ(kernel.has_pipelined_tiles(), wide);
      runs[wide ? 1 : 0] =
          subject.run(library_of(kernel), {shim::Order::random, 1, shim::best_engine()});
      EXPECT_EQ(runs[wide ? 1 : 0].error, "");
    }
    EXPECT_EQ(runs[0].output, runs[1].output);
  }
}

std::string kernel_for(std::int64_t rows, std::int64_t columns) {
  return KernelSubject(
             fmt::format("matmul a=f32[{},40] b=f32[40,{}] fill=uniform:1", rows, columns), {})
      .kernel()
      .function;
}

TEST(CudaTiles, AreLaunchedForEnoughRowsAndColumns) {
  EXPECT_EQ(kernel_for(32, 32), "mote_matmul_f32_tiles");
  EXPECT_EQ(kernel_for(31, 500), "mote_matmul_f32");
  EXPECT_EQ(kernel_for(500, 31), "mote_matmul_f32");
}

/// Each stage of a gradient launches tiles: that of the input and that of the weights.
TEST(CudaTiles, AreLaunchedForEachStage) {
  const KernelSubject subject(
      "conv2d.grad gy=f32[1,40,9,9] x=f32[1,40,9,9] w=f32[40,40,3,3] pads=1,1,1,1 fill=uniform:1",
      {});
  std::vector<bool> tiles;
  for (const cuda::Launch& l : subject.launches()) tiles.push_back(l.kernel->has_tiles());
  EXPECT_EQ(tiles, (std::vector<bool>{true, true}));
}

/// Tiles compute the scores and the weighted values if all scores fit the memory limit, and if
/// there are enough rows for tiles.
TEST(CudaTiles, OfAttentionAreLaunchedWhereThereIsMemoryForAllScores) {
  const auto kernels_for = [](const cuda::Grid& grid) {
    const KernelSubject subject(
        "attention q=f32[1,2,18,20] k=f32[1,2,35,20] v=f32[1,2,35,34] fill=uniform:1", grid);
    std::vector<std::string> names;
    for (const cuda::Launch& l : subject.launches()) names.push_back(l.kernel->function);
    return names;
  };
  const std::string whole = "mote_attention_q_k_v_f32";
  const std::vector<std::string> parts = {whole + "_parts_1_tiles", whole + "_parts_2_rows",
                                          whole + "_parts_3_tiles"};
  constexpr std::int64_t kRows = 36;  // heads times queries
  constexpr std::int64_t kScores = kRows * 35 * 4, kSums = kRows * 4;
  EXPECT_EQ(kernels_for({.least_side = 18, .most_bytes = kScores + kSums}), parts);
  EXPECT_EQ(kernels_for({.least_side = 18, .most_bytes = kScores + kSums - 1}),
            std::vector<std::string>{whole});
  EXPECT_EQ(kernels_for({.least_side = 19}), std::vector<std::string>{whole});
}

/// Counts the operands that are loaded 16 bytes at a time: without these loads, shared memory keeps
/// its NaNs there.
int operands_by_vectors(const std::string& line, cuda::Variant variant = cuda::Variant::gen) {
  KernelSubject subject(line, KernelSubject::kFew, variant);
  const CudaKernel& kernel = subject.kernel();
  const auto whole = subject.run(library_of(kernel), {});
  EXPECT_EQ(whole.error, "");
  int found = 0;
  for (const char* operand : {"staged[0]", "staged[1]"}) {
    const std::string load = std::string("mote_stage_vector(&") + operand;
    const std::size_t at = kernel.text.find(load);
    if (at == std::string::npos) continue;
    const std::string text = replaced(kernel.text, at, load, std::string("(void)(") + operand);
    const auto without = subject.run(library_of(kernel, text), {});
    found += without.output != whole.output ? 1 : 0;
  }
  return found;
}

TEST(CudaTiles, LoadSixteenBytesWhereStridesAndAddressesAllow) {
  EXPECT_EQ(operands_by_vectors("matmul a=f32[9,20] b=f32[20,12] fill=uniform:1"), 2);
  EXPECT_EQ(operands_by_vectors("matmul a=f32[9,20]:t b=f32[20,12]:t fill=uniform:1"), 1)
      << "9 rows are no whole vectors";
  EXPECT_EQ(operands_by_vectors("matmul a=f32[9,20]:off1 b=f32[20,12]:off2 fill=uniform:1"), 0);
  EXPECT_EQ(operands_by_vectors("matmul a=f32[9,21] b=f32[21,12] fill=uniform:1"), 1);
  EXPECT_EQ(operands_by_vectors("matmul a=f16[9,24] b=f16[24,16] fill=uniform:1"), 2);
  EXPECT_EQ(operands_by_vectors("matmul a=bf16[16,24]:t b=bf16[24,16]:off4 fill=uniform:1"), 1);
  EXPECT_EQ(operands_by_vectors("matmul a=f64[9,20] b=f64[20,12]:off1 fill=uniform:1"), 1);
  EXPECT_EQ(
      operands_by_vectors("matmul a=f32[9,20] b=f32[20,12] fill=uniform:1", cuda::Variant::tf32),
      2);
  const std::string convolution = "conv2d x=f32[1,4,5,6] pads=1,1,1,1 fill=uniform:1 w=f32";
  EXPECT_EQ(operands_by_vectors(convolution + "[40,4,3,3]"), 1);
  EXPECT_EQ(operands_by_vectors(convolution + "[40,4,3,3]:off1"), 0);
  EXPECT_EQ(operands_by_vectors(convolution + "[40,4,3,3]:nhwc"), 0)
      << "not in the order of the sum";
  EXPECT_EQ(operands_by_vectors("conv2d x=f32[1,3,5,6] w=f32[40,3,3,3] fill=uniform:1"), 0)
      << "27 elements a filter are no whole vectors";
}

/// Expects tiles on the shim, and on a GPU, which takes tiles only for more rows and columns.
void expect_tiles(const std::string& path, cuda::Variant variant) {
  std::ifstream file(path);
  int cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto is_asked_for = [&](const cuda::Launch& l) {
      return l.kernel->has_tiles() &&
             l.kernel->rounds_to_tf32() == (variant == cuda::Variant::tf32);
    };
    for (const cuda::Grid& grid : {cuda_host::kGrid, cuda::Grid{}}) {
      const auto launches = KernelSubject(line, grid, variant).launches();
      EXPECT_TRUE(std::ranges::any_of(launches, is_asked_for))
          << line << ", from " << grid.least_side << " rows and columns on";
    }
    ++cases;
  }
  EXPECT_GT(cases, 0);
}

TEST(CudaTiles, ComputeEveryCaseOfTheirLists) {
  expect_tiles(MOTE_TILES_CASES "/tiles.cases", cuda::Variant::gen);
  expect_tiles(MOTE_TILES_CASES "/tf32.cases", cuda::Variant::tf32);
}

}  // namespace
}  // namespace mote
