// SPDX-License-Identifier: Apache-2.0
// MiniMalloc's CSV: columns in any order, round trips, and messages with line and column.
#include "mote/memory/minimalloc.h"

#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "problems.h"

namespace mote {
namespace {

std::string refusal(const std::string& text) {
  try {
    read_minimalloc(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Minimalloc, ReadsColumnsInAnyOrder) {
  const MinimallocFile file = read_minimalloc(
      "size,offset,id,upper,alignment,lower\r\n 64 ,128,x y, 7,32,-3\n\n0,0,b,2,1,1");
  ASSERT_EQ(file.problem.blocks.size(), 2U);
  EXPECT_EQ(file.problem.blocks[0].name, "x y");
  EXPECT_EQ(file.problem.blocks[0].bytes, 64U);
  EXPECT_EQ(file.problem.blocks[0].alignment, 32U);
  EXPECT_EQ(file.problem.blocks[1].bytes, 0U);
  EXPECT_EQ(file.problem.interference.lifetimes()[0], (Lifetime{-3, 7}));
  EXPECT_EQ(file.offsets, (std::vector<std::uint64_t>{128, 0}));
}

TEST(Minimalloc, ReadsTheInstances) {
  const MinimallocFile file = read_minimalloc(test::minimalloc_text("A.1048576.csv"));
  ASSERT_EQ(file.problem.blocks.size(), 154U);
  EXPECT_EQ(file.problem.blocks[0].bytes, 656384U);
  EXPECT_EQ(file.problem.interference.lifetimes()[1], (Lifetime{779264, 828416}));
  EXPECT_TRUE(file.offsets.empty());
  EXPECT_EQ(write_minimalloc(file.problem), test::minimalloc_text("A.1048576.csv"));
}

TEST(Minimalloc, WritesWhatItReads) {
  const std::string text = "id,lower,upper,size,alignment,offset\nx,0,5,64,16,0\n1,-2,3,7,1,64\n";
  const MinimallocFile file = read_minimalloc(text);
  const MemoryPlan plan = {.offsets = file.offsets, .planner = {}};
  EXPECT_EQ(write_minimalloc(file.problem, &plan), text);
}

TEST(Minimalloc, NamesLineAndColumnOfWhatIsWrong) {
  EXPECT_EQ(refusal(""),
            "minimalloc: line 1, column 1: expected the names of columns: "
            "id,lower,upper,size");
  EXPECT_EQ(refusal("id,lower,upper,size\na,0,1,x9\n"),
            "minimalloc: line 2, column 7: size is 'x9', expected an integer");
  EXPECT_EQ(refusal("id,lower,upper,size\na,0,1, -1\n"),
            "minimalloc: line 2, column 8: size is '-1', expected an integer");
  EXPECT_EQ(refusal("id,lower,upper,size\na,0,1,18446744073709551616\n"),
            "minimalloc: line 2, column 7: size is '18446744073709551616', which is out of range");
  EXPECT_EQ(refusal("id,lower,upper,size\na,9223372036854775808,1,1\n"),
            "minimalloc: line 2, column 3: lower is '9223372036854775808', which is out of range");
  EXPECT_EQ(refusal("id,lower,upper,size\n\na,0,1\n"),
            "minimalloc: line 3, column 5: 3 fields, expected 4");
  EXPECT_EQ(refusal("id,lower,upper,size\na,0,1,1,1\n"),
            "minimalloc: line 2, column 9: 5 fields, expected 4");
  EXPECT_EQ(refusal("id,lower,upper,size\na,3,3,1\n"),
            "minimalloc: line 2, column 5: upper is 3, expected above lower 3");
  EXPECT_EQ(refusal("id,lower,upper,size,alignment\na,0,1,1,12\n"),
            "minimalloc: line 2, column 9: alignment is 12, expected a power of two");
}

TEST(Minimalloc, RefusesColumns) {
  EXPECT_EQ(refusal("id,lower,upper\n"), "minimalloc: line 1, column 10: column 'size' is lacking");
  EXPECT_EQ(refusal("id,lower,upper,size,lower\n"),
            "minimalloc: line 1, column 21: column 'lower' is there twice");
  EXPECT_EQ(refusal("id,lower,upper,size,hue\x01\n"),
            "minimalloc: line 1, column 21: column 'hue?' is unknown, expected id, lower, upper, "
            "size, alignment or offset");
}

TEST(Minimalloc, RefusesToWriteWhatWouldNotBeReadBack) {
  MemoryProblem problem = test::timed_problem({{0, 1, 4}});
  for (const char* name : {"a,b", "a\nb", " a", "a\r"}) {
    problem.blocks[0].name = name;
    EXPECT_THROW(write_minimalloc(problem), Error) << name;
  }
  EXPECT_THROW(write_minimalloc(test::as_pairs(test::timed_problem({{0, 1, 4}}))), Error);
  const MemoryPlan plan;
  problem.blocks[0].name = "";
  EXPECT_THROW(write_minimalloc(problem, &plan), Error);
}

}  // namespace
}  // namespace mote
