// SPDX-License-Identifier: Apache-2.0
// The allocation of NNC, on problems small enough to follow by hand.
#include <gtest/gtest.h>

#include "mote/memory/check.h"
#include "mote/memory/plan.h"
#include "problems.h"
#include "traces.h"

namespace mote {
namespace {

MemoryPlan seed_plan(const MemoryProblem& problem) {
  MemoryPlan plan = plan_memory(problem, {.planner = MemoryPlanner::seed});
  const std::optional<Reason> defect = check_memory_plan(problem, plan);
  EXPECT_FALSE(defect) << defect->text;
  EXPECT_GE(plan.total, plan.bound);
  return plan;
}

using Offsets = std::vector<std::uint64_t>;

TEST(Seed, ATupleOfThreeSharesItsBytes) {
  // All have no neighbours but one another's time; one part needs a block that joins them.
  const MemoryPlan plan =
      seed_plan(test::timed_problem({{0, 9, 1}, {0, 1, 5}, {2, 3, 7}, {4, 5, 6}}));
  // The long one has the most neighbours and comes first; of the others each has one neighbour, and
  // they are inserted as tuples with the largest among them.
  EXPECT_EQ(plan.planner, "seed");
  EXPECT_EQ(plan.offsets, (Offsets{0, 1, 1, 1}));
  EXPECT_EQ(plan.total, 8U);
}

TEST(Seed, APartOfABlockIsUsedAgain) {
  // The 10 bytes of the first block pass to 6 and 4 that live together later.
  const MemoryPlan plan =
      seed_plan(test::timed_problem({{0, 2, 10}, {3, 6, 6}, {3, 6, 4}, {0, 9, 1}}));
  EXPECT_EQ(plan.total, 11U);
}

TEST(Seed, EdgesAtTheSourceAndTheSinkTakeBlocks) {
  // The middle block has the most neighbours (2) and is first; the first and the last one interfere
  // with it, so a second range holds them. The earliest block, of 4 bytes, fits only before the
  // last one, into the edge from the source.
  const MemoryPlan plan = seed_plan(test::timed_problem({{0, 3, 4}, {2, 6, 8}, {5, 8, 6}}));
  EXPECT_EQ(plan.total, 14U);
  EXPECT_EQ(plan.offsets[0], plan.offsets[2]);
}

TEST(Seed, BytesOfPairsThatAreNotInTimeDoNotMeet) {
  // 0 and 2 interfere, and 1 interferes with neither: bytes that passed from 0 to 1 must not pass
  // on to 2.
  const std::vector<Interference::Pair> pairs = {{0, 2}, {1, 3}, {0, 3}};
  MemoryProblem problem;
  for (const std::uint64_t bytes : {8U, 6U, 4U, 2U}) problem.blocks.push_back({bytes});
  problem.interference = Interference::of_pairs(4, pairs);
  seed_plan(problem);
}

TEST(Seed, InstancesOfMinimallocTakeSeveralTimesTheBound) {
  double sum = 0;
  for (const char set : std::string("ABCDEFGHIJK")) {
    const MemoryPlan plan = seed_plan(
        read_minimalloc(test::minimalloc_text(std::string(1, set) + ".1048576.csv")).problem);
    sum += static_cast<double>(plan.total) / static_cast<double>(plan.bound);
  }
  // The literal rule for edges gives 7 on average.
  EXPECT_LT(sum / 11, 3.5);
}

TEST(Seed, TrainingOfNetworksIsNearTheBound) {
  for (const auto& [name, problem] : test::network_traces()) {
    if (problem.blocks.size() > 4000 || !name.ends_with("training")) continue;
    const MemoryPlan plan = seed_plan(problem);
    EXPECT_LE(100 * plan.total, 101 * plan.bound) << name;
  }
}

}  // namespace
}  // namespace mote
