// Ops that write where an index says: negative, repeated and out-of-range indices.
#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

TEST(ScatterElements, EachElementHasItsOwnIndex) {
  const Array x = f64({1, 3, 2}, {10, 20, 30, 40, 50, 60});
  const std::vector<Array> in = {x, i64({1, 2, 2}, {2, 0, -3, -1}), f64({1, 2, 2}, {1, 2, 3, 4})};
  EXPECT_EQ(run("scatter_elements", in), f64({1, 3, 2}, {3, 2, 30, 40, 1, 4}));
  EXPECT_EQ(run("scatter_elements_add", in), f64({1, 3, 2}, {13, 22, 30, 40, 51, 64}));
  EXPECT_EQ(run("scatter_elements_mul", in), f64({1, 3, 2}, {30, 40, 30, 40, 50, 240}));
  EXPECT_EQ(run("scatter_elements_max", in), x);
  EXPECT_EQ(run("scatter_elements_min", in), f64({1, 3, 2}, {3, 2, 30, 40, 1, 4}));
}

TEST(ScatterElements, OutOfRangeIsDroppedAndTheLastOfDuplicatesStays) {
  const std::vector<Array> in = {i32({1, 2, 1}, {7, 8}), i64({1, 5, 1}, {1, 2, -3, 1, 0}),
                                 i32({1, 5, 1}, {1, 2, 4, 8, 16})};
  EXPECT_EQ(run("scatter_elements", in), i32({1, 2, 1}, {16, 8}));
  EXPECT_EQ(run("scatter_elements_add", in), i32({1, 2, 1}, {23, 17}));
}

TEST(ScatterElements, KeepsTheOtherAxesApart) {
  const std::vector<Array> in = {f64({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                                 i64({2, 1, 2}, {0, 1, 1, 0}), f64({2, 1, 2}, {10, 20, 30, 40})};
  EXPECT_EQ(run("scatter_elements_add", in), f64({2, 2, 2}, {11, 2, 3, 24, 5, 46, 37, 8}));
  EXPECT_THROW(run("scatter_elements", {in[0], in[1], f64({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}),
               Error);
}

TEST(ScatterElements, NanPropagatesAndBoolsAreSet) {
  const Array at0 = i64({1, 1, 1}, {0});
  EXPECT_EQ(run("scatter_elements_max", {f64({1, 1, 1}, {3}), at0, f64({1, 1, 1}, {kNan})}),
            f64({1, 1, 1}, {kNan}));
  EXPECT_EQ(run("scatter_elements", {boolean({1, 2, 1}, {0, 0}), at0, boolean({1, 1, 1}, {1})}),
            boolean({1, 2, 1}, {1, 0}));
}

TEST(ScatterElements, ASumIsRoundedOnce) {
  // As f16, 2048 + 1 + 1 would stay 2048.
  const std::vector<Array> in = {tensor(DType::f16, {1, 1, 1}, {2048}), i64({1, 2, 1}, {0, 0}),
                                 tensor(DType::f16, {1, 2, 1}, {1, 1})};
  EXPECT_EQ(run("scatter_elements_add", in), tensor(DType::f16, {1, 1, 1}, {2050}));
}

TEST(IndexAdd, AddsRowsWithDuplicates) {
  const std::vector<Array> in = {f64({1, 3, 2}, {1, 2, 3, 4, 5, 6}), i64({3}, {2, -3, 2}),
                                 f64({1, 3, 2}, {10, 20, 30, 40, 50, 60})};
  EXPECT_EQ(run("index_add", in), f64({1, 3, 2}, {31, 42, 3, 4, 65, 86}));
  EXPECT_EQ(run("index_add", in, {{"alpha", -0.5}}), f64({1, 3, 2}, {-14, -18, 3, 4, -25, -34}));
  EXPECT_EQ(run("index_add", {in[0], i64({3}, {3, -4, 9}), in[2]}), in[0]);
}

}  // namespace
}  // namespace mote
