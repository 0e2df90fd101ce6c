// SPDX-License-Identifier: Apache-2.0
// The picture of a plan: its text, and names that XML would misread.
#include "mote/memory/picture.h"

#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "problems.h"

namespace mote {
namespace {

TEST(MemoryPicture, DrawsARectangleForEachBlockAndTheBound) {
  MemoryProblem problem = test::timed_problem({{2, 4, 30}, {3, 6, 10}});
  problem.blocks[0].name = "x";
  const MemoryPlan plan = {.offsets = {0, 30}, .total = 40, .bound = 40, .planner = "by hand"};
  EXPECT_EQ(
      memory_picture(problem, plan),
      R"svg(<svg xmlns="http://www.w3.org/2000/svg" width="976.00" height="516.00" font-family="sans-serif" font-size="12">
<text x="8" y="18">40 bytes, bound 40 (by hand)</text>
<rect x="8.00" y="148.00" width="480.00" height="360.00" fill="hsl(0,60%,70%)" stroke="#333" stroke-width="0.5"><title>x: 30 bytes at 0, alive [2, 4)</title></rect>
<rect x="248.00" y="28.00" width="720.00" height="120.00" fill="hsl(137,60%,70%)" stroke="#333" stroke-width="0.5"><title>block 1: 10 bytes at 30, alive [3, 6)</title></rect>
<line x1="8.00" y1="28.00" x2="968.00" y2="28.00" stroke="#c00" stroke-dasharray="6 3"><title>bound: 40 bytes</title></line>
</svg>
)svg");
}

TEST(MemoryPicture, PairsAreInTheOrderOfTheirUse) {
  MemoryProblem problem;
  problem.blocks = {{4}, {4}};
  problem.interference = Interference::of_pairs(2, {}, {9, 5});
  const std::string svg =
      memory_picture(problem, {.offsets = {0, 0}, .total = 4, .bound = 4, .planner = {}});
  EXPECT_NE(svg.find("x=\"488.00\" y=\"28.00\" width=\"480.00\""), std::string::npos);
  EXPECT_NE(svg.find("<title>block 0: 4 bytes at 0, use 9</title>"), std::string::npos);
}

TEST(MemoryPicture, EscapesNames) {
  MemoryProblem problem = test::timed_problem({{0, 1, 1}});
  problem.blocks[0].name = "<a&b>\"\x01\xff";
  const std::string svg =
      memory_picture(problem, {.offsets = {0}, .total = 1, .bound = 1, .planner = {}});
  EXPECT_NE(svg.find("<title>&lt;a&amp;b&gt;&quot;??: 1 bytes"), std::string::npos);
}

TEST(MemoryPicture, TakesNothingAndRefusesWhatDoesNotFit) {
  EXPECT_NE(memory_picture({}, {}).find("</svg>"), std::string::npos);
  EXPECT_THROW(memory_picture(test::timed_problem({{0, 1, 1}}), {}), Error);
}

}  // namespace
}  // namespace mote
