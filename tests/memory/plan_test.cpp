// SPDX-License-Identifier: Apache-2.0
// Plans of edge cases: nothing, everything at once, chains, sizes near the limits, wrong input.
#include "mote/memory/plan.h"

#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "mote/memory/check.h"
#include "problems.h"

namespace mote {
namespace {

constexpr std::uint64_t kHuge = std::uint64_t{1} << 62;

/// Returns the total of a plan that the checker accepts, of both statements of interference.
std::uint64_t total_of(const MemoryProblem& problem, const MemoryPlanOptions& options = {}) {
  std::uint64_t total = 0;
  for (const MemoryProblem& p : {test::as_pairs(problem), problem}) {
    const MemoryPlan plan = plan_memory(p, options);
    const std::optional<Reason> defect = check_memory_plan(p, plan);
    EXPECT_FALSE(defect) << defect->text;
    EXPECT_EQ(plan.bound, memory_bound(problem));
    total = plan.total;
  }
  return total;
}

std::string refusal(const MemoryProblem& problem, const MemoryPlanOptions& options = {}) {
  try {
    plan_memory(problem, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PlanMemory, WithoutBlocks) {
  EXPECT_EQ(total_of({}), 0U);
  EXPECT_EQ(total_of(test::timed_problem({{0, 1, 0}, {0, 2, 0}})), 0U);
}

TEST(PlanMemory, EverythingAliveAtOnceIsStacked) {
  std::vector<test::TimedBlock> blocks;
  for (std::int64_t k = 0; k < 100; ++k)
    blocks.push_back({-k, 1 + k, static_cast<std::uint64_t>(1 + k)});
  EXPECT_EQ(total_of(test::timed_problem(blocks)), 5050U);
}

TEST(PlanMemory, AChainTakesItsGreatestPair) {
  std::vector<test::TimedBlock> blocks;
  for (std::int64_t k = 0; k < 200; ++k)
    blocks.push_back({k, k + 2, static_cast<std::uint64_t>(1 + k % 7)});
  EXPECT_EQ(total_of(test::timed_problem(blocks)), 13U);
}

TEST(PlanMemory, BlocksOfDifferentTimesShare) {
  EXPECT_EQ(total_of(test::timed_problem({{0, 1, 5}, {1, 2, 9}, {2, 3, 7}})), 9U);
}

TEST(PlanMemory, OffsetsAreAlignedAndSizesRoundedUpToTheLeastAlignment) {
  const MemoryProblem problem = test::timed_problem({{0, 2, 3, 64}, {1, 3, 5, 16}, {0, 3, 1, 16}});
  EXPECT_EQ(memory_bound(problem), 48U);
  EXPECT_EQ(total_of(problem), 48U);
}

TEST(PlanMemory, SizesNearTheLimit) {
  // Two of 2^62 at once are 2^63, which is too many; one after the other they share.
  EXPECT_EQ(total_of(test::timed_problem({{0, 1, kHuge}, {1, 2, kHuge}, {0, 2, kHuge - 1}})),
            2 * kHuge - 1);
  EXPECT_EQ(refusal(test::timed_problem({{0, 2, kHuge}, {1, 3, kHuge}})),
            "plan_memory: more than 2^63 - 1 bytes are alive at time 1");
  EXPECT_EQ(refusal(test::as_pairs(test::timed_problem({{0, 2, kHuge}, {1, 3, kHuge}}))),
            "plan_memory: more than 2^63 - 1 bytes are alive with block 1");
  EXPECT_EQ(refusal(test::timed_problem({{0, 1, 2 * kHuge}})),
            "plan_memory: block 0 has 9223372036854775808 bytes, expected below 2^63");
  // Rounded up to the alignment it is too many.
  EXPECT_NE(refusal(test::timed_problem({{0, 1, 2 * kHuge - 1, 16}})), "");
  // The alignment of the second one leaves no room.
  EXPECT_NE(refusal(test::timed_problem({{0, 1, kHuge, 2 * kHuge}, {0, 1, 1, 2 * kHuge}})), "");
  EXPECT_EQ(total_of(test::timed_problem({{0, 1, 5, 2 * kHuge}, {1, 2, 7, 1}})), 7U);
}

TEST(PlanMemory, RefusesWhatIsMalformed) {
  MemoryProblem problem = test::timed_problem({{0, 1, 4}, {0, 1, 4, 24}});
  problem.blocks[1].name = "x";
  EXPECT_EQ(refusal(problem),
            "plan_memory: the alignment of block 1 'x' is 24, expected a power of two");
  problem.blocks[1].alignment = 0;
  EXPECT_EQ(refusal(problem),
            "plan_memory: the alignment of block 1 'x' is 0, expected a power of two");
  problem.blocks.pop_back();
  EXPECT_EQ(refusal(problem), "plan_memory: the interference is of 2 blocks, expected 1");
  EXPECT_THROW(memory_bound(problem), Error);
}

}  // namespace
}  // namespace mote
