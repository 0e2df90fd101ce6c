// SPDX-License-Identifier: Apache-2.0
// Tests that elements convert as casts do, copies between any strides, and the refusal of forbidden
// writes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "mote/runtime/tensor.h"
#include "runtime/expect_error.h"

namespace mote {
namespace {

using test::expect_error;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Cast {
  DType from;
  double value;
  DType to;
  double expected;
};

class Casts : public testing::TestWithParam<Cast> {};

TEST_P(Casts, CopyConverts) {
  const Cast& c = GetParam();
  const Tensor x(c.from, {});
  const Tensor y(c.to, {});
  x.set({}, c.value);
  copy(x, y);
  if (std::isnan(c.expected))
    EXPECT_TRUE(std::isnan(y.real_at({})));
  else
    EXPECT_EQ(y.real_at({}), c.expected) << name(c.from) << " to " << name(c.to);
}

INSTANTIATE_TEST_SUITE_P(
    Tensor, Casts,
    testing::Values(Cast{DType::f32, 2.9, DType::i32, 2}, Cast{DType::f64, -2.9, DType::i64, -2},
                    Cast{DType::f64, 1e30, DType::i32, 2147483647.0},
                    Cast{DType::f64, -1e30, DType::i8, -128}, Cast{DType::f64, 300, DType::u8, 255},
                    Cast{DType::f64, -1, DType::u8, 0}, Cast{DType::f64, NAN, DType::i32, 0},
                    Cast{DType::f64, NAN, DType::boolean, 1},
                    Cast{DType::f64, 0.1, DType::boolean, 1},
                    Cast{DType::f64, -0.0, DType::boolean, 0}, Cast{DType::i32, 300, DType::u8, 44},
                    Cast{DType::i32, -1, DType::u8, 255}, Cast{DType::i64, 200, DType::i8, -56},
                    Cast{DType::u8, 200, DType::i8, -56}, Cast{DType::i32, 256, DType::boolean, 1},
                    Cast{DType::boolean, 7, DType::f16, 1},
                    Cast{DType::f64, 65520, DType::f16, kInfinity},
                    Cast{DType::f64, 1 + 0x1p-9, DType::bf16, 1},
                    Cast{DType::f32, 0x1p-24, DType::f16, 0x1p-24},
                    Cast{DType::f64, 1e300, DType::f32, kInfinity},
                    Cast{DType::bf16, kInfinity, DType::i32, 2147483647.0},
                    Cast{DType::f16, NAN, DType::f64, NAN}));

TEST(Elements, IntegersOf64BitsAreExact) {
  const Tensor x(DType::i64, {1});
  x.set({0}, std::int64_t{9007199254740993});
  EXPECT_EQ(x.integer_at({0}), 9007199254740993);
  const Tensor y(DType::i64, {1});
  copy(x, y);
  EXPECT_EQ(y.integer_at({0}), 9007199254740993);
}

TEST(Elements, ACopyWithinADtypeKeepsEveryBit) {
  std::uint32_t payload = 0x7FA00001U;  // a signalling NaN
  std::uint32_t result = 0;
  copy(Tensor::over(&payload, DType::f32, {1}), Tensor::over(&result, DType::f32, {1}));
  EXPECT_EQ(result, payload);
}

/// Returns the bytes of element `index` of x.
std::string bytes_at(const Tensor& x, const AxisList& index) {
  std::int64_t offset = 0;
  for (int axis = 0; axis < x.rank(); ++axis) offset += index[axis] * x.strides()[axis];
  const auto size = static_cast<std::int64_t>(size_of(x.dtype()));
  return {static_cast<const char*>(x.data()) + offset * size, static_cast<std::size_t>(size)};
}

/// Calls visit(index) for every index of the shape.
template <typename Visit>
void each_index(const AxisList& shape, const Visit& visit) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  for (std::int64_t k = 0; k < count; ++k) {
    AxisList index = shape;
    std::int64_t rest = k;
    for (int axis = static_cast<int>(shape.size()) - 1; axis >= 0; --axis) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    visit(index);
  }
}

/// Copies between layouts go by squares, with rests on both sides, batches, gaps and reversed axes.
TEST(Elements, CopiesBetweenLayoutsKeepEveryBit) {
  struct Layouts {
    AxisList shape, order_of_x;
    int gap_axis = -1, reversed_axis = -1;
  };
  for (const Layouts& l :
       {Layouts{{130, 150}, {1, 0}}, Layouts{{16, 1024}, {1, 0}}, Layouts{{17, 31, 33}, {0, 2, 1}},
        Layouts{{5, 40, 3, 41}, {0, 2, 3, 1}}, Layouts{{3, 20, 4, 70}, {3, 1, 0, 2}},
        Layouts{{130, 150}, {1, 0}, 0}, Layouts{{130, 150}, {1, 0}, 1},
        Layouts{{4, 65, 66}, {0, 2, 1}, -1, 0}, Layouts{{130, 150}, {1, 0}, -1, 1}}) {
    for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::i64, DType::boolean}) {
      AxisList memory_shape = l.shape;
      for (int k = 0; k < static_cast<int>(l.shape.size()); ++k)
        memory_shape[static_cast<int>(l.order_of_x[k])] = l.shape[k];
      if (l.gap_axis >= 0) memory_shape[l.gap_axis] *= 2;
      const Tensor memory(dtype, memory_shape);
      auto* bytes = static_cast<std::uint8_t*>(memory.data());
      const auto size = static_cast<std::int64_t>(size_of(dtype));
      for (std::int64_t k = 0; k < memory.element_count() * size; ++k)
        bytes[k] = static_cast<std::uint8_t>(dtype == DType::boolean ? k % 3 % 2 : k * 7 + k / 251);
      Tensor x = memory;
      if (l.gap_axis >= 0) x = x.slice(l.gap_axis, 0, memory_shape[l.gap_axis] / 2, 2);
      x = x.permute(l.order_of_x);
      if (l.reversed_axis >= 0)
        x = x.slice(l.reversed_axis, x.extent(l.reversed_axis) - 1, x.extent(l.reversed_axis), -1);
      const Tensor y(dtype, x.shape());
      copy(x, y);
      std::int64_t wrong = 0;
      each_index(x.shape(), [&](const AxisList& index) {
        wrong += bytes_at(x, index) != bytes_at(y, index) ? 1 : 0;
      });
      EXPECT_EQ(wrong, 0) << to_string(x.form()) << " " << to_string(x.strides());
    }
  }
}

TEST(Elements, FillReachesEveryElementAndNoGap) {
  std::vector<float> memory(24, -1);
  const Tensor y = Tensor::over(memory.data(), DType::f32, {2, 3}, {12, 2});
  fill(y, 5.0);
  int fives = 0;
  for (const float value : memory) fives += value == 5 ? 1 : 0;
  EXPECT_EQ(fives, 6);
  EXPECT_EQ(y.real_at({1, 2}), 5);
  fill(Tensor(DType::f32, {0, 3}), 1.0);
  fill(y, std::int64_t{3});
  EXPECT_EQ(memory[16], 3);
}

TEST(Elements, OverlappingCopiesReadFirst) {
  std::vector<std::int32_t> memory = {1, 2, 3, 4, 5};
  const Tensor all = Tensor::over(memory.data(), DType::i32, {5});
  copy(all.slice(0, 0, 4), all.slice(0, 1, 4));
  EXPECT_EQ(memory, std::vector<std::int32_t>({1, 1, 2, 3, 4}));
  copy(all.slice(0, 4, 5, -1), all);
  EXPECT_EQ(memory, std::vector<std::int32_t>({4, 3, 2, 1, 1}));
  copy(all, all);
  EXPECT_EQ(memory, std::vector<std::int32_t>({4, 3, 2, 1, 1}));
}

TEST(Elements, BadRequestsAreRefused) {
  const Tensor x(DType::f32, {2, 3});
  fill(x, 0.0);
  expect_error(MOTE_INVALID, "elements share memory", [&] {
    fill(x.slice(0, 0, 1).broadcast_to({2, 3}), 1.0);
  });
  expect_error(MOTE_INVALID, "elements share memory", [&] {
    copy(x, x.slice(0, 0, 1).broadcast_to({2, 3}));
  });
  expect_error(MOTE_INVALID, "axis 1 must be 2 or 1", [&] { copy(x, Tensor(DType::f32, {2, 2})); });
  expect_error(MOTE_INVALID, "element [2,0] of f32[2,3] is out of range", [&] {
    (void)x.real_at({2, 0});
  });
  expect_error(MOTE_INVALID, "element [0,-1]", [&] { x.set({0, -1}, 1.0); });
  expect_error(MOTE_INVALID, "needs 2 indices", [&] { (void)x.integer_at({0}); });
  const Tensor away = Tensor::over(nullptr, DType::f32, {2, 3}, {3, 1}, {kDLCUDA, 0});
  expect_error(MOTE_UNSUPPORTED, "not in the host's memory", [&] { copy(away, x); });
  expect_error(MOTE_UNSUPPORTED, "not in the host's memory", [&] { copy(x, away); });
  expect_error(MOTE_UNSUPPORTED, "not in the host's memory", [&] { (void)clone(away); });
}

}  // namespace
}  // namespace mote
