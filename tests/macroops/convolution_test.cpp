// SPDX-License-Identifier: Apache-2.0
// Tests conv1d, conv3d and conv_transpose2d against loops written out here, over small integers.
#include <gtest/gtest.h>

#include "mote/base/error.h"
#include "run.h"

namespace mote {
namespace {

/// One dimension of a conv_transpose2d or conv1d.
struct Line {
  std::int64_t extent, kernel, stride, dilation, before, after, output_pad;
};

TEST(Conv1d, AgreesWithItsLoops) {
  const Line l{.extent = 9,
               .kernel = 3,
               .stride = 2,
               .dilation = 2,
               .before = 1,
               .after = 2,
               .output_pad = 0};
  const Array x = integers(DType::f64, {2, 4, l.extent}, 1);
  const Array w = integers(DType::f64, {6, 2, l.kernel}, 2), b = integers(DType::f64, {6}, 3);
  const std::int64_t out =
      (l.extent + l.before + l.after - l.dilation * (l.kernel - 1) - 1) / l.stride + 1;
  std::vector<double> want;
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t co = 0; co < 6; ++co)
      for (std::int64_t o = 0; o < out; ++o) {
        double sum = 0;
        for (std::int64_t ci = 0; ci < 2; ++ci)
          for (std::int64_t k = 0; k < l.kernel; ++k) {
            const std::int64_t i = o * l.stride + k * l.dilation - l.before;
            if (i >= 0 && i < l.extent) sum += at(x, {n, co / 3 * 2 + ci, i}) * at(w, {co, ci, k});
          }
        want.push_back(sum + at(b, {co}));
      }
  EXPECT_EQ(run("conv1d", {x, w, b},
                {{"stride0", l.stride},
                 {"dilation0", l.dilation},
                 {"pads0", l.before},
                 {"pads1", l.after},
                 {"groups", 2}}),
            f64({2, 6, out}, want));
}

TEST(Conv1d, TapsOutsideDoNotExist) {
  const Array x = f64({1, 1, 1}, {2}), w = f64({1, 1, 3}, {kInf, 3, kNan});
  EXPECT_EQ(run("conv1d", {x, w}, {{"pads0", 1}, {"pads1", 1}}), f64({1, 1, 1}, {6}));
}

TEST(Conv3d, EveryAxisHasItsOwnWindow) {
  const Array x = integers(DType::f64, {1, 2, 4, 3, 5}, 1),
              w = integers(DType::f64, {2, 2, 2, 3, 1}, 2);
  const std::int64_t depth = 2, height = 3, width = 6;  // strides 3, 1, 1; pads 0+1, 1+1, 0+1
  std::vector<double> want;
  for (std::int64_t co = 0; co < 2; ++co)
    for (std::int64_t d = 0; d < depth; ++d)
      for (std::int64_t h = 0; h < height; ++h)
        for (std::int64_t v = 0; v < width; ++v) {
          double sum = 0;
          for (std::int64_t ci = 0; ci < 2; ++ci)
            for (std::int64_t kd = 0; kd < 2; ++kd)
              for (std::int64_t kh = 0; kh < 3; ++kh) {
                const std::int64_t id = d * 3 + kd, ih = h + kh - 1;
                if (id < 4 && ih >= 0 && ih < 3 && v < 5)
                  sum += at(x, {0, ci, id, ih, v}) * at(w, {co, ci, kd, kh, 0});
              }
          want.push_back(sum);
        }
  EXPECT_EQ(run("conv3d", {x, w},
                {{"stride0", 3}, {"pads1", 1}, {"pads3", 1}, {"pads4", 1}, {"pads5", 1}}),
            f64({1, 2, depth, height, width}, want));
}

/// Computes ONNX's definition by scattering: every element of x adds to the elements that its taps
/// reach.
Array transposed(const Array& x, const Array& w, const Line& h, const Line& v,
                 std::int64_t groups) {
  const auto size = [](const Line& l) {
    return (l.extent - 1) * l.stride + l.dilation * (l.kernel - 1) + 1 + l.output_pad - l.before -
           l.after;
  };
  const std::int64_t ci = x.shape[1], per = w.shape[1], co = per * groups, height = size(h),
                     width = size(v);
  std::vector<double> y(static_cast<std::size_t>(x.shape[0] * co * height * width));
  for (std::int64_t n = 0; n < x.shape[0]; ++n)
    for (std::int64_t c = 0; c < ci; ++c)
      for (std::int64_t i = 0; i < h.extent; ++i)
        for (std::int64_t j = 0; j < v.extent; ++j)
          for (std::int64_t o = 0; o < per; ++o)
            for (std::int64_t kh = 0; kh < h.kernel; ++kh)
              for (std::int64_t kw = 0; kw < v.kernel; ++kw) {
                const std::int64_t row = i * h.stride + kh * h.dilation - h.before;
                const std::int64_t column = j * v.stride + kw * v.dilation - v.before;
                if (row < 0 || row >= height || column < 0 || column >= width) continue;
                const std::int64_t channel = c / (ci / groups) * per + o;
                y[static_cast<std::size_t>(((n * co + channel) * height + row) * width + column)] +=
                    at(x, {n, c, i, j}) * at(w, {c, o, kh, kw});
              }
  return f64({x.shape[0], co, height, width}, y);
}

TEST(ConvTranspose2d, AgreesWithTheScatterThatDefinesIt) {
  const std::vector<std::pair<Line, Line>> cases = {
      {{3, 3, 1, 1, 0, 0, 0}, {4, 2, 1, 1, 0, 0, 0}},
      {{3, 3, 2, 1, 1, 1, 1}, {4, 2, 3, 1, 0, 1, 2}},
      {{2, 3, 3, 2, 2, 0, 0}, {3, 2, 2, 3, 1, 2, 1}},
      {{1, 1, 4, 1, 0, 0, 3}, {2, 4, 2, 1, 3, 3, 0}},
      {{4, 2, 2, 3, 0, 4, 0}, {2, 1, 5, 1, 0, 0, 0}},
  };
  for (const auto& [h, v] : cases) {
    for (const std::int64_t groups : {1, 2}) {
      const Array x = integers(DType::f64, {2, 4, h.extent, v.extent}, 1);
      const Array w = integers(DType::f64, {4, 3, h.kernel, v.kernel}, 2);
      const Params params = {{"stride0", h.stride},
                             {"stride1", v.stride},
                             {"dilation0", h.dilation},
                             {"dilation1", v.dilation},
                             {"pads0", h.before},
                             {"pads1", v.before},
                             {"pads2", h.after},
                             {"pads3", v.after},
                             {"output_pad0", h.output_pad},
                             {"output_pad1", v.output_pad},
                             {"groups", groups}};
      EXPECT_EQ(run("conv_transpose2d", {x, w}, params), transposed(x, w, h, v, groups))
          << h.extent << " " << h.stride << " " << groups;
    }
  }
}

TEST(ConvTranspose2d, BiasIsAlsoWhereNoTapReaches) {
  const Array x = f64({1, 1, 1, 2}, {3, 4}), w = f64({1, 1, 1, 1}, {2}), b = f64({1}, {10});
  EXPECT_EQ(run("conv_transpose2d", {x, w, b}, {{"stride1", 3}}),
            f64({1, 1, 1, 4}, {16, 10, 10, 18}));
  EXPECT_EQ(run("conv_transpose2d", {f64({1, 1, 1, 1}, {kInf}), w, b},
                {{"output_pad1", 1}, {"stride1", 2}}),
            f64({1, 1, 1, 2}, {kInf, 10}));
}

}  // namespace
}  // namespace mote
