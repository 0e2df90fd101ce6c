// SPDX-License-Identifier: Apache-2.0
// Tests quantised ops against loops written out here: ties, saturation, zeros, padding.
#include <gtest/gtest.h>

#include "run.h"

namespace mote {
namespace {

Array f32_of(Dims shape, const std::vector<double>& values) {
  return tensor(DType::f32, std::move(shape), values);
}
Array bytes(DType dtype, Dims shape, const std::vector<double>& values) {
  return tensor(dtype, std::move(shape), values);
}
Array one(const std::string& op, DType dtype, const std::vector<Array>& inputs,
          const Params& params = {}) {
  return run_all(op, dtype, inputs, params).at(0);
}

TEST(Quantize, RoundsHalfToEvenThenMovesThenSaturates) {
  const Array x = f32_of({1, 1, 8}, {1, 3, 5, -1, -3, 1000, -1000, kNan});
  const auto with = [&](DType dtype, double zero) {
    return one("quantize", dtype, {x, f32_of({1}, {2}), bytes(dtype, {1}, {zero})});
  };
  EXPECT_EQ(with(DType::i8, 1), bytes(DType::i8, {1, 1, 8}, {1, 3, 3, 1, -1, 127, -128, 0}));
  EXPECT_EQ(with(DType::u8, 3), bytes(DType::u8, {1, 1, 8}, {3, 5, 5, 3, 1, 255, 0, 0}));
}

TEST(Quantize, EachChannelHasItsScaleAndZero) {
  EXPECT_EQ(
      one("quantize", DType::u8,
          {f32_of({1, 2, 2}, {4, 8, 4, 8}), f32_of({2}, {2, 4}), bytes(DType::u8, {2}, {0, 100})}),
      bytes(DType::u8, {1, 2, 2}, {2, 4, 101, 102}));
}

TEST(Dequantize, UndoesIt) {
  EXPECT_EQ(one("dequantize", DType::u8,
                {bytes(DType::u8, {1, 2, 2}, {2, 4, 101, 255}), f32_of({2}, {2, 4}),
                 bytes(DType::u8, {2}, {0, 100})}),
            f32_of({1, 2, 2}, {4, 8, 4, 620}));
  EXPECT_EQ(one("dequantize", DType::i32,
                {i32({1, 1, 1}, {2147483647}), f32_of({1}, {1}), i32({1}, {-1})}),
            f32_of({1, 1, 1}, {2147483648.0}));
}

TEST(MatmulInteger, TakesZerosOffBothOperands) {
  const Array a = bytes(DType::u8, {1, 2, 2}, {1, 2, 255, 4}),
              b = bytes(DType::i8, {1, 2, 1}, {-128, 7});
  EXPECT_EQ(one("matmul_integer", DType::u8, {a, b}), i32({1, 2, 1}, {-114, -32612}));
  EXPECT_EQ(one("matmul_integer", DType::u8, {a, b}, {{"a_zero", 2}, {"b_zero", -1}}),
            i32({1, 2, 1}, {127, 253 * -127 + 2 * 8}));
}

TEST(Qmatmul, ScalesEachColumnRoundsAndSaturates) {
  const Array a = bytes(DType::i8, {1, 1, 2}, {3, 5}),
              b = bytes(DType::i8, {1, 2, 3}, {1, 2, 100, 0, 1, 100});
  EXPECT_EQ(one("qmatmul", DType::i8, {a, b, f32_of({3}, {0.5, 0.5, 1})}, {{"y_zero", 1}}),
            bytes(DType::i8, {1, 1, 3}, {3, 7, 127}));
}

/// Taps in the pads are x_zero, which is 0 after the zero point is subtracted.
TEST(Conv2dInteger, PadsCountAsTheZero) {
  const Array x = bytes(DType::u8, {1, 1, 1, 2}, {10, 12}),
              w = bytes(DType::i8, {1, 1, 1, 3}, {1, 2, 3});
  EXPECT_EQ(one("conv2d_integer", DType::u8, {x, w}, {{"x_zero", 10}, {"pads1", 1}, {"pads3", 1}}),
            i32({1, 1, 1, 2}, {6, 4}));
}

TEST(Qconv2d, AddsTheBiasBeforeItScales) {
  const Array x = bytes(DType::u8, {1, 2, 1, 1}, {4, 6}),
              w = bytes(DType::i8, {2, 1, 1, 1}, {1, -1});
  const Params params = {{"groups", 2}, {"x_zero", 2}, {"y_zero", 100}};
  EXPECT_EQ(one("qconv2d", DType::u8, {x, w, f32_of({2}, {2, 0.5}), i32({2}, {10, -3})}, params),
            bytes(DType::u8, {1, 2, 1, 1}, {124, 96}));
  EXPECT_EQ(one("qconv2d", DType::u8, {x, w, f32_of({2}, {2, 0.5}), absent()}, params),
            bytes(DType::u8, {1, 2, 1, 1}, {104, 98}));
}

}  // namespace
}  // namespace mote
