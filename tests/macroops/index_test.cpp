// SPDX-License-Identifier: Apache-2.0
// Tests ops that read at an index or keep a part by position: negative and out-of-range indices.
#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

TEST(Gather, TakesRowsOfTheMiddleAxis) {
  const Array x = f64({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(run("gather", {x, i64({2}, {2, 0})}), f64({2, 2, 2}, {5, 6, 1, 2, 11, 12, 7, 8}));
  EXPECT_EQ(run("gather", {x, i64({0}, {})}), f64({2, 0, 2}, {}));
  EXPECT_EQ(run("gather", {boolean({1, 2, 1}, {0, 1}), i64({1}, {1})}), boolean({1, 1, 1}, {1}));
}

TEST(Gather, NegativeCountsFromTheEndAndOutOfRangeGivesZero) {
  const Array x = i32({1, 3, 1}, {7, 8, 9});
  EXPECT_EQ(run("gather", {x, i64({5}, {-1, -3, -4, 3, 100})}), i32({1, 5, 1}, {9, 7, 0, 0, 0}));
}

TEST(GatherElements, EachElementHasItsOwnIndex) {
  const Array x = f64({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run("gather_elements", {x, i64({1, 2, 2}, {2, 0, -3, -1})}),
            f64({1, 2, 2}, {5, 2, 1, 6}));
  EXPECT_EQ(run("gather_elements", {x, i64({1, 1, 2}, {3, -4})}), f64({1, 1, 2}, {0, 0}));
  EXPECT_THROW(run("gather_elements", {x, i64({1, 1, 3}, {0, 0, 0})}), Error);
}

TEST(Embedding, TakesRowsOfTheTable) {
  const Array weight = f64({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run("embedding", {weight, i64({4}, {1, 1, -1, 3})}),
            f64({4, 2}, {3, 4, 3, 4, 5, 6, 0, 0}));
}

TEST(OneHot, MarksTheIndex) {
  const Array index = i64({1, 4}, {1, -1, 3, 0}), values = f64({2}, {0, 1});
  EXPECT_EQ(run_all("one_hot", DType::f64, {index, values}, {{"depth", 3}}).at(0),
            f64({1, 3, 4}, {0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(
      run_all("one_hot", DType::i32, {i64({1, 1}, {1}), i32({2}, {-5, 9})}, {{"depth", 2}}).at(0),
      i32({1, 2, 1}, {-5, 9}));
  EXPECT_THROW(run_all("one_hot", DType::f64, {index, values}), Error);
}

TEST(Triangle, KeepsOneSideOfADiagonal) {
  const Array x = i64({1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(run("tril", {x}), i64({1, 3, 3}, {1, 0, 0, 4, 5, 0, 7, 8, 9}));
  EXPECT_EQ(run("triu", {x}), i64({1, 3, 3}, {1, 2, 3, 0, 5, 6, 0, 0, 9}));
  EXPECT_EQ(run("tril", {x}, {{"diagonal", 1}}), i64({1, 3, 3}, {1, 2, 0, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(run("tril", {x}, {{"diagonal", -1}}), i64({1, 3, 3}, {0, 0, 0, 4, 0, 0, 7, 8, 0}));
  EXPECT_EQ(run("triu", {x}, {{"diagonal", 2}}), i64({1, 3, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(run("triu", {x}, {{"diagonal", -9}}), x);
  EXPECT_EQ(run("tril", {f64({1, 1, 2}, {kNan, kNan})}), f64({1, 1, 2}, {kNan, 0}));
  EXPECT_EQ(run("tril", {boolean({1, 1, 2}, {1, 1})}), boolean({1, 1, 2}, {1, 0}));
}

}  // namespace
}  // namespace mote
