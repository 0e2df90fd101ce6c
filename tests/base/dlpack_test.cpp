// SPDX-License-Identifier: Apache-2.0
// Tests the DLPack helpers: element types both ways, row-major strides, descriptions.
#include "mote/base/dlpack.h"

#include <gtest/gtest.h>

#include "mote/base/kernel.h"

namespace mote {
namespace {

using Shape = std::vector<std::int64_t>;

DLTensor tensor(DLDataType dtype, Shape& shape, std::int64_t* strides = nullptr) {
  return {.data = nullptr,
          .device = {kDLCPU, 0},
          .ndim = static_cast<int>(shape.size()),
          .dtype = dtype,
          .shape = shape.data(),
          .strides = strides,
          .byte_offset = 0};
}

TEST(Dlpack, EveryDtypeGoesThereAndBack) {
  for (const DType dtype : all_dtypes()) {
    const DLDataType there = to_dlpack(dtype);
    EXPECT_EQ(there.bits, 8 * size_of(dtype));
    EXPECT_EQ(from_dlpack(there), dtype) << name(dtype);
  }
  EXPECT_EQ(to_dlpack(DType::boolean).code, MOTE_DL_BOOL);
}

TEST(Dlpack, KnowsNoOtherDtype) {
  EXPECT_EQ(from_dlpack({kDLBfloat, 32, 1}), std::nullopt);
  EXPECT_EQ(from_dlpack({kDLFloat, 32, 4}), std::nullopt);
  EXPECT_EQ(from_dlpack({kDLUInt, 32, 1}), std::nullopt);
}

TEST(Dlpack, StridesAreRowMajorAndNeverZero) {
  EXPECT_EQ(contiguous_strides(Shape{2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(contiguous_strides(Shape{2, 0, 4}), (Shape{4, 4, 1}));
  EXPECT_EQ(contiguous_strides(Shape{}), Shape{});
}

TEST(Dlpack, NullStridesMeanRowMajor) {
  Shape shape = {2, 3};
  Shape strides = {1, 2};
  EXPECT_EQ(strides_of(tensor(to_dlpack(DType::f32), shape)), (Shape{3, 1}));
  EXPECT_EQ(strides_of(tensor(to_dlpack(DType::f32), shape, strides.data())), strides);
}

TEST(Dlpack, MemoryGoesFromTheFirstElementInItToTheLast) {
  std::vector<float> data(100);
  Shape shape = {2, 3};
  Shape strides = {-10, 4};
  DLTensor t = tensor(to_dlpack(DType::f32), shape, strides.data());
  EXPECT_TRUE(memory_of(t).empty());
  t.data = data.data();
  t.byte_offset = 200;
  EXPECT_EQ(memory_of(t).data(), static_cast<void*>(&data[40]));
  EXPECT_EQ(memory_of(t).size(), 4U * 19);
  t.strides = nullptr;
  EXPECT_EQ(memory_of(t).data(), static_cast<void*>(&data[50]));
  EXPECT_EQ(memory_of(t).size(), 4U * 6);
  shape[1] = 0;
  EXPECT_TRUE(memory_of(t).empty());
  t.ndim = 0;
  EXPECT_EQ(memory_of(t).size(), 4U);
}

TEST(Dlpack, DescribesTypeAndShape) {
  Shape shape = {1, 4, 4, 5};
  Shape scalar;
  EXPECT_EQ(describe(tensor(to_dlpack(DType::f32), shape)), "f32[1,4,4,5]");
  EXPECT_EQ(describe(tensor(to_dlpack(DType::boolean), scalar)), "bool[]");
  EXPECT_EQ(describe(tensor({kDLUInt, 16, 1}, shape)), "dlpack(1,16,1)[1,4,4,5]");
  EXPECT_EQ(element_count(tensor(to_dlpack(DType::f32), shape)), 80);
  EXPECT_EQ(element_count(tensor(to_dlpack(DType::f32), scalar)), 1);
}

}  // namespace
}  // namespace mote
