// SPDX-License-Identifier: Apache-2.0
// Tests tensors: sizes from metadata, memory, sharing, layouts.
#include "mote/runtime/tensor.h"

#include <gtest/gtest.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <typeinfo>

#include "mote/runtime/status.h"
#include "runtime/expect_error.h"
#include "runtime/failing_allocator.h"

namespace mote {
namespace {

using test::expect_error;
using test::FailingAllocator;

TEST(Tensor, IsRowMajorAlignedAndOwnsItsMemory) {
  for (const DType dtype : all_dtypes()) {
    const Tensor x(dtype, {2, 3, 4});
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_EQ(x.strides(), AxisList({12, 4, 1}));
    EXPECT_EQ(x.element_count(), 24);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()) % kAlignment, 0U);
    EXPECT_TRUE(x.is_contiguous());
    EXPECT_EQ(x.owners(), 1);
  }
}

template <typename T>
void expect_taken(T number, double expected) {
  const Tensor x(DType::f64, {2});
  fill(x, number);
  EXPECT_EQ(x.real_at({1}), expected) << typeid(T).name();
  fill(x, 9.0);
  x.set({1}, number);
  EXPECT_EQ(x.real_at({1}), expected) << typeid(T).name();
}

/// No type is ambiguous, and none is converted to one that does not hold its value.
TEST(Tensor, TakesNumbersOfEveryArithmeticType) {
  expect_taken(0, 0);
  expect_taken(3U, 3);
  expect_taken(-4L, -4);
  expect_taken(5LL, 5);
  expect_taken(std::size_t{6}, 6);
  expect_taken(std::uint64_t{1} << 63U, 0x1p63);
  expect_taken(static_cast<short>(-7), -7);
  expect_taken(std::uint8_t{8}, 8);
  expect_taken('a', 97);
  expect_taken(true, 1);
  expect_taken(0.5F, 0.5);
  expect_taken(0.25, 0.25);
  expect_taken(0.125L, 0.125);
  const Tensor y(DType::i64, {1});
  fill(y, INT64_MAX);
  EXPECT_EQ(y.integer_at({0}), INT64_MAX);
}

TEST(Tensor, HasUpToTwelveAxes) {
  const Tensor x(DType::f32, {2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 3});
  x.set({1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2}, 7);
  EXPECT_EQ(x.real_at({1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2}), 7);
  const std::vector<std::int64_t> thirteen(13, 1);
  expect_error(MOTE_INVALID, "at most 12 axes, got 13",
               [&] { const Tensor y(DType::f32, thirteen); });
}

TEST(Tensor, SizesAreCheckedBeforeMemoryIsAskedFor) {
  FailingAllocator counting;
  const std::int64_t big = std::int64_t{1} << 40;
  const auto make = [&](DType dtype, const AxisList& shape) {
    const Tensor x(dtype, shape, counting.hook());
  };
  expect_error(MOTE_INVALID, "must be at least 0, got -1 for axis 1 of f32[2,-1]", [&] {
    make(DType::f32, {2, -1});
  });
  expect_error(MOTE_INVALID, "beyond 2^63-1 bytes", [&] { make(DType::u8, {big, big}); });
  expect_error(MOTE_INVALID, "beyond 2^63-1 bytes", [&] { make(DType::f64, {INT64_MAX}); });
  expect_error(MOTE_INVALID, "beyond 2^63-1 bytes", [&] { make(DType::u8, {big, big, 0}); });
  expect_error(MOTE_OUT_OF_MEMORY, "does not fit", [&] { make(DType::u8, {INT64_MAX}); });
  EXPECT_EQ(counting.calls, 0);
}

TEST(Tensor, MetadataMayBeLargerThanMemory) {
  const Tensor x = Tensor::over(nullptr, DType::f32, {INT_MAX, 1024});
  EXPECT_EQ(x.element_count(), std::int64_t{INT_MAX} * 1024);
  const Tensor y = x.slice(0, INT_MAX - 1, 1);
  EXPECT_EQ(y.dl().byte_offset, (std::uint64_t{INT_MAX} - 1) * 4096);
  expect_error(MOTE_INVALID, "it has no data", [&] { (void)x.real_at({0, 0}); });
  expect_error(MOTE_INVALID, "it has no data", [&] { fill(x, 0.0); });
}

TEST(Tensor, StridesAreCheckedForOverflow) {
  const auto over = [](const AxisList& shape, const AxisList& strides) {
    (void)Tensor::over(nullptr, DType::f64, shape, strides);
  };
  const std::int64_t big = INT64_MAX / 2;
  expect_error(MOTE_INVALID, "needs 2 strides, got 1", [&] { over({2, 3}, {1}); });
  expect_error(MOTE_INVALID, "64-bit overflow", [&] { over({3}, {big}); });
  expect_error(MOTE_INVALID, "64-bit overflow", [&] { over({2, 2}, {big, big}); });
  expect_error(MOTE_INVALID, "64-bit overflow", [&] { over({2, 2}, {-big, big}); });
  expect_error(MOTE_INVALID, "64-bit overflow", [&] { over({big, big}, {0, 0}); });
  over({1, 4}, {INT64_MIN, 1});  // the stride of an axis of one element has no effect
}

TEST(Tensor, MemoryIsGivenBackWithTheLastView) {
  FailingAllocator counting;
  {
    Tensor view;
    {
      const Tensor x(DType::i32, {4, 5}, counting.hook());
      view = x.slice(0, 1, 2);
      EXPECT_EQ(x.owners(), 2);
      EXPECT_EQ(counting.calls, 1);
    }
    EXPECT_EQ(view.owners(), 1);
    EXPECT_EQ(counting.live, 1);
    view.set({1, 4}, 9);
    const Tensor& same = view;
    view = same;
    EXPECT_EQ(view.integer_at({1, 4}), 9);
  }
  EXPECT_EQ(counting.live, 0);
}

TEST(Tensor, EveryAllocationMayFail) {
  std::int32_t memory[4] = {};
  const Tensor x = Tensor::over(memory, DType::i32, {4});
  int failures = 0;
  for (int n = 0;; ++n) {
    FailingAllocator failing{.fails_from = n};
    try {
      const Tensor y(DType::f32, {100}, failing.hook());
      const Tensor z = clone(x, failing.hook());
      DLManagedTensor* managed = export_dlpack(z, failing.hook());
      try {
        const Tensor back = import_dlpack(managed, failing.hook());
      } catch (const StatusError&) {
        managed->deleter(managed);  // the test still owns it
        throw;
      }
      EXPECT_EQ(failing.calls, 4);
      EXPECT_EQ(n, 4);
      break;
    } catch (const StatusError& e) {
      EXPECT_EQ(e.status(), MOTE_OUT_OF_MEMORY) << e.what();
      ++failures;
    }
    EXPECT_EQ(failing.live, 0) << n;
  }
  EXPECT_EQ(failures, 4);
}

TEST(Tensor, ABadAllocatorIsAnError) {
  expect_error(MOTE_INVALID, "must be given, got null",
               [] { const Tensor x(DType::f32, {1}, Allocator{}); });
  expect_error(MOTE_INVALID, "must be given, got null", [] { set_default_allocator({}); });
  static char memory[256];
  const Allocator unaligned = {
      [](void*, std::size_t, std::size_t) {
        const auto odd = (reinterpret_cast<std::uintptr_t>(memory) + 63) / 64 * 64 + 1;
        return reinterpret_cast<void*>(odd);  // NOLINT(performance-no-int-to-ptr)
      },
      [](void*, void*, std::size_t, std::size_t) {}, nullptr};
  expect_error(MOTE_FAILED, "not aligned to 64",
               [&] { const Tensor x(DType::f32, {1}, unaligned); });
}

TEST(Tensor, TheDefaultAllocatorCanBeReplaced) {
  FailingAllocator counting;
  set_default_allocator(counting.hook());
  {
    const Tensor x(DType::f32, {3});
    set_default_allocator(system_allocator());
    EXPECT_EQ(counting.live, 1);
  }
  EXPECT_EQ(counting.live, 0);
}

TEST(Tensor, LayoutsOrderMemoryNotAxes) {
  const AxisList shape = {2, 3, 5, 7};
  EXPECT_EQ(Tensor(DType::f32, shape, Layout::nchw).strides(), AxisList({105, 35, 7, 1}));
  EXPECT_EQ(Tensor(DType::f32, shape, Layout::nhwc).strides(), AxisList({105, 1, 21, 3}));
  EXPECT_EQ(Tensor(DType::f32, shape, Layout::chwn).strides(), AxisList({1, 70, 14, 2}));
  EXPECT_EQ(Tensor(DType::f32, shape, Layout::chwn).shape(), shape);
  expect_error(MOTE_INVALID, "a layout orders 4 axes (N, C, H, W), got f32[2,3]", [] {
    const Tensor x(DType::f32, {2, 3}, Layout::nhwc);
  });
}

TEST(Tensor, DeviceIdsEndAt4095) {
  const auto on = [](int id) { return Tensor::over(nullptr, DType::f32, {2}, {1}, {kDLCUDA, id}); };
  EXPECT_EQ(on(4095).device().device_id, 4095);
  expect_error(MOTE_INVALID, "device ids are 0..4095, got 4096", [&] { on(4096); });
  expect_error(MOTE_INVALID, "device ids are 0..4095, got -1", [&] { on(-1); });
  expect_error(MOTE_UNSUPPORTED, "not in the host's memory", [&] { (void)on(0).real_at({0}); });
}

TEST(Tensor, KnowsWhetherElementsShareMemory) {
  const auto distinct = [](const AxisList& shape, const AxisList& strides) {
    return Tensor::over(nullptr, DType::f32, shape, strides).is_distinct();
  };
  EXPECT_TRUE(distinct({2, 3}, {3, 1}));
  EXPECT_TRUE(distinct({2, 3}, {-1, 2}));
  EXPECT_TRUE(distinct({1, 3}, {0, 1}));
  EXPECT_TRUE(distinct({4, 0}, {0, 0}));
  EXPECT_FALSE(distinct({2, 3}, {0, 1}));
  EXPECT_FALSE(distinct({3, 3}, {1, 1}));
  EXPECT_FALSE(distinct({2, 3}, {2, 1}));
}

TEST(Tensor, TheDefaultHasNoElements) {
  const Tensor x;
  EXPECT_EQ(describe(x), "f32[0]");
  EXPECT_EQ(x.data(), nullptr);
  EXPECT_EQ(x.owners(), 0);
  expect_error(MOTE_INVALID, "axis 1 of f32[0], which has 1 axes", [&] { (void)x.extent(1); });
}

}  // namespace
}  // namespace mote
