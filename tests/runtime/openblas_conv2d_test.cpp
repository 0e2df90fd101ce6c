// SPDX-License-Identifier: Apache-2.0
// Tests OpenBLAS conv2d against a plain loop on small integers: strides, dilation, uneven pads,
// groups, layouts, tiles, workspace.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/openblas_plugin.h"

namespace mote::test {
namespace {

struct Case {
  std::int64_t n, c, h, w, co, kh, kw;
  std::int64_t stride[2] = {1, 1};
  std::int64_t dilation[2] = {1, 1};
  std::int64_t pads[4] = {0, 0, 0, 0};
  std::int64_t groups = 1;
};

Shape x_shape(const Case& s) { return {s.n, s.c, s.h, s.w}; }
Shape w_shape(const Case& s) { return {s.co, s.c / s.groups, s.kh, s.kw}; }
Shape y_shape(const Case& s) {
  return {s.n, s.co,
          (s.h + s.pads[0] + s.pads[2] - s.dilation[0] * (s.kh - 1) - 1) / s.stride[0] + 1,
          (s.w + s.pads[1] + s.pads[3] - s.dilation[1] * (s.kw - 1) - 1) / s.stride[1] + 1};
}
/// Returns strides with the channels innermost, and a gap of `gap` after each pixel.
Shape channels_last(const Shape& s, std::int64_t gap = 0) {
  const std::int64_t c = std::max<std::int64_t>(1, s[1]) + gap;
  return {s[2] * s[3] * c, 1, s[3] * c, c};
}

double expected(const Case& s, const Tensor& x, const Tensor& w, const Tensor* bias,
                const Shape& at) {
  const std::int64_t cg = s.c / s.groups;
  const std::int64_t group = at[1] / (s.co / s.groups);
  double sum = bias == nullptr ? 0 : bias->get({at[1]});
  for (std::int64_t c = 0; c < cg; ++c)
    for (std::int64_t kh = 0; kh < s.kh; ++kh)
      for (std::int64_t kw = 0; kw < s.kw; ++kw) {
        const std::int64_t ih = at[2] * s.stride[0] - s.pads[0] + kh * s.dilation[0];
        const std::int64_t iw = at[3] * s.stride[1] - s.pads[1] + kw * s.dilation[1];
        if (ih >= 0 && ih < s.h && iw >= 0 && iw < s.w)
          sum += x.get({at[0], group * cg + c, ih, iw}) * w.get({at[1], c, kh, kw});
      }
  return sum;
}

Call make_call(const Case& s, Tensor& x, Tensor& w, Tensor* bias, Tensor& y) {
  Call call("conv2d", {&x, &w, bias}, {&y});
  call.integer("stride0", s.stride[0]).integer("stride1", s.stride[1]);
  call.integer("dilation0", s.dilation[0]).integer("dilation1", s.dilation[1]);
  call.integer("pads0", s.pads[0]).integer("pads1", s.pads[1]);
  call.integer("pads2", s.pads[2]).integer("pads3", s.pads[3]).integer("groups", s.groups);
  return call;
}

void expect_right(const Case& s, Tensor& x, Tensor& w, Tensor* bias, Tensor& y) {
  x.fill_integers(1);
  w.fill_integers(2);
  if (bias != nullptr) bias->fill_integers(3);
  Call call = make_call(s, x, w, bias, y);
  ASSERT_EQ(call.can_run(openblas_kernel("conv2d")), MOTE_OK) << call.message();
  ASSERT_EQ(call.run(openblas_kernel("conv2d")), MOTE_OK) << call.message();
  int wrong = 0;
  Tensor::for_each_index(y.shape(), [&](const Shape& at) {
    if (y.get(at) != expected(s, x, w, bias, at)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(y.changed_gaps(kUntouched), 0);
}

const Case kCases[] = {
    {.n = 1, .c = 1, .h = 1, .w = 1, .co = 1, .kh = 1, .kw = 1},
    {.n = 2, .c = 3, .h = 7, .w = 6, .co = 4, .kh = 3, .kw = 2},
    {.n = 1, .c = 2, .h = 9, .w = 8, .co = 3, .kh = 3, .kw = 3, .stride = {2, 3}},
    {.n = 1, .c = 2, .h = 9, .w = 8, .co = 3, .kh = 2, .kw = 3, .dilation = {3, 2}},
    {.n = 2, .c = 2, .h = 5, .w = 4, .co = 2, .kh = 3, .kw = 3, .pads = {0, 1, 2, 3}},
    {.n = 1, .c = 2, .h = 5, .w = 4, .co = 2, .kh = 3, .kw = 3, .pads = {3, 2, 0, 0}},
    {.n = 2, .c = 6, .h = 5, .w = 5, .co = 4, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}, .groups = 2},
    {.n = 1, .c = 5, .h = 6, .w = 6, .co = 10, .kh = 3, .kw = 3, .stride = {2, 2}, .groups = 5},
    {.n = 2,
     .c = 4,
     .h = 7,
     .w = 9,
     .co = 6,
     .kh = 3,
     .kw = 2,
     .stride = {2, 1},
     .dilation = {1, 3},
     .pads = {1, 0, 2, 4},
     .groups = 2},
};

TEST(OpenblasConv2d, AgreesWithAPlainLoop) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Case& s : kCases)
      for (const bool with_bias : {false, true}) {
        Tensor x(dtype, x_shape(s));
        Tensor w(dtype, w_shape(s));
        Tensor bias(dtype, {s.co}, {3});
        Tensor y(dtype, y_shape(s), contiguous_strides(y_shape(s)), kUntouched);
        expect_right(s, x, w, with_bias ? &bias : nullptr, y);
      }
}

TEST(OpenblasConv2d, TakesAnyLayout) {
  for (const Case& s : kCases) {
    const Shape ys = y_shape(s);
    const Shape layouts_of_y[] = {channels_last(ys),
                                  channels_last(ys, 2),
                                  {ys[1] * ys[2] * ys[3] * 4, ys[2] * ys[3] * 4, ys[3] * 4, 2},
                                  {1, ys[0] * ys[2] * ys[3], ys[0], ys[0] * ys[2]}};
    for (const Shape& layout : layouts_of_y) {
      Tensor x(DType::f32, x_shape(s), channels_last(x_shape(s), 1));
      Tensor w(DType::f32, w_shape(s), channels_last(w_shape(s)));
      Tensor y(DType::f32, ys, layout, kUntouched);
      expect_right(s, x, w, nullptr, y);
    }
  }
}

TEST(OpenblasConv2d, CutsLargeImagesIntoTiles) {
  const Case s{.n = 2, .c = 16, .h = 61, .w = 67, .co = 3, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}};
  for (const bool last : {false, true}) {
    Tensor x(DType::f32, x_shape(s));
    Tensor w(DType::f32, w_shape(s));
    Tensor y(DType::f32, y_shape(s),
             last ? channels_last(y_shape(s)) : contiguous_strides(y_shape(s)), kUntouched);
    expect_right(s, x, w, nullptr, y);
  }
}

TEST(OpenblasConv2d, AcceptsEmptyTensors) {
  const Case cases[] = {
      {.n = 0, .c = 2, .h = 4, .w = 4, .co = 3, .kh = 3, .kw = 3},
      {.n = 2, .c = 0, .h = 4, .w = 4, .co = 3, .kh = 3, .kw = 3},
      {.n = 2, .c = 2, .h = 4, .w = 4, .co = 0, .kh = 3, .kw = 3},
      {.n = 1, .c = 2, .h = 2, .w = 4, .co = 3, .kh = 3, .kw = 3},
      {.n = 1, .c = 2, .h = 0, .w = 4, .co = 3, .kh = 1, .kw = 1, .pads = {1, 0, 1, 0}}};
  for (const Case& s : cases) {
    Tensor x(DType::f32, x_shape(s));
    Tensor w(DType::f32, w_shape(s));
    Tensor bias(DType::f32, {s.co});
    Tensor y(DType::f32, y_shape(s), contiguous_strides(y_shape(s)), kUntouched);
    expect_right(s, x, w, &bias, y);
  }
}

TEST(OpenblasConv2d, StaysWithinTheWorkspaceItAskedFor) {
  const Case s = kCases[8];
  Tensor x(DType::f32, x_shape(s));
  Tensor w(DType::f32, w_shape(s), channels_last(w_shape(s)));
  Tensor y(DType::f32, y_shape(s), {1, 2, 12, 1000}, kUntouched);
  x.fill_integers(1);
  w.fill_integers(2);
  Call call = make_call(s, x, w, nullptr, y);
  const mote_call asked = call.get();
  const std::size_t bytes = openblas_kernel("conv2d").workspace_bytes(&asked);
  ASSERT_GT(bytes, 0U);
  constexpr float kGuard = 12345;
  std::vector<float> memory(bytes / sizeof(float) + 16, kGuard);
  call.workspace(memory.data() + 8, bytes);
  ASSERT_EQ(call.run(openblas_kernel("conv2d")), MOTE_OK) << call.message();
  EXPECT_NE(memory[8], kGuard);
  for (std::size_t k = 0; k < 8; ++k) {
    EXPECT_EQ(memory[k], kGuard);
    EXPECT_EQ(memory[memory.size() - 1 - k], kGuard);
  }
  Tensor::for_each_index(
      y.shape(), [&](const Shape& at) { EXPECT_EQ(y.get(at), expected(s, x, w, nullptr, at)); });
}

TEST(OpenblasConv2d, MultipliesPaddingAsItsContractSays) {
  const Case s{.n = 1, .c = 1, .h = 2, .w = 2, .co = 1, .kh = 3, .kw = 3, .pads = {1, 1, 1, 1}};
  Tensor x(DType::f32, x_shape(s));
  Tensor w(DType::f32, w_shape(s));
  Tensor y(DType::f32, y_shape(s));
  w.set({0, 0, 0, 0}, std::numeric_limits<double>::infinity());
  Call call = make_call(s, x, w, nullptr, y);
  ASSERT_EQ(call.run(openblas_kernel("conv2d")), MOTE_OK) << call.message();
  EXPECT_TRUE(std::isnan(y.get({0, 0, 0, 0})));
  EXPECT_STREQ(openblas_kernel("conv2d").contract->form, "padding_multiplied");
}

TEST(OpenblasConv2d, RejectsIllegalCalls) {
  Case s{.n = 1, .c = 4, .h = 5, .w = 5, .co = 4, .kh = 3, .kw = 3};
  Tensor x(DType::f32, x_shape(s));
  Tensor w(DType::f32, w_shape(s));
  Tensor y(DType::f32, y_shape(s));
  const auto message_of = [&](const Case& bad, Tensor& w_given, Tensor& y_given) {
    Call call = make_call(bad, x, w_given, nullptr, y_given);
    EXPECT_EQ(call.can_run(openblas_kernel("conv2d")), MOTE_INVALID);
    return call.message();
  };
  Case bad = s;
  bad.stride[0] = 0;
  EXPECT_EQ(message_of(bad, w, y), "parameter stride0 is 0, expected 1 to 2147483647");
  bad = s;
  bad.groups = 3;
  EXPECT_EQ(message_of(bad, w, y), "channels of x and w differ: 4 and 4 in each of 3 groups");
  EXPECT_EQ(message_of(s, w, x), "y f32[1,4,5,5], expected shape [1,4,3,3]");
  Tensor large(DType::f32, {4, 4, 9, 3});
  EXPECT_EQ(message_of(s, large, y), "the kernel does not fit: the output would be -3 by 3");
  Tensor three(DType::f32, {3, 2, 3, 3});
  bad.groups = 2;
  EXPECT_EQ(message_of(bad, three, y), "3 output channels do not divide into 2 groups");
}

}  // namespace
}  // namespace mote::test
