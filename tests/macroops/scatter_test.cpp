// SPDX-License-Identifier: Apache-2.0
// Tests ops that write at an index: each combining operation, equal indices, indices out of range
// or from the end, index tensors smaller than x, unpooling.
#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

Array as(DType dtype, const Array& x) {
  Array y{dtype, x.shape, {}};
  for (const Number& n : x.values) y.values.push_back(store_as(n, dtype));
  return y;
}

TEST(ScatterElements, JoinsByItsName) {
  const Array x = f64({1, 3, 1}, {10, 20, 30});
  const Array index = i64({1, 3, 1}, {2, 0, 2}), updates = f64({1, 3, 1}, {4, 50, 0.5});
  const auto of = [&](const char* suffix) {
    return run(std::string("scatter_elements") + suffix, {x, index, updates});
  };
  EXPECT_EQ(of(""), f64({1, 3, 1}, {50, 20, 0.5}));
  EXPECT_EQ(of("_add"), f64({1, 3, 1}, {60, 20, 34.5}));
  EXPECT_EQ(of("_mul"), f64({1, 3, 1}, {500, 20, 60}));
  EXPECT_EQ(of("_max"), f64({1, 3, 1}, {50, 20, 30}));
  EXPECT_EQ(of("_min"), f64({1, 3, 1}, {10, 20, 0.5}));
}

TEST(ScatterElements, EachElementHasItsOwnIndex) {
  const Array x = i32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Array index = i64({2, 1, 2}, {0, 1, 1, 0});
  EXPECT_EQ(run("scatter_elements", {x, index, i32({2, 1, 2}, {-1, -2, -3, -4})}),
            i32({2, 2, 2}, {-1, 2, 3, -2, 5, -4, -3, 8}));
}

TEST(ScatterElements, NegativeCountsFromTheEndAndOutOfRangeWritesNothing) {
  const Array x = f64({1, 3, 1}, {1, 2, 3}), updates = f64({1, 5, 1}, {10, 20, 30, 40, 50});
  EXPECT_EQ(run("scatter_elements_add", {x, i64({1, 5, 1}, {-1, -3, -4, 3, 100}), updates}),
            f64({1, 3, 1}, {21, 2, 13}));
}

TEST(ScatterElements, AnIndexSmallerThanXOnOtherAxesLeavesTheRest) {
  const Array x = f64({2, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const Array y = run("scatter_elements", {x, i64({1, 1, 2}, {1, -1}), f64({1, 1, 2}, {5, 6})});
  EXPECT_EQ(y, f64({2, 2, 3}, {0, 0, 0, 5, 6, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(run("scatter_elements", {x, i64({0, 1, 0}, {}), f64({0, 1, 0}, {})}), x);
}

TEST(ScatterElements, AnIndexLargerThanXWritesNothingBeyond) {
  EXPECT_EQ(run("scatter_elements", {f64({1, 2, 1}, {1, 2}), i64({2, 1, 2}, {0, 0, 0, 0}),
                                     f64({2, 1, 2}, {7, 8, 9, 9})}),
            f64({1, 2, 1}, {7, 2}));
}

TEST(ScatterElements, ASumIsRoundedOnce) {
  // In f32 2^24 + 1 is 2^24, in f16 2048 + 1 is 2048.
  const Array index = i64({1, 2, 1}, {0, 0});
  EXPECT_EQ(run("scatter_elements_add", {f32({1, 1, 1}, {0x1p24}), index, f32({1, 2, 1}, {1, 1})}),
            f32({1, 1, 1}, {0x1p24 + 2}));
  EXPECT_EQ(run("scatter_elements_add", {tensor(DType::f16, {1, 1, 1}, {2048}), index,
                                         tensor(DType::f16, {1, 2, 1}, {1, 1})}),
            tensor(DType::f16, {1, 1, 1}, {2050}));
}

TEST(ScatterElements, IntegersWrapWhenStored) {
  const Array index = i64({1, 3, 1}, {0, 0, 0});
  const auto of = [&](DType t) {
    return run("scatter_elements_add",
               {as(t, i64({1, 1, 1}, {100})), index, as(t, i64({1, 3, 1}, {100, 100, 1}))});
  };
  EXPECT_EQ(of(DType::i8), tensor(DType::i8, {1, 1, 1}, {301 - 256}));
  EXPECT_EQ(of(DType::u8), tensor(DType::u8, {1, 1, 1}, {301 - 256}));
  EXPECT_EQ(of(DType::i32), i32({1, 1, 1}, {301}));
}

TEST(ScatterElements, NanPropagatesInMaxAndMin) {
  const Array index = i64({1, 2, 1}, {0, 0});
  for (const char* op : {"scatter_elements_max", "scatter_elements_min"}) {
    EXPECT_EQ(run(op, {f64({1, 1, 1}, {1}), index, f64({1, 2, 1}, {kNan, 2})}),
              f64({1, 1, 1}, {kNan}));
  }
}

TEST(ScatterElements, BoolsAreSetOrCombinedByMaxAndMin) {
  const Array x = boolean({1, 2, 1}, {0, 1}), index = i64({1, 2, 1}, {0, 1});
  const Array updates = boolean({1, 2, 1}, {1, 0});
  EXPECT_EQ(run("scatter_elements", {x, index, updates}), boolean({1, 2, 1}, {1, 0}));
  EXPECT_EQ(run("scatter_elements_max", {x, index, updates}), boolean({1, 2, 1}, {1, 1}));
  EXPECT_EQ(run("scatter_elements_min", {x, index, updates}), boolean({1, 2, 1}, {0, 0}));
}

TEST(ScatterElements, ShapesOfIndexAndUpdatesMustAgree) {
  EXPECT_THROW(run("scatter_elements",
                   {f64({1, 2, 1}, {1, 2}), i64({1, 1, 1}, {0}), f64({1, 2, 1}, {1, 2})}),
               Error);
}

TEST(IndexAdd, AddsRows) {
  const Array x = f64({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  const Array updates = f64({1, 4, 2}, {10, 20, 30, 40, 50, 60, 70, 80});
  EXPECT_EQ(run("index_add", {x, i64({4}, {2, 0, -1, 3}), updates}),
            f64({1, 3, 2}, {31, 42, 3, 4, 65, 86}));
}

TEST(IndexAdd, ScalesBeforeItAdds) {
  const std::vector<Array> in = {f64({1, 3, 2}, {1, 2, 3, 4, 5, 6}), i64({3}, {2, -3, 2}),
                                 f64({1, 3, 2}, {10, 20, 30, 40, 50, 60})};
  EXPECT_EQ(run("index_add", in, {{"alpha", -0.5}}), f64({1, 3, 2}, {-14, -18, 3, 4, -25, -34}));
}

TEST(IndexAdd, IsTheGradientOfEmbedding) {
  // Equal indices accumulate.
  const Array zero = f64({1, 2, 1}, {0, 0});
  EXPECT_EQ(run("index_add", {zero, i64({3}, {1, 1, 0}), f64({1, 3, 1}, {1, 2, 4})}),
            f64({1, 2, 1}, {4, 3}));
}

TEST(ScatterNd, CountsItsColumnsFromTheLastIndexedAxis) {
  // One column indexes rows of x[1, 1, 4, 2], two columns those of x[1, 2, 2, 2], three those of
  // x[2, 1, 2, 2].
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8};
  const Array updates = f64({2, 2}, {-1, -2, -3, -4});
  EXPECT_EQ(run("scatter_nd", {f64({1, 1, 4, 2}, values), i64({2, 1}, {3, 1}), updates}),
            f64({1, 1, 4, 2}, {1, 2, -3, -4, 5, 6, -1, -2}));
  EXPECT_EQ(run("scatter_nd", {f64({1, 2, 2, 2}, values), i64({2, 2}, {1, 0, 0, 1}), updates}),
            f64({1, 2, 2, 2}, {1, 2, -3, -4, -1, -2, 7, 8}));
  EXPECT_EQ(
      run("scatter_nd", {f64({2, 1, 2, 2}, values), i64({2, 3}, {1, 0, 1, 0, 0, 0}), updates}),
      f64({2, 1, 2, 2}, {-3, -4, 3, 4, 5, 6, -1, -2}));
}

TEST(ScatterNd, JoinsByItsNameAndNegativeCountsFromTheEnd) {
  const Array x = f64({1, 2, 2, 1}, {1, 2, 3, 4});
  const Array index = i64({3, 2}, {-1, -1, 1, 1, -2, 0}), updates = f64({3, 1}, {10, 20, 0.5});
  const auto of = [&](const char* suffix) {
    return run(std::string("scatter_nd") + suffix, {x, index, updates});
  };
  EXPECT_EQ(of(""), f64({1, 2, 2, 1}, {0.5, 2, 3, 20}));
  EXPECT_EQ(of("_add"), f64({1, 2, 2, 1}, {1.5, 2, 3, 34}));
  EXPECT_EQ(of("_mul"), f64({1, 2, 2, 1}, {0.5, 2, 3, 800}));
  EXPECT_EQ(of("_max"), f64({1, 2, 2, 1}, {1, 2, 3, 20}));
  EXPECT_EQ(of("_min"), f64({1, 2, 2, 1}, {0.5, 2, 3, 4}));
}

TEST(ScatterNd, OutOfRangeOnOneAxisWritesNothing) {
  // As one linear index, (0, 2) would be (1, 0), and (1, -3) would be (0, 1).
  const Array x = f64({1, 2, 2, 1}, {1, 2, 3, 4});
  EXPECT_EQ(run("scatter_nd", {x, i64({3, 2}, {0, 2, 1, -3, 2, 0}), f64({3, 1}, {7, 8, 9})}), x);
}

TEST(MaxUnpool, PutsMaximaBackWhereTheyWere) {
  const Array x = f64({1, 2, 2, 3}, {1, 5, 2, 4, 3, 6, -1, -5, -2, -4, -3, -6});
  const std::vector<Array> pooled =
      run_all("max_pool2d_with_indices", DType::f64, {x}, {{"kernel0", 2}, {"kernel1", 1}});
  EXPECT_EQ(pooled.at(0), f64({1, 2, 1, 3}, {4, 5, 6, -1, -3, -2}));
  EXPECT_EQ(run("max_unpool2d", pooled, {{"output0", 2}, {"output1", 3}}),
            f64({1, 2, 2, 3}, {0, 5, 0, 4, 0, 6, -1, 0, -2, 0, -3, 0}));
}

TEST(MaxUnpool, OutOfRangeWritesNothingAndTheLastOfEqualIndicesStays) {
  EXPECT_EQ(run("max_unpool2d", {i32({1, 1, 1, 4}, {1, 2, 3, 4}), i64({1, 1, 1, 4}, {-1, 2, 2, 4})},
                {{"output0", 2}, {"output1", 2}}),
            i32({1, 1, 2, 2}, {0, 0, 3, 0}));
}

}  // namespace
}  // namespace mote
