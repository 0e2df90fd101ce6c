// SPDX-License-Identifier: Apache-2.0
// The checker on plans by hand: each defect is found and named.
#include "mote/memory/check.h"

#include <gtest/gtest.h>

#include "problems.h"

namespace mote {
namespace {

std::string defect(const MemoryProblem& problem, std::vector<std::uint64_t> offsets,
                   std::uint64_t total, std::uint64_t bound = 0) {
  const auto reason = check_memory_plan(
      problem, {.offsets = std::move(offsets), .total = total, .bound = bound, .planner = {}});
  return reason ? reason->text : "";
}

MemoryProblem three_blocks() {
  MemoryProblem problem = test::timed_problem({{0, 2, 8}, {1, 3, 4}, {2, 4, 8, 4}});
  problem.blocks[1].name = "y";
  return problem;
}

TEST(CheckMemoryPlan, AcceptsAPlan) {
  EXPECT_EQ(defect(three_blocks(), {0, 8, 0}, 12, 12), "");
  EXPECT_EQ(defect(test::as_pairs(three_blocks()), {0, 8, 0}, 12, 12), "");
  EXPECT_EQ(defect({}, {}, 0), "");
}

TEST(CheckMemoryPlan, NamesBlocksThatOverlap) {
  for (const MemoryProblem& problem : {three_blocks(), test::as_pairs(three_blocks())}) {
    EXPECT_EQ(defect(problem, {0, 7, 0}, 12),
              "block 0 at [0, 8) and block 1 'y' at [7, 11) are alive together and overlap");
    EXPECT_EQ(defect(problem, {0, 8, 4}, 12),
              "block 1 'y' at [8, 12) and block 2 at [4, 12) are alive together and overlap");
    // Block 1 lies within block 2.
    EXPECT_EQ(defect(problem, {8, 4, 0}, 16),
              "block 1 'y' at [4, 8) and block 2 at [0, 8) are alive together and overlap");
  }
}

TEST(CheckMemoryPlan, FindsAnOverlapOfBlocksAtOneOffset) {
  const MemoryProblem problem = test::timed_problem({{0, 5, 8}, {3, 9, 8}});
  EXPECT_NE(defect(problem, {0, 0}, 16), "");
  EXPECT_NE(defect(test::as_pairs(problem), {0, 0}, 16), "");
}

TEST(CheckMemoryPlan, BlocksOfNoBytesOverlapNothing) {
  const MemoryProblem problem = test::timed_problem({{0, 5, 8}, {3, 9, 0}});
  EXPECT_EQ(defect(problem, {0, 4}, 8), "");
  EXPECT_EQ(defect(test::as_pairs(problem), {0, 4}, 8), "");
}

TEST(CheckMemoryPlan, FindsWhatIsNotAlignedOrBeyondTheTotal) {
  EXPECT_EQ(defect(three_blocks(), {0, 8, 2}, 12), "block 2 at [2, 10) is not aligned to 4");
  EXPECT_EQ(defect(three_blocks(), {0, 9, 0}, 12),
            "block 1 'y' at [9, 13) is beyond the total of 12 bytes");
  EXPECT_NE(defect(three_blocks(), {~std::uint64_t{0} - 1, 8, 0}, 12), "");
  EXPECT_EQ(defect(three_blocks(), {0, 8, 0}, 12, 13),
            "the total of 12 bytes is below the bound of 13");
}

TEST(CheckMemoryPlan, FindsOffsetsThatAreLacking) {
  EXPECT_EQ(defect(three_blocks(), {0, 8}, 12),
            "2 offsets and the interference of 3 blocks for 3 blocks");
}

}  // namespace
}  // namespace mote
