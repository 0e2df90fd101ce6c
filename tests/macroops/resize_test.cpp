// SPDX-License-Identifier: Apache-2.0
// Tests images of another size: the pixels that are taken, and their weights.
#include <gtest/gtest.h>

#include "run.h"

namespace mote {
namespace {

Params to(std::int64_t rows, std::int64_t columns) {
  return {{"output0", rows}, {"output1", columns}};
}

TEST(ResizeNearest2d, TakesTheLaterOfTwo) {
  const Array x = row({0, 1, 2, 3});
  EXPECT_EQ(run("resize_nearest2d", {x}, to(1, 2)), row({1, 3}));
  EXPECT_EQ(run("resize_nearest2d", {x}, to(1, 3)), row({0, 2, 3}));
  EXPECT_EQ(run("resize_nearest2d", {x}, to(1, 8)), row({0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(ResizeNearest2d, FromEdgesItTakesThePixelBefore) {
  Params params = to(1, 3);
  params["half_pixel"] = 0;
  EXPECT_EQ(run("resize_nearest2d", {row({0, 1, 2, 3})}, params), row({0, 1, 2}));
}

/// The positions are -1/4, 1/4, 3/4, 5/4 of two pixels: the end pixels repeat.
TEST(ResizeLinear2d, WeighsTheTwoPixelsBesideAPosition) {
  EXPECT_EQ(run("resize_linear2d", {row({8, 16})}, to(1, 4)), row({8, 10, 14, 16}));
  EXPECT_EQ(run("resize_linear2d", {f64({1, 1, 2, 2}, {0, 16, 32, 48})}, to(1, 1)),
            f64({1, 1, 1, 1}, {24}));
}

TEST(ResizeLinear2d, KeepsAnImageOfTheSameSize) {
  const Array x = f64({1, 2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(run("resize_linear2d", {x}, to(2, 3)), x);
  EXPECT_EQ(run("resize_linear2d_align_corners", {x}, to(2, 3)), x);
}

TEST(ResizeLinear2dAlignCorners, LaysCornersOnEachOther) {
  EXPECT_EQ(run("resize_linear2d_align_corners", {row({0, 8})}, to(1, 5)), row({0, 2, 4, 6, 8}));
  EXPECT_EQ(run("resize_linear2d_align_corners", {row({4, 8})}, to(2, 1)),
            f64({1, 1, 2, 1}, {4, 4}));
}

/// A pixel of weight 0 is multiplied too, so that an infinity there gives NaN.
TEST(ResizeLinear2d, APixelOfWeightZeroCounts) {
  const double y = at(run("resize_linear2d", {row({1, kInf})}, to(1, 2)), {0, 0, 0, 0});
  EXPECT_NE(y, y);
}

}  // namespace
}  // namespace mote
