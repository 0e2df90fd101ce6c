// max_pool2d: windows, padding, dilation, NaN, integers.
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

TEST(MaxPool2d, TheWindowMustBeGiven) {
  EXPECT_THROW(run("max_pool2d", {f64({1, 1, 1, 1}, {1})}, {{"kernel0", 1}}), Error);
  EXPECT_THROW(run("max_pool2d", {f64({1, 1, 1, 1}, {1})}, {{"kernel0", 1}, {"kernel1", 0}}),
               Error);
}

}  // namespace
}  // namespace mote
