// Pooling: windows, padding, dilation, ties, NaN, integers, divisors.
#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

TEST(MaxPool2d, TakesTheGreatestOfEachWindow) {
  const Array x = f64({1, 1, 3, 4}, {1, 2, 3, 4, 5, 0, 7, 8, 9, 1, 2, 3});
  EXPECT_EQ(run("max_pool2d", {x}, {{"kernel0", 2}, {"kernel1", 2}}),
            f64({1, 1, 2, 3}, {5, 7, 8, 9, 7, 8}));
  EXPECT_EQ(
      run("max_pool2d", {x}, {{"kernel0", 2}, {"kernel1", 2}, {"stride0", 2}, {"stride1", 2}}),
      f64({1, 1, 1, 2}, {5, 8}));
  EXPECT_EQ(
      run("max_pool2d", {x}, {{"kernel0", 2}, {"kernel1", 2}, {"dilation0", 2}, {"dilation1", 3}}),
      f64({1, 1, 1, 1}, {9}));
}

TEST(MaxPool2d, EachChannelAndImageIsItsOwn) {
  const Array x = f64({2, 2, 1, 2}, {1, 2, 3, 4, 8, 7, 6, 5});
  EXPECT_EQ(run("max_pool2d", {x}, {{"kernel0", 1}, {"kernel1", 2}}),
            f64({2, 2, 1, 1}, {2, 4, 8, 6}));
}

TEST(MaxPool2d, PadsWithMinusInfinityOnEachSideByItself) {
  const Array x = f64({1, 1, 1, 2}, {-5, -3});
  const Params right = {{"kernel0", 1}, {"kernel1", 2}, {"pads3", 2}};
  EXPECT_EQ(run("max_pool2d", {x}, right), f64({1, 1, 1, 3}, {-3, -3, -kInf}));
  const Params left = {{"kernel0", 1}, {"kernel1", 2}, {"pads1", 1}};
  EXPECT_EQ(run("max_pool2d", {x}, left), f64({1, 1, 1, 2}, {-5, -3}));
  const Params top = {{"kernel0", 2}, {"kernel1", 2}, {"pads0", 1}};
  EXPECT_EQ(run("max_pool2d", {x}, top), f64({1, 1, 1, 1}, {-3}));
  const Params bottom = {{"kernel0", 1}, {"kernel1", 2}, {"pads2", 1}};
  EXPECT_EQ(run("max_pool2d", {x}, bottom), f64({1, 1, 2, 1}, {-3, -kInf}));
}

TEST(MaxPool2d, NanPropagates) {
  const Array x = f64({1, 1, 1, 3}, {1, kNan, 2});
  EXPECT_EQ(run("max_pool2d", {x}, {{"kernel0", 1}, {"kernel1", 2}}),
            f64({1, 1, 1, 2}, {kNan, kNan}));
}

TEST(MaxPool2d, IntegersPadWithTheirLeastValue) {
  const Params params = {{"kernel0", 1}, {"kernel1", 1}, {"pads1", 1}};
  EXPECT_EQ(run("max_pool2d", {i32({1, 1, 1, 1}, {-7})}, params),
            i32({1, 1, 1, 2}, {std::numeric_limits<std::int32_t>::min(), -7}));
  EXPECT_EQ(run("max_pool2d", {i64({1, 1, 1, 1}, {-7})}, params),
            i64({1, 1, 1, 2}, {std::numeric_limits<std::int64_t>::min(), -7}));
}

TEST(MaxPool2dWithIndices, GivesThePositionInTheWholeTensor) {
  const Array x = f64({1, 2, 2, 3}, {1, 5, 2, 3, 4, 0, 9, 8, 7, 6, 5, 4});
  const auto out =
      run_all("max_pool2d_with_indices", DType::f64, {x}, {{"kernel0", 2}, {"kernel1", 2}});
  EXPECT_EQ(out.at(0), f64({1, 2, 1, 2}, {5, 5, 9, 8}));
  EXPECT_EQ(out.at(1), i64({1, 2, 1, 2}, {1, 1, 6, 7}));
}

TEST(MaxPool2dWithIndices, TheFirstWinsAndPaddingNever) {
  const Params window = {{"kernel0", 1}, {"kernel1", 2}, {"pads1", 1}, {"pads3", 2}};
  const auto indices = [&](const std::vector<double>& x) {
    return run_all("max_pool2d_with_indices", DType::f64, {f64({1, 1, 1, std::ssize(x)}, x)},
                   window)
        .at(1);
  };
  EXPECT_EQ(indices({4, 4}), i64({1, 1, 1, 4}, {0, 0, 1, -1}));
  EXPECT_EQ(indices({-kInf, -kInf}), i64({1, 1, 1, 4}, {0, 0, 1, -1}));
  EXPECT_EQ(indices({kNan, 1}), i64({1, 1, 1, 4}, {0, 0, 1, -1}));
  EXPECT_EQ(indices({1, kNan}), i64({1, 1, 1, 4}, {0, 1, 1, -1}));
  EXPECT_EQ(run_all("max_pool2d_with_indices", DType::i32,
                    {i32({1, 1, 1, 1}, {std::numeric_limits<std::int32_t>::min()})}, window)
                .at(1),
            i64({1, 1, 1, 3}, {0, 0, -1}));
}

TEST(AvgPool2d, DividesByTheTapsThatCount) {
  const Array x = f64({1, 1, 2, 2}, {4, 8, 12, 16});
  const Params window = {{"kernel0", 2}, {"kernel1", 2}, {"pads0", 1}, {"pads3", 1}};
  EXPECT_EQ(run("avg_pool2d", {x}, window), f64({1, 1, 2, 2}, {6, 8, 10, 12}));
  Params padded = window;
  padded["count_include_pad"] = 1;
  EXPECT_EQ(run("avg_pool2d", {x}, padded), f64({1, 1, 2, 2}, {3, 2, 10, 6}));
}

TEST(AvgPool2d, StridesDilationAndWindowsOfPaddingOnly) {
  const Array x = f64({1, 1, 1, 5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(
      run("avg_pool2d", {x}, {{"kernel0", 1}, {"kernel1", 2}, {"dilation1", 2}, {"stride1", 2}}),
      f64({1, 1, 1, 2}, {2, 4}));
  const Params outside = {{"kernel0", 1}, {"kernel1", 1}, {"pads3", 1}, {"stride1", 5}};
  EXPECT_EQ(run("avg_pool2d", {x}, outside), f64({1, 1, 1, 2}, {1, kNan}));
  Params padded = outside;
  padded["count_include_pad"] = 1;
  EXPECT_EQ(run("avg_pool2d", {x}, padded), f64({1, 1, 1, 2}, {1, 0}));
}

TEST(GlobalPool, RunsOverTheImage) {
  const Array x = f64({1, 2, 2, 2}, {1, 2, 3, 6, -1, -2, -3, -6});
  EXPECT_EQ(run("global_avg_pool", {x}), f64({1, 2, 1, 1}, {3, -3}));
  EXPECT_EQ(run("global_max_pool", {x}), f64({1, 2, 1, 1}, {6, -1}));
  EXPECT_EQ(run("global_max_pool", {i32({1, 1, 1, 2}, {3, 5})}), i32({1, 1, 1, 1}, {5}));
  const Array none = f64({1, 1, 0, 2}, {});
  EXPECT_EQ(run("global_avg_pool", {none}), f64({1, 1, 1, 1}, {kNan}));
  EXPECT_EQ(run("global_max_pool", {none}), f64({1, 1, 1, 1}, {-kInf}));
}

TEST(AdaptiveAvgPool2d, WindowsOverlapWhereSizesDoNotDivide) {
  const Array x = f64({1, 1, 1, 5}, {1, 2, 3, 4, 9});
  const auto pool = [&](int columns) {
    return run("adaptive_avg_pool2d", {x}, {{"output0", 1}, {"output1", columns}});
  };
  EXPECT_EQ(pool(1), f64({1, 1, 1, 1}, {19.0 / 5}));
  EXPECT_EQ(pool(2), f64({1, 1, 1, 2}, {2, 16.0 / 3}));
  EXPECT_EQ(pool(3), f64({1, 1, 1, 3}, {1.5, 3, 6.5}));
  EXPECT_EQ(pool(5), x);
  EXPECT_EQ(pool(10), f64({1, 1, 1, 10}, {1, 1, 2, 2, 3, 3, 4, 4, 9, 9}));
  const Array tall = f64({1, 1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(run("adaptive_avg_pool2d", {tall}, {{"output0", 2}, {"output1", 1}}),
            f64({1, 1, 2, 1}, {2.5, 6.5}));
}

TEST(MaxPool2d, TheWindowMustBeGiven) {
  EXPECT_THROW(run("max_pool2d", {f64({1, 1, 1, 1}, {1})}, {{"kernel0", 1}}), Error);
  EXPECT_THROW(run("max_pool2d", {f64({1, 1, 1, 1}, {1})}, {{"kernel0", 1}, {"kernel1", 0}}),
               Error);
}

}  // namespace
}  // namespace mote
