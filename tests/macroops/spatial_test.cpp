// SPDX-License-Identifier: Apache-2.0
// Tests pooling: windows, padding, dilation, ties, NaN, integers, divisors.
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

/// Computes one row of avg_pool2d as PyTorch's kernel does: the last window of ceil_mode must start
/// in x or the padding before it, and a window's ends are cut to the padded row before its elements
/// are counted.
struct RowPool {
  std::int64_t kernel, stride, dilation, before, after;
  bool ceil_mode, count_include_pad;

  std::int64_t outputs(std::int64_t width) const {
    const std::int64_t left = width + before + after - dilation * (kernel - 1) - 1;
    if (left < 0) return 0;
    std::int64_t n = left / stride + 1;
    if (ceil_mode && left % stride != 0 && n * stride < width + before) ++n;
    return n;
  }
  double average(const std::vector<double>& x, std::int64_t o) const {
    const std::int64_t width = std::ssize(x);
    double sum = 0, count = 0;
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t at = o * stride - before + k * dilation;
      const bool inside = at >= 0 && at < width;
      if (inside) sum += x[static_cast<std::size_t>(at)];
      if (inside || (count_include_pad && at < width + after)) ++count;
    }
    return sum / count;
  }
  Params params() const {
    return {{"kernel0", 1},
            {"kernel1", kernel},
            {"stride1", stride},
            {"pads1", before},
            {"dilation1", dilation},
            {"pads3", after},
            {"ceil_mode", std::int64_t{ceil_mode}},
            {"count_include_pad", std::int64_t{count_include_pad}}};
  }
};

TEST(AvgPool2d, CountsAsPyTorchDoesWhateverTheWindow) {
  const std::vector<double> all = {1, 10, 100, 1000, 1e4, 1e5, 1e6};
  int rows = 0, overhangs = 0;
  for (std::int64_t code = 0; code < std::int64_t{7} * 3 * 3 * 2 * 2 * 2 * 4; ++code) {
    std::int64_t rest = code;
    const auto take = [&rest](std::int64_t n) {
      const std::int64_t digit = rest % n;
      rest /= n;
      return digit;
    };
    const std::vector<double> x(all.begin(), all.begin() + 1 + take(7));
    RowPool p{1 + take(3), 1 + take(3), 1 + take(2), 0, 0, false, false};
    p.before = std::min(take(2), p.kernel / 2);
    p.after = std::min(take(2), p.kernel / 2);
    p.ceil_mode = take(2) != 0;
    p.count_include_pad = take(2) != 0;
    const std::int64_t n = p.outputs(std::ssize(x));
    if (n == 0) continue;
    std::vector<double> want;
    for (std::int64_t o = 0; o < n; ++o) want.push_back(p.average(x, o));
    EXPECT_EQ(run("avg_pool2d", {f64({1, 1, 1, std::ssize(x)}, x)}, p.params()),
              f64({1, 1, 1, n}, want))
        << code;
    ++rows;
    const std::int64_t end = (n - 1) * p.stride - p.before + (p.kernel - 1) * p.dilation + 1;
    overhangs += end > std::ssize(x) + p.after ? 1 : 0;
  }
  EXPECT_GT(rows, 1000);
  EXPECT_GT(overhangs, 50);
}

TEST(AvgPool2d, TheDivisorAtACeilOverhang) {
  // The windows are {0}, {1, 2}, {3 and a pad}; the last is one column too long.
  const Array x = f64({1, 1, 1, 4}, {2, 4, 8, 6});
  Params window = {{"kernel0", 1}, {"kernel1", 3}, {"stride1", 2}, {"pads1", 1}, {"pads3", 1}};
  EXPECT_EQ(run("avg_pool2d", {x}, window), f64({1, 1, 1, 2}, {3, 6}));
  window["ceil_mode"] = 1;
  EXPECT_EQ(run("avg_pool2d", {x}, window), f64({1, 1, 1, 3}, {3, 6, 6}));
  window["count_include_pad"] = 1;
  EXPECT_EQ(run("avg_pool2d", {x}, window), f64({1, 1, 1, 3}, {2, 6, 3}));
}

TEST(MaxPool2d, CeilModeRoundsUpButNoWindowStartsAfterTheImage) {
  const Array x = f64({1, 1, 1, 5}, {1, 2, 3, 4, 5});
  const Params up = {{"kernel0", 1}, {"kernel1", 2}, {"stride1", 2}, {"ceil_mode", 1}};
  EXPECT_EQ(run("max_pool2d", {x}, up), f64({1, 1, 1, 3}, {2, 4, 5}));
  const Array even = f64({1, 1, 1, 4}, {1, 2, 3, 4});
  EXPECT_EQ(run("max_pool2d", {even}, up), f64({1, 1, 1, 2}, {2, 4}));
  Params padded = up;
  padded["pads3"] = 1;
  EXPECT_EQ(run("max_pool2d", {even}, padded), f64({1, 1, 1, 2}, {2, 4}));
  const auto out = run_all("max_pool2d_with_indices", DType::f64, {x}, up);
  EXPECT_EQ(out.at(1), i64({1, 1, 1, 3}, {1, 3, 4}));
}

TEST(Pool3d, RunsOverThePlanesToo) {
  const Array x = integers(DType::f64, {2, 2, 3, 4, 5}, 7);
  const Params window = {{"kernel0", 2}, {"kernel1", 3}, {"kernel2", 2},  {"stride0", 2},
                         {"pads0", 1},   {"pads5", 1},   {"dilation2", 2}};
  std::vector<double> greatest, average;
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t c = 0; c < 2; ++c)
      for (std::int64_t od = 0; od < 2; ++od)
        for (std::int64_t oh = 0; oh < 2; ++oh)
          for (std::int64_t ow = 0; ow < 4; ++ow) {
            double most = -kInf, sum = 0, count = 0;
            for (std::int64_t d = 2 * od - 1; d < 2 * od + 1; ++d)
              for (std::int64_t h = oh; h < oh + 3; ++h)
                for (std::int64_t w = ow; w < ow + 4; w += 2) {
                  if (d < 0 || w >= 5) continue;
                  most = std::max(most, at(x, {n, c, d, h, w}));
                  sum += at(x, {n, c, d, h, w});
                  ++count;
                }
            greatest.push_back(most);
            average.push_back(sum / count);
          }
  EXPECT_EQ(run("max_pool3d", {x}, window), f64({2, 2, 2, 2, 4}, greatest));
  EXPECT_EQ(run("avg_pool3d", {x}, window), f64({2, 2, 2, 2, 4}, average));
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

TEST(AdaptiveMaxPool2d, TakesTheGreatestOfEachWindow) {
  const Array x = f64({1, 1, 1, 5}, {-5, -9, -3, kNan, -1});
  const auto pool = [&](int columns) {
    return run("adaptive_max_pool2d", {x}, {{"output0", 1}, {"output1", columns}});
  };
  EXPECT_EQ(pool(1), f64({1, 1, 1, 1}, {kNan}));
  EXPECT_EQ(pool(2), f64({1, 1, 1, 2}, {-3, kNan}));
  EXPECT_EQ(pool(3), f64({1, 1, 1, 3}, {-5, kNan, kNan}));
  EXPECT_EQ(pool(5), x);
  const Array tall = i32({1, 1, 4, 2}, {-1, -2, -3, -4, -8, -7, -6, -5});
  EXPECT_EQ(run("adaptive_max_pool2d", {tall}, {{"output0", 2}, {"output1", 1}}),
            i32({1, 1, 2, 1}, {-1, -5}));
}

TEST(AdaptivePool, EachChannelAndImageIsItsOwn) {
  const Array x = f64({2, 2, 1, 2}, {1, 3, 5, 9, 20, 30, -1, -5});
  const Params one = {{"output0", 1}, {"output1", 1}};
  EXPECT_EQ(run("adaptive_avg_pool2d", {x}, one), f64({2, 2, 1, 1}, {2, 7, 25, -3}));
  EXPECT_EQ(run("adaptive_max_pool2d", {x}, one), f64({2, 2, 1, 1}, {3, 9, 30, -1}));
}

TEST(MaxPool2d, TheWindowMustBeGiven) {
  EXPECT_THROW(run("max_pool2d", {f64({1, 1, 1, 1}, {1})}, {{"kernel0", 1}}), Error);
  EXPECT_THROW(run("max_pool2d", {f64({1, 1, 1, 1}, {1})}, {{"kernel0", 1}, {"kernel1", 0}}),
               Error);
}

}  // namespace
}  // namespace mote
