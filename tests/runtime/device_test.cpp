// SPDX-License-Identifier: Apache-2.0
// Tests tensors on a device: memory, copies of any layout and dtype, and commands that are done
// when they return.
#include "mote/runtime/device.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "mote/mote.h"
#include "mote/runtime/context.h"
#include "mote/runtime/prepared.h"
#include "mote/runtime/tensor.h"
#include "mote/runtime/tune.h"
#include "runtime/expect_error.h"
#include "runtime/late_device.h"

namespace mote {
namespace {

using test::expect_error;
using test::LateDevice;

class OnDevice : public testing::Test {
 protected:
  OnDevice() : live_(late_.live()) {}
  ~OnDevice() override { EXPECT_EQ(late_.live(), live_) << "something was not given back"; }

  const LateDevice& late_ = LateDevice::get();
  const Device device_ = Device::find("late");
  int live_;
};

/// Returns 0, 1, 2, … in row-major order.
Tensor counted(DType dtype, const AxisList& shape, double first = 0) {
  Tensor x(dtype, {Tensor(dtype, shape).element_count()});
  for (std::int64_t k = 0; k < x.element_count(); ++k) x.set({k}, first + static_cast<double>(k));
  return x.reshape(shape);
}

std::vector<double> values(const Tensor& x) {
  std::vector<double> all;
  const Tensor flat = clone(x).reshape({x.element_count()});
  for (std::int64_t k = 0; k < flat.element_count(); ++k) all.push_back(flat.real_at({k}));
  return all;
}

/// Returns the elements of a device's tensor, copied to the host.
std::vector<double> values_on(const Tensor& x) {
  Tensor y(x.dtype(), x.shape());
  copy(x, y);
  return values(y);
}

TEST_F(OnDevice, IsFoundByItsNameAndByItsTensors) {
  EXPECT_STREQ(device_.name(), "late");
  EXPECT_EQ(Device::of(device_.dl()), device_);
  EXPECT_FALSE(Device::of({kDLCPU, 0}));
  EXPECT_FALSE(Device::of({kDLExtDev, 2}));
  EXPECT_GE(loaded_devices().size(), 1U);
}

TEST_F(OnDevice, SaysWhatThereIsAndWhyItCannotBeUsed) {
  expect_error(MOTE_UNSUPPORTED, "no plug-in that was loaded offers 'later'; what they offer: late",
               [] { Device::find("later"); });
  late_.switch_off(true);
  expect_error(MOTE_UNSUPPORTED, "late: it was switched off", [] { Device::find("late"); });
  late_.switch_off(false);
}

TEST_F(OnDevice, ATensorIsCountedMemoryThere) {
  {
    const Tensor x(DType::f32, {3, 4}, device_);
    EXPECT_EQ(x.device().device_type, kDLExtDev);
    EXPECT_TRUE(x.owns_memory());
    const Tensor view = x.slice(1, 0, 2);
    EXPECT_EQ(x.owners(), 2);
    EXPECT_EQ(late_.live(), live_ + 1);
    expect_error(MOTE_UNSUPPORTED, "not in the host's memory", [&] { (void)x.real_at({0, 0}); });
  }
  EXPECT_EQ(late_.live(), live_);
  EXPECT_EQ(Tensor(DType::f32, {0, 4}, device_).data(), nullptr);
}

TEST_F(OnDevice, MemoryThatEndsAndFunctionsThatThrowAreErrors) {
  expect_error(MOTE_OUT_OF_MEMORY, "late: no memory",
               [&] { Tensor(DType::f64, {std::int64_t{1} << 40}, device_); });
  late_.throw_in_allocate(1);
  expect_error(MOTE_FAILED, "late: it threw an exception",
               [&] { Tensor(DType::f64, {1}, device_); });
}

TEST_F(OnDevice, ElementsComeAndGo) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i32, DType::u8}) {
    const Tensor x = counted(dtype, {2, 3, 4});
    const Tensor on(dtype, {2, 3, 4}, device_);
    copy(x, on);
    EXPECT_EQ(values_on(on), values(x));
    EXPECT_EQ(values_on(clone(on)), values(x));
    EXPECT_EQ(clone(on).device().device_type, kDLExtDev);
  }
}

TEST_F(OnDevice, AScalarAndNothingAtAll) {
  const Tensor one(DType::f32, {}, device_);
  fill(one, 2.5);
  EXPECT_EQ(values_on(one), std::vector<double>{2.5});
  const Tensor none(DType::f32, {3, 0}, device_);
  copy(Tensor(DType::f32, {3, 0}), none);
  fill(none, 1.0);
}

TEST_F(OnDevice, TheHostConvertsDTypesOnTheWay) {
  const Tensor x = counted(DType::f64, {2, 3}, 0.5);
  const Tensor on(DType::i32, {2, 3}, device_);
  copy(x, on);
  const std::vector<double> cut = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(values_on(on), cut);
  const Tensor half(DType::f16, {2, 3}, device_);
  copy(on, half);  // within the device
  Tensor y(DType::f64, {2, 3});
  copy(half, y);
  EXPECT_EQ(values(y), cut);
}

TEST_F(OnDevice, LayoutsArePermutedAndBroadcast) {
  const Tensor x = counted(DType::f32, {2, 3, 4});
  const Tensor on(DType::f32, {4, 2, 3}, device_);
  const Tensor seen = on.permute({1, 2, 0});
  copy(x, seen);
  EXPECT_EQ(values_on(seen), values(x));
  EXPECT_EQ(values_on(on), values(x.permute({2, 0, 1})));
  const Tensor row = counted(DType::f32, {4});
  copy(row, seen);
  EXPECT_EQ(values_on(seen), values(row.broadcast_to({2, 3, 4})));
  const Tensor on_row(DType::f32, {4}, device_);
  copy(row, on_row);
  EXPECT_EQ(values_on(on_row.broadcast_to({3, 4})), values(row.broadcast_to({3, 4})));
}

TEST_F(OnDevice, GapsStayAsTheyAre) {
  const Tensor all(DType::f32, {4, 6}, device_);
  fill(all, -1.0);
  const Tensor part = all.slice(0, 1, 2, 2).slice(1, 1, 3, 2);
  copy(counted(DType::f32, {2, 3}), part);
  EXPECT_EQ(values_on(part), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  int kept = 0;
  for (const double value : values_on(all)) kept += value == -1 ? 1 : 0;
  EXPECT_EQ(kept, 24 - 6);
  const Tensor backwards = all.slice(0, 3, 4, -1);
  copy(counted(DType::f32, {4, 6}), backwards);
  EXPECT_EQ(values_on(all.slice(0, 3, 1)), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_on(backwards), values(counted(DType::f32, {4, 6})));
}

TEST_F(OnDevice, OverlappingViewsAreReadFirst) {
  const Tensor x(DType::f32, {6}, device_);
  copy(counted(DType::f32, {6}), x);
  copy(x.slice(0, 0, 5), x.slice(0, 1, 5));
  EXPECT_EQ(values_on(x), (std::vector<double>{0, 0, 1, 2, 3, 4}));
  copy(x, x);
  EXPECT_EQ(values_on(x.slice(0, 5, 6, -1)), (std::vector<double>{4, 3, 2, 1, 0, 0}));
}

TEST_F(OnDevice, ACopyThatMakesNoSenseIsRefused) {
  const Tensor x(DType::f32, {2, 3}, device_);
  const Tensor y(DType::f32, {3, 2});
  expect_error(MOTE_INVALID, "", [&] { copy(x, y); });
  expect_error(MOTE_INVALID, "elements share memory", [&] {
    copy(Tensor(DType::f32, {2, 3}), x.slice(0, 0, 1).broadcast_to({2, 3}));
  });
  const Tensor nowhere = Tensor::over(nullptr, DType::f32, {3}, {1}, device_.dl());
  expect_error(MOTE_INVALID, "it has no data", [&] { copy(nowhere, Tensor(DType::f32, {3})); });
  int pixel = 0;
  const Tensor unknown = Tensor::over(&pixel, DType::f32, {1}, {1}, {kDLExtDev, 2});
  expect_error(MOTE_UNSUPPORTED, "no plug-in that was loaded offers its device",
               [&] { copy(unknown, Tensor(DType::f32, {1})); });
}

TEST_F(OnDevice, ACommandIsDoneWhenItReturns) {
  const Tensor x(DType::f32, {2, 3}, device_);
  Tensor y(DType::f32, {2, 3}, device_);
  copy(counted(DType::f32, {2, 3}, 1), x);
  const auto backends = late_.backends();
  run(Command("neg"), {&x}, {&y}, {.backends = backends});
  EXPECT_EQ(values_on(y), (std::vector<double>{-1, -2, -3, -4, -5, -6}));
  run(Command("add"), {&x, &y}, {&y}, {.backends = backends});  // computed in the workspace
  EXPECT_EQ(values_on(y), std::vector<double>(6, 0));
  PreparedCommand prepared(Command("add"), {&x, &x}, {&y}, {.backends = backends});
  EXPECT_EQ(prepared.device(), device_);
  EXPECT_EQ(prepared.workspace_bytes(), 24U);
  prepared.run();
  EXPECT_EQ(values_on(y), (std::vector<double>{2, 4, 6, 8, 10, 12}));
}

TEST_F(OnDevice, WhatTheKernelFailsAtLaterIsTheCommandsError) {
  const Tensor x(DType::f32, {2}, device_);
  Tensor y(DType::f32, {2}, device_);
  for (const char* op : {"neg", "add"}) {
    std::vector<const Tensor*> inputs = {&x};
    if (std::string_view(op) == "add") inputs.push_back(&x);
    Tensor* outputs[] = {&y};
    late_.fail(0);
    expect_error(MOTE_FAILED, std::string(op) + ": late: the task fails",
                 [&] { run(Command(op), inputs, outputs, {.backends = late_.backends()}); });
    run(Command(op), inputs, outputs, {.backends = late_.backends()});
  }
}

TEST_F(OnDevice, KernelsOfTheHostDeclineItsTensors) {
  const Tensor x(DType::f32, {2}, device_);
  Tensor y(DType::f32, {2}, device_);
  Tensor z(DType::f32, {2});
  expect_error(MOTE_UNSUPPORTED, "not in the host's memory",
               [&] { run(Command("relu"), {&x}, {&y}, {.backends = late_.backends()}); });
  expect_error(MOTE_UNSUPPORTED, "neg: no kernel takes tensors of several devices",
               [&] { run(Command("neg"), {&x}, {&z}, {.backends = late_.backends()}); });
}

TEST_F(OnDevice, TheContextLimitsWorkspaceThereToo) {
  const Tensor x(DType::f32, {100}, device_);
  Tensor y(DType::f32, {100}, device_);
  Context context({.workspace_limit = 399});
  expect_error(MOTE_OUT_OF_MEMORY, "a kernel needs 400 bytes of workspace", [&] {
    run(Command("add"), {&x, &x}, {&y}, {.backends = late_.backends(), .context = &context});
  });
}

TEST_F(OnDevice, IsTunedApartFromTheHost) {
  const auto all = late_.backends();
  Context context({.backends = {all.begin(), all.end()}});
  const Tensor x = counted(DType::f32, {64});
  Tensor y(DType::f32, {64});
  const Tensor on(DType::f32, {64}, device_);
  Tensor result(DType::f32, {64}, device_);
  copy(x, on);
  EXPECT_NE(autotune(Command("neg"), {&x}, {&y}, context).kernel, "late");
  EXPECT_EQ(autotune(Command("neg"), {&on}, {&result}, context).kernel, "late");
  run(Command("neg"), {&on}, {&result}, {.context = &context});
  EXPECT_EQ(values_on(result).back(), -63);
}

TEST_F(OnDevice, IsUsedFromC) {
  DLDataType f32;
  ASSERT_EQ(mote_dtype("f32", &f32), MOTE_OK);
  const std::int64_t shape[] = {3};
  mote_context* context = nullptr;
  mote_stream* stream = nullptr;
  mote_tensor *x = nullptr, *on = nullptr, *y = nullptr;
  ASSERT_EQ(mote_context_create(nullptr, &context), MOTE_OK);
  EXPECT_EQ(mote_stream_create_on(context, "later", &stream), MOTE_UNSUPPORTED);
  ASSERT_EQ(mote_stream_create_on(context, "late", &stream), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_tensor_create(f32, 1, shape, &x), MOTE_OK);
  ASSERT_EQ(mote_tensor_create(f32, 1, shape, &y), MOTE_OK);
  EXPECT_EQ(mote_tensor_create_on("later", f32, 1, shape, &on), MOTE_UNSUPPORTED);
  ASSERT_EQ(mote_tensor_create_on("late", f32, 1, shape, &on), MOTE_OK) << mote_last_error();
  ASSERT_EQ(mote_tensor_fill_real(x, 1.5), MOTE_OK);
  EXPECT_EQ(mote_stream_copy(stream, x, on), MOTE_OK) << mote_last_error();
  EXPECT_EQ(mote_stream_copy(stream, on, y), MOTE_OK) << mote_last_error();
  EXPECT_EQ(mote_stream_synchronize(stream), MOTE_OK) << mote_last_error();
  double value = 0;
  const std::int64_t index[] = {2};
  EXPECT_EQ(mote_tensor_real_at(y, index, &value), MOTE_OK);
  EXPECT_EQ(value, 1.5);
  EXPECT_EQ(mote_stream_copy(stream, nullptr, y), MOTE_INVALID);
  mote_stream_free(stream);
  for (mote_tensor* tensor : {x, on, y}) mote_tensor_free(tensor);
  mote_context_free(context);
}

}  // namespace
}  // namespace mote
