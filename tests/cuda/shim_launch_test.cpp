// SPDX-License-Identifier: Apache-2.0
// Tests the launches of the shim, the launches that it refuses as a GPU does, and grids of every
// size.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cuda_host/shim/launch.h"

namespace mote::shim {
namespace {

TEST(ShimMemory, AThreadHasTheLocalMemoryThatAGpuGives) {
  mote_host = calls();
  std::vector<int> y(64);
  Shape shape;
  shape.block = {64};
  const std::string error = launch(shape, {}, [&] {
    constexpr int kCount = 500 * 1024 / int{sizeof(int)};
    volatile int own[kCount];
    for (int k = 0; k < kCount; k += 512) own[k] = k + static_cast<int>(threadIdx.x);
    __syncthreads();
    for (int k = 0; k < kCount; k += 512) y[threadIdx.x] += own[k] - k;
  });
  EXPECT_EQ(error, "");
  for (int k = 0; k < 64; ++k) EXPECT_EQ(y[static_cast<std::size_t>(k)], 250 * k);
}

/// Launches an empty kernel with this grid and block; returns the error.
std::string launched(dim3 grid, dim3 block, std::size_t dynamic_bytes = 0) {
  Shape shape;
  shape.grid = grid;
  shape.block = block;
  shape.dynamic_bytes = dynamic_bytes;
  return launch(shape, {}, [] {});
}

TEST(ShimLaunch, RefusesWhatNoGpuHas) {
  EXPECT_EQ(launched({1}, {1024}), "");
  EXPECT_EQ(launched({1}, {1, 1, 64}), "");
  EXPECT_EQ(launched({1}, {1}, 49152), "");
  EXPECT_EQ(launched({1}, {1025}), "a block of 1025,1,1 threads, expected at most 1024,1024,64");
  EXPECT_EQ(launched({1}, {1, 1025}), "a block of 1,1025,1 threads, expected at most 1024,1024,64");
  EXPECT_EQ(launched({1}, {1, 1, 65}), "a block of 1,1,65 threads, expected at most 1024,1024,64");
  EXPECT_EQ(launched({1}, {32, 33}), "a block of 1056 threads, expected 1 to 1024");
  EXPECT_EQ(launched({1}, {0}), "a block of 0 threads, expected 1 to 1024");
  EXPECT_EQ(launched({0}, {1}), "a grid of 0,1,1 blocks, expected 1 at least");
  for (const dim3 grid : {dim3(0x80000000U), dim3(1, 0x10000), dim3(1, 1, 0x10000)})
    EXPECT_NE(launched(grid, {1}).find("blocks, expected at most 2147483647,65535,65535"),
              std::string::npos);
  EXPECT_EQ(launched({1}, {1}, 49153),
            "49153 bytes of shared memory, 0 of them static, expected at most 49152");
}

/// A list of blocks of the largest grid would take more than 2^61 bytes.
TEST(ShimLaunch, TheLargestGridTakesNoMemory) {
  mote_host = calls();
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    Shape shape;
    shape.grid = {0x7fffffff, 0xffff, 0xffff};
    const std::string error = launch(shape, {order, 1, best_engine()}, [] { __syncwarp(3U); });
    const char* const first = order == Order::forward   ? "block 0,0,0, "
                              : order == Order::reverse ? "block 2147483646,65534,65534, "
                                                        : "block ";
    EXPECT_TRUE(error.starts_with(first)) << error;
  }
}

TEST(ShimLaunch, EachBlockRunsOnceInEachOrder) {
  mote_host = calls();
  for (const unsigned depth : {2U, 20U})  // small enough to be drawn as a whole, and too large
    for (const Order order : {Order::forward, Order::reverse, Order::random}) {
      Shape shape;
      shape.grid = {101, 37, depth};
      std::vector<unsigned> all;
      const std::string error = launch(shape, {order, 9, best_engine()}, [&] {
        all.push_back(blockIdx.x + 101 * (blockIdx.y + 37 * blockIdx.z));
      });
      EXPECT_EQ(error, "");
      EXPECT_EQ(std::is_sorted(all.begin(), all.end()), order == Order::forward);
      EXPECT_EQ(std::is_sorted(all.rbegin(), all.rend()), order == Order::reverse);
      std::sort(all.begin(), all.end());
      ASSERT_EQ(all.size(), std::size_t{101} * 37 * depth);
      for (unsigned k = 0; k < all.size(); ++k) ASSERT_EQ(all[k], k);
    }
}

}  // namespace
}  // namespace mote::shim
