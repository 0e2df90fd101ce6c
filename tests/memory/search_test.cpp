// SPDX-License-Identifier: Apache-2.0
// The default planner on what others find hard, and on what networks need.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <limits>

#include "mote/memory/check.h"
#include "mote/memory/plan.h"
#include "problems.h"
#include "traces.h"

namespace mote {
namespace {

constexpr std::uint64_t kCapacity = 1048576;
/// MiniMalloc's instances take at most half a minute together. The steps are counted, since others
/// use the machine too: all 4.8·10^9 took 9.7 s on a Xeon on 27 November 2026.
constexpr double kMaxSeconds = 30;
constexpr double kSecondsPerStep = 9.7 / 4.8e9;

MemoryPlan verified_plan(const MemoryProblem& problem, const MemoryPlanOptions& options) {
  MemoryPlan plan = plan_memory(problem, options);
  const std::optional<Reason> defect = check_memory_plan(problem, plan);
  EXPECT_FALSE(defect) << defect->text;
  return plan;
}

MemoryProblem instance(char set) {
  return read_minimalloc(test::minimalloc_text(std::string(1, set) + ".1048576.csv")).problem;
}

TEST(Search, PlacesAllInstancesOfMinimalloc) {
  std::uint64_t steps = 0;
  for (const char set : std::string("ABCDEFGHIJK")) {
    const MemoryPlan plan =
        verified_plan(instance(set), {.effort = MemoryEffort::thorough, .enough = kCapacity});
    EXPECT_LE(plan.total, kCapacity) << set;
    steps += plan.steps;
  }
  EXPECT_LT(static_cast<double>(steps) * kSecondsPerStep, kMaxSeconds);
  RecordProperty("steps", std::to_string(steps));
}

TEST(Search, TheFastEffortIsWithinAQuarterOfTheBound) {
  for (const char set : std::string("ABCDEFGHIJK")) {
    const MemoryPlan plan = verified_plan(instance(set), {.effort = MemoryEffort::fast});
    EXPECT_LE(4 * plan.total, 5 * plan.bound) << set;
  }
}

TEST(Search, TracesOfNetworksMeetTheBound) {
  for (const auto& [name, problem] : test::network_traces())
    EXPECT_EQ(verified_plan(problem, {.effort = MemoryEffort::fast}).total, memory_bound(problem))
        << name;
}

TEST(Search, ATraceAsPairsMeetsTheBound) {
  for (const auto& trace : {test::resnet({3, 4, 6, 3}), test::lstm(50, 1)}) {
    const MemoryProblem problem = test::as_pairs(trace.problem());
    EXPECT_EQ(verified_plan(problem, {}).total, memory_bound(trace.problem()));
  }
}

TEST(Search, StepsLimitItAndItIsNotWorseThanPackings) {
  const MemoryProblem problem = instance('F');
  const std::uint64_t packed = verified_plan(problem, {.steps = 1}).total;
  for (const unsigned steps : {20U, 24U, 27U}) {
    const MemoryPlan plan = verified_plan(problem, {.steps = std::uint64_t{1} << steps});
    EXPECT_LE(plan.total, packed);
    // The last one of the searches may go on for one placement.
    EXPECT_LE(plan.steps, (std::uint64_t{1} << steps) + (std::uint64_t{1} << 20));
  }
}

TEST(Search, EnoughEndsTheWork) {
  const MemoryPlan plan = verified_plan(instance('A'), {.enough = 2 * kCapacity});
  EXPECT_LE(plan.total, 2 * kCapacity);
  EXPECT_EQ(plan.steps, 0U);
}

TEST(Search, AMillionBlocksTakeMemoryInProportion) {
  // One block lives all the time. There are 500 million pairs.
  test::Draws draw(7);
  std::vector<test::TimedBlock> blocks;
  for (std::int64_t k = 0; k < 1000000; ++k)
    blocks.push_back({k, k + 1 + static_cast<std::int64_t>(draw(1000)), 64 * (1 + draw(100)), 64});
  blocks.push_back({0, 1000000, 64, 64});
  const MemoryProblem problem = test::timed_problem(blocks);
  const MemoryPlan plan = verified_plan(problem, {.effort = MemoryEffort::fast});
  EXPECT_LT(plan.total, 2 * plan.bound);
}

constexpr std::uint64_t kFewSteps = 50'000'000;

struct Planned {
  double seconds;  ///< of the processor
  std::uint64_t steps;
};

Planned planned(const MemoryProblem& problem, const MemoryPlanOptions& options) {
  const std::clock_t start = std::clock();
  const std::uint64_t steps = plan_memory(problem, options).steps;
  return {static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, steps};
}

/// P12. A search on one of MiniMalloc's instances, in turn with each plan, tells how long a step
/// takes on this machine: the seconds are those of the Xeon.
TEST(Search, FiveThousandBlocksTakeASecondAndATenthInTheFastMode) {
  const MemoryProblem known = instance('A');
  test::Draws draw(11);
  for (const std::int64_t longest : {8, 50, 1000}) {
    std::vector<test::TimedBlock> blocks;
    for (int k = 0; k < 5000; ++k) {
      const auto begin = static_cast<std::int64_t>(draw(5000));
      const auto length = 1 + static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(longest)));
      blocks.push_back({begin, begin + length, 64 * (1 + draw(10000)), 64});
    }
    const MemoryProblem problem = test::timed_problem(blocks);
    const auto seconds = [&](MemoryEffort effort) {
      double least = std::numeric_limits<double>::infinity(), a_step = least;
      for (int run = 0; run < 3; ++run) {
        const Planned search = planned(
            known, {.effort = MemoryEffort::thorough, .enough = kCapacity, .steps = kFewSteps});
        EXPECT_GT(search.steps, 0);
        a_step = std::min(a_step, search.seconds / static_cast<double>(search.steps));
        least = std::min(least, planned(problem, {.effort = effort}).seconds);
      }
      return least / a_step * kSecondsPerStep;
    };
    EXPECT_LE(seconds(MemoryEffort::normal), 1) << longest;
    EXPECT_LE(seconds(MemoryEffort::fast), 0.1) << longest;
  }
}

}  // namespace
}  // namespace mote
