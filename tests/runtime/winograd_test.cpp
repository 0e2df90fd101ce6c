// SPDX-License-Identifier: Apache-2.0
// Tests the Winograd backend on data for which all its intermediate results are integers: the
// results equal the generated kernel's bit for bit. The oracle checks its rounding.
#include <gtest/gtest.h>

#include <random>

#include "mote/runtime/command.h"
#include "mote/runtime/plugins.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

/// Fills with multiples k · `unit` with k in [-3, 3].
void fill_whole(Tensor& x, std::mt19937& random, int unit) {
  Tensor flat = x.reshape({x.element_count()});
  for (std::int64_t k = 0; k < x.element_count(); ++k)
    flat.set({k}, static_cast<double>(unit * (static_cast<int>(random() % 7) - 3)));
}

struct Shape {
  std::int64_t n, groups, in, out, height, width;
  std::int64_t pads[4];
  bool bias;
  Layout layout;
};

class WinogradConv : public testing::TestWithParam<Shape> {};

TEST_P(WinogradConv, IsExactOnWholeNumbers) {
  const Shape s = GetParam();
  const std::vector<const mote_backend*> winograd = load_backends(MOTE_WINOGRAD_PLUGIN);
  std::mt19937 random(11);
  const std::int64_t channels = s.groups * s.in, outputs = s.groups * s.out;
  Tensor dense(DType::f32, {s.n, channels, s.height, s.width});
  Tensor w(DType::f32, {outputs, s.in, 3, 3}), b(DType::f32, {outputs});
  fill_whole(dense, random, 1);
  fill_whole(w, random, 24 * 24);  // the kernels' transform divides by this
  fill_whole(b, random, 1);
  Tensor x(DType::f32, {s.n, channels, s.height, s.width}, s.layout);
  copy(dense, x);
  const AxisList shape = {s.n, outputs, s.height + s.pads[0] + s.pads[2] - 2,
                          s.width + s.pads[1] + s.pads[3] - 2};
  Tensor y(DType::f32, shape, s.layout), expected(DType::f32, shape);
  const Command conv("conv2d", {{"groups", s.groups},
                                {"pads0", s.pads[0]},
                                {"pads1", s.pads[1]},
                                {"pads2", s.pads[2]},
                                {"pads3", s.pads[3]}});
  const Tensor* bias = s.bias ? &b : nullptr;
  fill(y, -77.0);
  run(conv, {&x, &w, bias}, {&expected});
  run(conv, {&x, &w, bias}, {&y}, {.backends = winograd});
  Tensor got(DType::f32, shape);
  copy(y, got);
  const Tensor a = got.reshape({got.element_count()}), e = expected.reshape({got.element_count()});
  for (std::int64_t k = 0; k < got.element_count(); ++k)
    ASSERT_EQ(a.real_at({k}), e.real_at({k})) << "element " << k;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, WinogradConv,
    testing::Values(Shape{1, 1, 1, 1, 3, 3, {0, 0, 0, 0}, false, Layout::nchw},
                    Shape{1, 1, 1, 1, 6, 6, {0, 0, 0, 0}, false, Layout::nchw},
                    Shape{2, 1, 3, 5, 9, 10, {1, 1, 1, 1}, true, Layout::nchw},
                    Shape{3, 2, 2, 4, 7, 5, {1, 0, 2, 3}, true, Layout::nhwc},
                    Shape{1, 3, 1, 1, 4, 33, {5, 5, 0, 0}, false, Layout::chwn},
                    Shape{1, 1, 16, 9, 24, 24, {1, 1, 1, 1}, true, Layout::nchw}));

TEST(Winograd, DeclinesWhatItDoesNotCompute) {
  const mote_backend* winograd = load_backends(MOTE_WINOGRAD_PLUGIN).front();
  const Tensor x(DType::f32, {1, 1, 8, 8}), w(DType::f32, {1, 1, 5, 5});
  Tensor y(DType::f32, {1, 1, 4, 4});
  fill(x, 1.0);
  fill(w, 1.0);
  run(Command("conv2d"), {&x, &w}, {&y}, {.backends = {&winograd, 1}});
  EXPECT_EQ(y.real_at({0, 0, 3, 3}), 25);  // another kernel computed it
}

}  // namespace
}  // namespace mote
