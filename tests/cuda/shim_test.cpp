// The shim finds what is wrong with a kernel, whatever the seed of its random orders, and finds
// nothing wrong with the same kernel done right.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "cuda_host/shim/launch.h"
#include "shim_kernels.h"

MOTE_HOST_DEFINE

namespace mote::shim {
namespace {

constexpr int kSeeds = 50;

struct Trial {
  const char* name;
  unsigned blocks;
  unsigned threads;
  std::size_t outputs;
  std::function<void(const float* x, float* y, bool correct)> kernel;
  const char* finding;  ///< in the text of what is found
};

constexpr const char* kOrder = "is not the same when threads run";

const Trial kTrials[] = {
    {"reverse_block", 2, 64, 128, [](auto x, auto y, bool c) { reverse_block(x, y, c); }, kOrder},
    {"sum_of_neighbours", 1, 64, 64, [](auto x, auto y, bool c) { sum_of_neighbours(x, y, 4, c); },
     kOrder},
    {"row_sum", 3, 128, 3, [](auto x, auto y, bool c) { row_sum(x, y, 300, c); }, kOrder},
    {"from_lane_0", 1, 64, 64, [](auto x, auto y, bool c) { from_lane_0(x, y, c); }, kOrder},
    {"last_writer", 1, 64, 64, [](auto, auto y, bool c) { last_writer(y, c); }, kOrder},
    {"block_number", 4, 32, 4, [](auto, auto y, bool c) { block_number(y, c); }, kOrder},
    {"divergent_barrier", 1, 64, 64, [](auto, auto y, bool c) { divergent_barrier(y, c); },
     "reaches the barrier in line"},
    {"some_at_barrier", 1, 64, 64, [](auto, auto y, bool c) { some_at_barrier(y, c); },
     "threads wait for ever"},
    {"half_a_warp", 1, 64, 64, [](auto, auto y, bool c) { half_a_warp(y, c); }, "in line"},
    {"from_outside", 1, 64, 64, [](auto, auto y, bool c) { from_outside(y, c); },
     "reads lane 20, which is not in the mask"}};

void PrintTo(const Trial& t, std::ostream* out) { *out << t.name; }

Shape shape_of(unsigned blocks, unsigned threads) {
  Shape shape;
  shape.grid.x = blocks;
  shape.block.x = threads;
  shape.shared_begin = __start_mote_shared;
  shape.shared_end = __stop_mote_shared;
  return shape;
}

Run run(const Trial& t, bool correct, const Options& options) {
  mote_host = calls();
  std::vector<float> x(1024);
  std::iota(x.begin(), x.end(), 1.0f);
  std::vector<float> y(t.outputs, -1.0f);
  Run out;
  out.error = launch(shape_of(t.blocks, t.threads), options,
                     [&] { t.kernel(x.data(), y.data(), correct); });
  const auto bytes = std::as_bytes(std::span(y));
  out.output.assign(bytes.begin(), bytes.end());
  return out;
}

class Shim : public testing::TestWithParam<std::tuple<Trial, Engine>> {};

TEST_P(Shim, FindsTheDefectUnderEverySeed) {
  const auto& [trial, engine] = GetParam();
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::string found = find_race(
        seed, [&](const Options& o) { return run(trial, false, o); }, engine);
    EXPECT_NE(found.find(trial.finding), std::string::npos)
        << "seed " << seed << ": " << (found.empty() ? "nothing found" : found);
  }
}

TEST_P(Shim, FindsNothingInTheCorrectTwin) {
  const auto& [trial, engine] = GetParam();
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    EXPECT_EQ(find_race(
                  seed, [&](const Options& o) { return run(trial, true, o); }, engine),
              "")
        << "seed " << seed;
}

std::string name_of(const testing::TestParamInfo<std::tuple<Trial, Engine>>& info) {
  const bool own = std::get<Engine>(info.param) == Engine::own;
  return std::string(std::get<Trial>(info.param).name) + (own ? "" : "_ucontext");
}

std::vector<Engine> engines() {
  if (best_engine() == Engine::ucontext) return {Engine::ucontext};
  return {Engine::own, Engine::ucontext};
}

INSTANTIATE_TEST_SUITE_P(Kernels, Shim,
                         testing::Combine(testing::ValuesIn(kTrials), testing::ValuesIn(engines())),
                         name_of);

TEST(ShimMemory, SharedMemoryHoldsNaNBeforeEachBlock) {
  const Trial counts = {"count", 3, 64, 64, [](auto, auto y, bool c) { count(y, c); }, ""};
  const auto right = [&](bool correct) {
    std::vector<float> y(64);
    const auto made = run(counts, correct, {});
    EXPECT_EQ(made.error, "");
    std::memcpy(y.data(), made.output.data(), made.output.size());
    return std::accumulate(y.begin(), y.end(), 0.0f);
  };
  EXPECT_EQ(right(true), 64.0f);
  EXPECT_EQ(right(false), 0.0f);
}

TEST(ShimMemory, DynamicSharedMemoryIsOneArrayOfTheBlock) {
  mote_host = calls();
  Shape shape = shape_of(2, 96);
  shape.dynamic_bytes = 96 * sizeof(int);
  std::vector<int> y(192);
  const std::string error = launch(shape, {Order::random, 7, best_engine()}, [&] {
    MOTE_DYNAMIC_SHARED(int, all);
    const unsigned t = threadIdx.x;
    all[t] = static_cast<int>(t + blockIdx.x);
    __syncthreads();
    y[blockIdx.x * 96 + t] = all[95 - t];
  });
  EXPECT_EQ(error, "");
  for (int k = 0; k < 192; ++k) EXPECT_EQ(y[static_cast<std::size_t>(k)], 95 - k % 96 + k / 96);
}

TEST(ShimShuffles, DoWhatCudaSays) {
  mote_host = calls();
  std::vector<int> down(32);
  std::vector<int> up(32);
  std::vector<int> in_groups(32);
  std::vector<unsigned> votes(32);
  const std::string error = launch(shape_of(1, 32), {Order::reverse, 0, best_engine()}, [&] {
    const int t = static_cast<int>(threadIdx.x);
    const unsigned mask = 0xffffffffu;
    const auto at = static_cast<std::size_t>(t);
    down[at] = __shfl_down_sync(mask, t, 3);
    up[at] = __shfl_up_sync(mask, t, 3u);
    in_groups[at] = __shfl_sync(mask, t, 1, 4);
    votes[at] = __ballot_sync(mask, t % 2 == 0);
  });
  ASSERT_EQ(error, "");
  for (int t = 0; t < 32; ++t) {
    const auto at = static_cast<std::size_t>(t);
    EXPECT_EQ(down[at], t + 3 < 32 ? t + 3 : t);
    EXPECT_EQ(up[at], t < 3 ? t : t - 3);
    EXPECT_EQ(in_groups[at], t / 4 * 4 + 1);
    EXPECT_EQ(votes[at], 0x55555555u);
  }
}

TEST(ShimLaunch, RefusesABlockThatNoGpuHas) {
  EXPECT_NE(launch(shape_of(1, 1025), {}, [] {}), "");
}

}  // namespace
}  // namespace mote::shim
