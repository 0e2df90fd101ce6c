// SPDX-License-Identifier: Apache-2.0
// Tests DLPack and images: the same bytes under another name.
#include <gtest/gtest.h>

#include <vector>

#include "mote/base/dlpack.h"
#include "mote/runtime/tensor.h"
#include "runtime/expect_error.h"
#include "runtime/failing_allocator.h"

namespace mote {
namespace {

using test::expect_error;
using test::FailingAllocator;

TEST(Bridge, ATensorIsADLTensor) {
  const Tensor x(DType::f32, {2, 3});
  const auto* dl = reinterpret_cast<const DLTensor*>(&x);
  EXPECT_EQ(dl, &x.dl());
  EXPECT_EQ(describe(*dl), "f32[2,3]");
  const Tensor y = x.permute({1, 0});
  EXPECT_EQ(describe(y.dl()), "f32[3,2]");
  EXPECT_EQ(y.dl().shape, y.raw().shape);  // a view's metadata is its own
}

TEST(Bridge, ATensorIsAnImageAndBack) {
  Tensor x(DType::u8, {4, 5, 3});
  mote_image& image = as_image(x);
  EXPECT_EQ(static_cast<void*>(&image), static_cast<void*>(&x));
  EXPECT_EQ(image.rows, 4);
  EXPECT_EQ(image.cols, 5);
  EXPECT_EQ(image.channels, 3);
  EXPECT_EQ(image.step, 15);
  static_cast<std::uint8_t*>(image.data)[image.step * 2 + image.column_step * 1 + 2] = 77;
  EXPECT_EQ(x.integer_at({2, 1, 2}), 77);
  EXPECT_EQ(&as_tensor(image), &x);
  image.rows = 2;  // the crop shows under both names
  EXPECT_EQ(x.shape(), AxisList({2, 5, 3}));
}

TEST(Bridge, SomeonesPixelsBecomeATensor) {
  std::vector<float> pixels(24, 0);  // rows of 2 pixels of 3 channels, padded to 8
  pixels[8 + 3 + 1] = 42;
  mote_image image;
  set_image(image, pixels.data(), DType::f32, 3, 2, 3, 8);
  const Tensor& x = as_tensor(image);
  EXPECT_EQ(x.strides(), AxisList({8, 3, 1}));
  EXPECT_EQ(x.real_at({1, 1, 1}), 42);
  const Tensor kept = x.select(2, 1);  // a copy of the metadata, which outlives the struct
  image = {};
  EXPECT_EQ(kept.real_at({1, 1}), 42);
}

TEST(Bridge, OnlyThreeAxesAreAnImage) {
  Tensor x(DType::u8, {4, 5});
  expect_error(MOTE_INVALID, "needs 3 axes (rows, columns, channels), got u8[4,5]",
               [&] { as_image(x); });
  mote_image image = {};
  expect_error(MOTE_INVALID, "needs 3 axes (rows, columns, channels), got 0",
               [&] { as_tensor(image); });
  image.axes = 3;
  expect_error(MOTE_INVALID, "extents must point to rows", [&] { as_tensor(image); });
  image.extents = &image.rows;
  image.strides = &image.step;
  expect_error(MOTE_INVALID, "unknown element type", [&] { as_tensor(image); });
  image.dtype = to_dlpack(DType::u8);
  image.rows = -1;
  expect_error(MOTE_INVALID, "must be at least 0, got -1", [&] { as_tensor(image); });
  image.rows = INT64_MAX;
  image.cols = image.channels = image.step = 2;
  expect_error(MOTE_INVALID, "64-bit overflow", [&] { as_tensor(image); });
  expect_error(MOTE_INVALID, "must be at least 0, got -2",
               [&] { set_image(image, nullptr, DType::u8, -2, 2, 3, 6); });
}

TEST(Bridge, DLPackOutSharesMemoryUntilItIsDeleted) {
  FailingAllocator counting;
  DLManagedTensor* managed = nullptr;
  {
    const Tensor x(DType::i32, {2, 4}, counting.hook());
    x.set({1, 2}, 9);
    managed = export_dlpack(x.slice(1, 2, 2), counting.hook());
    EXPECT_EQ(x.owners(), 2);
  }
  EXPECT_EQ(counting.live, 2);
  EXPECT_EQ(describe(managed->dl_tensor), "i32[2,2]");
  const auto* at = static_cast<const char*>(managed->dl_tensor.data) +
                   managed->dl_tensor.byte_offset + 4 * managed->dl_tensor.strides[0];
  EXPECT_EQ(*reinterpret_cast<const std::int32_t*>(at), 9);
  managed->deleter(managed);
  EXPECT_EQ(counting.live, 0);
}

/// A DLPack tensor of another owner, which reports its deletion.
struct Foreign {
  std::vector<float> memory = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::int64_t> shape = {2, 3};
  std::vector<std::int64_t> strides = {4, 1};
  int deleted = 0;
  DLManagedTensor managed = {
      .dl_tensor = {.data = memory.data(),
                    .device = {kDLCPU, 0},
                    .ndim = 2,
                    .dtype = to_dlpack(DType::f32),
                    .shape = shape.data(),
                    .strides = strides.data(),
                    .byte_offset = 4},
      .manager_ctx = this,
      .deleter = [](DLManagedTensor* m) { ++static_cast<Foreign*>(m->manager_ctx)->deleted; }};
};

TEST(Bridge, DLPackInIsTakenOverWithoutACopy) {
  Foreign foreign;
  {
    Tensor kept;
    {
      const Tensor x = import_dlpack(&foreign.managed);
      EXPECT_EQ(x.data(), foreign.memory.data() + 1);
      EXPECT_EQ(x.real_at({1, 2}), 7);
      kept = x.select(0, 0);
    }
    EXPECT_EQ(foreign.deleted, 0);
    EXPECT_EQ(kept.real_at({2}), 3);
  }
  EXPECT_EQ(foreign.deleted, 1);
}

TEST(Bridge, ARoundTripKeepsTheAddress) {
  const Tensor x(DType::bf16, {3, 3});
  const Tensor y = import_dlpack(export_dlpack(x.permute({1, 0})));
  EXPECT_EQ(y.data(), x.data());
  EXPECT_EQ(y.strides(), AxisList({1, 3}));
}

TEST(Bridge, ABadDLPackStaysWithItsOwner) {
  struct Case {
    const char* part;
    void (*spoil)(Foreign&);
  };
  const Case cases[] = {
      {"at most 12 axes, got 13", [](Foreign& f) { f.managed.dl_tensor.ndim = 13; }},
      {"at most 12 axes, got -1", [](Foreign& f) { f.managed.dl_tensor.ndim = -1; }},
      {"the shape is null", [](Foreign& f) { f.managed.dl_tensor.shape = nullptr; }},
      {"unknown element type in dlpack(2,32,4)[2,3]",
       [](Foreign& f) { f.managed.dl_tensor.dtype.lanes = 4; }},
      {"unknown element type",
       [](Foreign& f) {
         f.managed.dl_tensor.dtype = {kDLUInt, 16, 1};
       }},
      {"at least 0, got -2", [](Foreign& f) { f.shape[0] = -2; }},
      {"64-bit overflow", [](Foreign& f) { f.strides[0] = INT64_MAX; }},
      {"64-bit overflow",
       [](Foreign& f) {
         f.shape = {INT64_MAX, 2};
         f.managed.dl_tensor.shape = f.shape.data();
         f.managed.dl_tensor.strides = nullptr;
       }},
      {"not aligned", [](Foreign& f) { f.managed.dl_tensor.byte_offset = 1; }},
      {"has no data",
       [](Foreign& f) {
         f.managed.dl_tensor.data = nullptr;
         f.managed.dl_tensor.byte_offset = 0;
       }},
      {"device ids are 0..4095, got 5000",
       [](Foreign& f) { f.managed.dl_tensor.device.device_id = 5000; }},
  };
  for (const Case& c : cases) {
    Foreign foreign;
    c.spoil(foreign);
    expect_error(MOTE_INVALID, c.part, [&] { (void)import_dlpack(&foreign.managed); });
    EXPECT_EQ(foreign.deleted, 0) << c.part;
  }
  expect_error(MOTE_INVALID, "the tensor is null", [] { (void)import_dlpack(nullptr); });
}

}  // namespace
}  // namespace mote
