// SPDX-License-Identifier: Apache-2.0
// Tests the oracle within a program that has threads: those of OpenMP, those of pools, and some
// that are in the middle of an operation. Earlier work of the program must not change a verdict.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "host/kernels.h"
#include "mote/oracle/campaign.h"
#include "mote/oracle/gtest.h"
#include "mote/oracle/isolation.h"

namespace mote {
namespace {

using SumFunction = int (*)(const float*, HostStrides, float*, HostStrides, std::int64_t,
                            std::int64_t, std::int64_t);

/// Calls the function once, like an earlier test.
void call(SumFunction sum) {
  const std::vector<float> x(64, 1);
  std::vector<float> y(4);
  const std::int64_t sx[] = {16, 1, 1};
  const std::int64_t sy[] = {1, 1};
  ASSERT_EQ(sum(x.data(), sx, y.data(), sy, 4, 16, 1), 0);
}

FunctionReport check_sum(SumFunction sum) {
  return check_function("sum", typed(sum), {.accumulator = "native", .count = 25});
}

/// Expects that a right function passes, and that a wrong one fails for the right reason, not as a
/// hang.
void expect_both(SumFunction right, SumFunction wrong) {
  call(right);
  const FunctionReport passed = check_sum(right);
  EXPECT_TRUE(passed.passed) << passed.text;
  call(right);
  const FunctionReport failed = check_sum(wrong);
  EXPECT_FALSE(failed.passed);
  EXPECT_EQ(failed.text.rfind("failed: sum on function", 0), 0U) << failed.text;
  EXPECT_EQ(failed.text.find("hung"), std::string::npos) << failed.text;
}

TEST(HostThreads, OpenMpThatRanBefore) {
  EXPECT_NE(std::string(openmp_runtime()).find(OPENMP_LIBRARY), std::string::npos)
      << openmp_runtime();
  expect_both(openmp_sum, openmp_sum_short);
  EXPECT_GT(openmp_threads(), 1);
}

TEST(HostThreads, APoolThatRanBefore) { expect_both(pool_sum, pool_sum_short); }

/// The threads allocate and free memory, so that some lock is held whenever this program is forked.
TEST(HostThreads, ThreadsThatAreBusy) {
  std::atomic<bool> ends = false;
  std::vector<std::thread> busy;
  for (int k = 0; k < 3; ++k)
    busy.emplace_back([&] {
      while (!ends) {
        for (int n = 0; n < 1000; ++n) std::free(std::malloc(std::size_t{1} << (4 + k)));
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  call(openmp_sum);
  const FunctionReport report = check_sum(openmp_sum);
  EXPECT_TRUE(report.passed) << report.text;
  ends = true;
  for (std::thread& t : busy) t.join();
}

/// State that main() and earlier tests set up; it exists in a worker as in the program itself.
float scale = 0;

int scaled_sum(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
               std::int64_t N, std::int64_t C) {
  const int status = openmp_sum(x, sx, y, sy, R, N, C);
  for (std::int64_t r = 0; r < R; ++r)
    for (std::int64_t c = 0; c < C; ++c) y[r * sy[0] + c * sy[1]] *= scale;
  return status;
}

TEST(HostThreads, TheStateOfTheProgramIsThere) {
  call(openmp_sum);
  scale = 2;
  EXPECT_FALSE(check_sum(scaled_sum).passed);
  scale = 1;
  const FunctionReport report = check_sum(scaled_sum);
  EXPECT_TRUE(report.passed) << report.text;
}

/// A thread of the program holds this lock, for which the function waits in any fork.
std::mutex held;

int locking_sum(const float* x, HostStrides sx, float* y, HostStrides sy, std::int64_t R,
                std::int64_t N, std::int64_t C) {
  const std::lock_guard lock(held);
  return openmp_sum(x, sx, y, sy, R, N, C);
}

TEST(HostThreads, ALockThatAThreadHolds) {
  std::atomic<bool> has = false, ends = false;
  std::thread holder([&] {
    const std::lock_guard lock(held);
    has = true;
    while (!ends) std::this_thread::yield();
  });
  while (!has) std::this_thread::yield();
  const FunctionReport report = check_sum(locking_sum);
  EXPECT_TRUE(report.passed) << report.text;
  ends = true;
  holder.join();
}

/// With in_process a function is judged in this process: a right one passes, a wrong one fails.
TEST(HostThreads, InThisProcessIfWanted) {
  call(pool_sum);
  const FunctionReport report =
      check_function("sum", typed(pool_sum), {.count = 25, .in_process = true});
  EXPECT_TRUE(report.passed) << report.text;
  EXPECT_FALSE(
      check_function("sum", typed(pool_sum_short), {.count = 25, .in_process = true}).passed);
}

/// Libraries are loaded in a process that never had threads.
TEST(HostThreads, ALibrary) {
  call(openmp_sum);
  const std::string folder = MOTE_MUTANTS_FOLDER;
  CampaignOptions campaign;
  campaign.run.isolation = std::make_shared<Isolation>();
  const Backends backends =
      find_backends({folder + "/sum_threads_correct.so", folder + "/sum_last_block.so"},
                    campaign.run.isolation.get());
  campaign.backends = select_backends(backends, {"sum_threads_correct", "sum_last_block"}).chosen;
  ASSERT_EQ(campaign.backends.size(), 2U);
  campaign.ops = {"sum"};
  campaign.dtypes = {DType::f32};
  campaign.count = 40;
  const CampaignResult result = run_campaign(campaign);
  ASSERT_EQ(result.rows.size(), 2U);
  for (const Row& row : result.rows) {
    EXPECT_EQ(row.failures() > 0, row.backend == "sum_last_block") << row.backend;
    EXPECT_EQ(row.count(Verdict::hung), 0) << row.backend;
    EXPECT_GT(row.judged, 0);
  }
}

}  // namespace
}  // namespace mote
