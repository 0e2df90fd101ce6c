// SPDX-License-Identifier: Apache-2.0
// Random problems: every plan is verified and not below the bound, and plans of small problems have
// as few bytes as any plan can have. `MOTE_MEMORY_SEED=N memory_test --gtest_filter='Random*'`
// replays the case of a seed alone.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "mote/memory/check.h"
#include "mote/memory/plan.h"
#include "problems.h"

namespace mote {
namespace {

/// Calls `use` with seeds from `first` on, or with the one that is to be replayed.
template <typename Use>
void for_seeds(std::int64_t first, std::int64_t count, const Use& use) {
  if (const char* seed = std::getenv("MOTE_MEMORY_SEED")) {
    first = std::atoll(seed);
    count = 1;
  }
  for (std::int64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("replay: MOTE_MEMORY_SEED=" + std::to_string(seed));
    use(seed);
  }
}

std::uint64_t up(std::uint64_t number, std::uint64_t alignment) {
  return (number + alignment - 1) / alignment * alignment;
}

/// Returns the fewest bytes of any plan. Some order of blocks by their offsets is that of a plan
/// with the fewest bytes, in which each block can be pushed down onto the highest of the earlier
/// ones that it interferes with: all orders are tried.
std::uint64_t fewest_bytes(const MemoryProblem& problem) {
  std::vector<std::uint32_t> order;
  std::uint64_t unit = std::uint64_t{1} << 62;
  for (std::uint32_t k = 0; k < problem.blocks.size(); ++k)
    if (problem.blocks[k].bytes > 0) {
      order.push_back(k);
      unit = std::min(unit, problem.blocks[k].alignment);
    }
  std::uint64_t fewest = order.empty() ? 0 : ~std::uint64_t{0};
  std::vector<std::uint64_t> ends(problem.blocks.size());
  do {
    std::uint64_t total = 0;
    for (std::size_t at = 0; at < order.size(); ++at) {
      std::uint64_t low = 0;
      for (std::size_t before = 0; before < at; ++before)
        if (problem.interference.between(order[at], order[before]))
          low = std::max(low, ends[order[before]]);
      const MemoryBlock& block = problem.blocks[order[at]];
      ends[order[at]] = up(low, block.alignment) + up(block.bytes, unit);
      total = std::max(total, ends[order[at]]);
    }
    fewest = std::min(fewest, total);
  } while (std::next_permutation(order.begin(), order.end()));
  return fewest;
}

MemoryPlan verified(const MemoryProblem& problem, const MemoryPlanOptions& options) {
  MemoryPlan plan = plan_memory(problem, options);
  const std::optional<Reason> defect = check_memory_plan(problem, plan);
  EXPECT_FALSE(defect) << defect->text;
  EXPECT_GE(plan.total, plan.bound);
  return plan;
}

void expect_optimum(const MemoryProblem& problem) {
  const MemoryPlan plan = verified(problem, {});
  const std::uint64_t fewest = fewest_bytes(problem);
  EXPECT_EQ(plan.total, fewest);
  EXPECT_LE(plan.bound, fewest);
  EXPECT_GE(verified(problem, {.effort = MemoryEffort::fast}).total, fewest);
  EXPECT_GE(verified(problem, {.planner = MemoryPlanner::seed}).total, fewest);
}

TEST(RandomProblems, SmallOnesOnALineOfTimeAreOptimal) {
  for_seeds(1, 250, [](std::int64_t seed) {
    const MemoryProblem problem = test::random_timed(seed, 7, 20, false);
    expect_optimum(problem);
    expect_optimum(test::as_pairs(problem));
  });
}

TEST(RandomProblems, SmallOnesWithAlignmentsAreOptimal) {
  for_seeds(1001, 250,
            [](std::int64_t seed) { expect_optimum(test::random_timed(seed, 7, 40, true)); });
}

TEST(RandomProblems, SmallOnesOfPairsAreOptimal) {
  for_seeds(2001, 250, [](std::int64_t seed) { expect_optimum(test::random_pairs(seed, 7, 20)); });
}

TEST(RandomProblems, LargerOnesAreVerified) {
  for_seeds(3001, 30, [](std::int64_t seed) {
    const MemoryProblem timed = test::random_timed(seed, 120, 1000, seed % 2 == 0);
    for (const MemoryProblem& problem :
         {timed, test::as_pairs(timed), test::random_pairs(seed, 60, 1000)}) {
      verified(problem, {.effort = MemoryEffort::fast});
      verified(problem, {.steps = std::uint64_t{1} << 25});
      verified(problem, {.planner = MemoryPlanner::seed});
    }
  });
}

TEST(RandomProblems, TheBoundOfPairsIsThatOfTheirLifetimes) {
  for_seeds(4001, 200, [](std::int64_t seed) {
    const MemoryProblem timed = test::random_timed(seed, 40, 1000, seed % 2 == 0);
    EXPECT_EQ(memory_bound(test::as_pairs(timed)), memory_bound(timed));
  });
}

/// A problem with its blocks numbered backwards.
MemoryProblem reversed(const MemoryProblem& problem) {
  MemoryProblem result;
  std::vector<Lifetime> lifetimes(problem.interference.lifetimes().rbegin(),
                                  problem.interference.lifetimes().rend());
  result.blocks.assign(problem.blocks.rbegin(), problem.blocks.rend());
  result.interference = Interference::of_lifetimes(std::move(lifetimes));
  return result;
}

TEST(RandomProblems, PlansAreTheSameAgain) {
  for_seeds(5001, 20, [](std::int64_t seed) {
    const MemoryProblem problem = test::random_timed(seed, 60, 1000, false);
    for (const MemoryPlanner planner : {MemoryPlanner::packing, MemoryPlanner::seed}) {
      const MemoryPlanOptions options = {.planner = planner, .steps = std::uint64_t{1} << 24};
      const MemoryPlan plan = plan_memory(problem, options), again = plan_memory(problem, options);
      EXPECT_EQ(plan.offsets, again.offsets);
      EXPECT_EQ(plan.steps, again.steps);
    }
    EXPECT_EQ(memory_bound(problem), memory_bound(reversed(problem)));
  });
}

}  // namespace
}  // namespace mote
