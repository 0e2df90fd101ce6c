// SPDX-License-Identifier: Apache-2.0
// Tests streams on a device: the runtime does not wait for work given to the device, host work is
// ordered with it; events, errors that arrive late, and memory that lives as long as it is used.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/runtime/operation.h"
#include "mote/runtime/stream.h"
#include "runtime/expect_error.h"
#include "runtime/late_device.h"

namespace mote {
namespace {

using test::expect_error;
using test::Held;
using test::LateDevice;

class DeviceStreams : public testing::Test {
 protected:
  DeviceStreams() : live_(late_.live()) {}
  ~DeviceStreams() override { EXPECT_EQ(late_.live(), live_) << "something was not given back"; }

  void neg(const Tensor& x, Tensor& y, Stream& stream) {
    run(Command("neg"), {&x}, {&y}, stream, {.backends = late_.backends()});
  }
  void add(const Tensor& a, const Tensor& b, Tensor& y, Stream& stream) {
    run(Command("add"), {&a, &b}, {&y}, stream, {.backends = late_.backends()});
  }
  Tensor filled(double value) {
    Tensor x(DType::f32, {64}, device_);
    fill(x, value);
    return x;
  }

  const LateDevice& late_ = LateDevice::get();
  const Device device_ = Device::find("late");
  int live_;
};

double first(const Tensor& x) {
  Tensor y(x.dtype(), x.shape());
  copy(x, y);
  return y.real_at({0});
}

TEST_F(DeviceStreams, WorkIsGivenInOrderAndNotWaitedFor) {
  Context context({.workers = 1});
  Stream stream(context, device_);
  EXPECT_EQ(stream.device(), device_);
  Tensor x = filled(1), y = filled(0), z = filled(0);
  Tensor result(DType::f32, {64});
  Held held;
  neg(x, y, stream);
  add(x, y, z, stream);
  add(z, y, z, stream);
  copy(z, result, stream);
  EXPECT_FALSE(stream.is_idle());
  held.open();
  stream.synchronize();
  EXPECT_TRUE(stream.is_idle());
  EXPECT_EQ(result.real_at({63}), -1);
}

/// Operations of the device are given at once; the host's function waits for what comes before it.
TEST_F(DeviceStreams, AListOfOperationsIsInOrder) {
  Context context({.workers = 1});
  Stream stream(context, device_);
  Tensor x = filled(1), y = filled(0), z = filled(0);
  const Tensor result(DType::f32, {64});
  double seen = 0;
  const RunOptions options = {.backends = late_.backends()};
  const Operation all[] = {FillOperation{x, 3.0},
                           RunOperation{Command("neg"), {x}, {y}, options},
                           RunOperation{Command("add"), {x, y}, {z}, options},
                           CopyOperation{y, result},
                           CallOperation{[&] { seen = result.real_at({9}); }},
                           RunOperation{Command("neg"), {y}, {x}, options},
                           CopyOperation{x, result}};
  std::vector<PreparedOperation> prepared;
  for (const Operation& operation : all) prepared.push_back(prepare(operation, context));
  std::vector<PreparedOperation*> list;
  for (PreparedOperation& operation : prepared) list.push_back(&operation);
  for (int round = 0; round < 2; ++round) {
    Held held;
    run(list, stream);
    EXPECT_FALSE(stream.is_idle());
    held.open();
    stream.synchronize();
    EXPECT_EQ(seen, -3);
    EXPECT_EQ(first(z), 0);
    EXPECT_EQ(result.real_at({63}), 3);
  }
  PreparedOperation failing =
      prepare(CallOperation{[] { throw StatusError(MOTE_INVALID, "oops"); }}, context);
  PreparedOperation* const broken[] = {list[1], list[2], &failing, list[1]};
  run(broken, stream);
  expect_error(MOTE_INVALID, "operation 2: oops", [&] { stream.synchronize(); });
}

TEST_F(DeviceStreams, AnOperationMayHaveATextOfItsOwn) {
  Context context({.workers = 1});
  Stream stream(context, device_);
  const Tensor x = filled(1), y = filled(0);
  PreparedOperation negates =
      prepare(RunOperation{Command("neg"), {x}, {y}, {.backends = late_.backends()}}, context);
  EXPECT_EQ(negates.text(), "neg");
  negates.set_text("node 7 'h'");
  EXPECT_EQ(negates.text(), "node 7 'h'");
  PreparedOperation* const list[] = {&negates};
  late_.fail(0);
  run(list, stream);
  expect_error(MOTE_FAILED, "node 7 'h': late: the task fails", [&] { stream.synchronize(); });
  late_.fail(-1);
}

TEST_F(DeviceStreams, TheHostsWorkBeginsWhenWhatWasGivenIsDone) {
  Context context({.workers = 1});
  Stream stream(context, device_);
  Tensor x = filled(1), y = filled(0);
  Tensor result(DType::f32, {64});
  double seen = 0;
  std::optional<Held> held(std::in_place);
  neg(x, y, stream);
  copy(y, result, stream);
  stream.enqueue([&] { seen = result.real_at({5}); });
  stream.enqueue([&] { fill(result, 7.0); });
  copy(result, x, stream);
  neg(x, y, stream);
  held.reset();
  stream.synchronize();
  EXPECT_EQ(seen, -1);
  EXPECT_EQ(first(y), -7);
}

TEST_F(DeviceStreams, CommandsOfTheHostsTensorsAreInOrderToo) {
  Context context({.workers = 2});
  Stream stream(context, device_);
  const Tensor x = filled(3);
  Tensor host(DType::f32, {64}), negated(DType::f32, {64});
  copy(x, host, stream);
  run(Command("neg"), {&host}, {&negated}, stream);
  stream.synchronize();
  EXPECT_EQ(negated.real_at({0}), -3);
}

TEST_F(DeviceStreams, AnEventIsOverWhenTheDeviceSaysSo) {
  Context context({.workers = 1});
  Stream stream(context, device_);
  Tensor x = filled(1), y = filled(0);
  const Event event;
  stream.record(event);  // no work is queued
  event.synchronize();
  Held held;
  neg(x, y, stream);
  stream.record(event);
  EXPECT_FALSE(event.is_over());
  held.open();
  event.synchronize();
  EXPECT_TRUE(event.is_over());
  EXPECT_EQ(first(y), -1);
}

TEST_F(DeviceStreams, AStreamOfTheDeviceLeavesWaitingToIt) {
  Context context({.workers = 1});
  Stream a(context, device_), b(context, device_), host(context);
  Tensor x = filled(1), y = filled(0), z = filled(0);
  const Event of_a, given;
  Held held;
  neg(x, y, a);
  a.record(of_a);
  b.wait(of_a);
  neg(y, z, b);
  // The one worker is free: neither stream occupies it while the device is held.
  bool ran = false;
  host.enqueue([&] { ran = true; });
  host.synchronize();
  EXPECT_TRUE(ran);
  EXPECT_FALSE(b.is_idle());
  held.open();
  b.synchronize();
  EXPECT_EQ(first(z), 1);
}

TEST_F(DeviceStreams, WhatTheDeviceIsLeftToWaitForComesFirst) {
  Context context({.workers = 1});
  Stream a(context, device_), b(context, device_);
  Tensor x = filled(1), y = filled(0), z = filled(0);
  const Event of_a;
  Held held(LateDevice::Hold::oldest);
  neg(x, y, a);
  a.record(of_a);
  b.wait(of_a);
  neg(y, z, b);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // b could go on in this time
  held.open();
  b.synchronize();
  EXPECT_EQ(first(z), 1);
}

TEST_F(DeviceStreams, AStreamOfTheHostWaitsForTheDevice) {
  Context context({.workers = 2});
  Stream on(context, device_), host(context);
  Tensor x = filled(4), y = filled(0);
  Tensor result(DType::f32, {64});
  const Event event, back;
  double seen = 0;
  Held held;
  neg(x, y, on);
  copy(y, result, on);
  on.record(event);
  host.wait(event);
  host.enqueue([&] { seen = result.real_at({0}); });
  host.enqueue([&] { fill(result, 9.0); });
  host.record(back);
  on.wait(back);
  copy(result, x, on);
  held.open();
  on.synchronize();
  EXPECT_EQ(seen, -4);
  EXPECT_EQ(first(x), 9);
}

TEST_F(DeviceStreams, TensorsLiveAsLongAsTheyAreUsed) {
  Context context({.workers = 1});
  Stream stream(context, device_);
  Tensor y = filled(0);
  {
    const Held held;
    Tensor x(DType::f32, {64}, device_), z(DType::f32, {64}, device_);
    const Tensor host(DType::f32, {64});
    fill(host, 6.0);
    copy(host, x, stream);
    neg(x, z, stream);
    neg(z, y, stream);
  }
  stream.synchronize();
  EXPECT_EQ(first(y), 6);
  EXPECT_EQ(late_.live(), live_ + 2);  // y and the stream
}

TEST_F(DeviceStreams, MuchWorkHoldsNothingOnceItIsDone) {
  Context context({.workers = 1});
  Stream stream(context, device_);
  Tensor x = filled(1);
  for (int k = 0; k < 301; ++k) neg(x, x, stream);
  stream.synchronize();
  EXPECT_EQ(first(x), -1);
  EXPECT_EQ(late_.live(), live_ + 2);
}

TEST_F(DeviceStreams, AnErrorThatArrivesLateSaysWhatWasUnderWay) {
  Context context({.workers = 1});
  Stream stream(context, device_);
  Tensor x = filled(1), y = filled(0);
  Held held;
  neg(x, y, stream);
  add(x, y, y, stream);
  late_.fail(0);
  held.open();
  expect_error(MOTE_FAILED, "neg", [&] { stream.synchronize(); });
  late_.fail(-1);
  neg(x, y, stream);  // the stream starts again
  stream.synchronize();
  EXPECT_EQ(first(y), -1);
}

TEST_F(DeviceStreams, AnErrorReachesWhoeverWaits) {
  Context context({.workers = 2});
  Stream on(context, device_), host(context), other(context, device_);
  Tensor x = filled(1), y = filled(0);
  const Event event;
  bool ran = false;
  {
    const Held held;
    neg(x, y, on);
    on.record(event);
    host.wait(event);
    host.enqueue([&] { ran = true; });
    on.enqueue([&] { ran = true; });
    late_.fail(0);
  }
  expect_error(MOTE_FAILED, "late: the task fails", [&] { host.synchronize(); });
  expect_error(MOTE_FAILED, "late: the task fails", [&] { event.synchronize(); });
  expect_error(MOTE_FAILED, "neg: late: the task fails", [&] { on.synchronize(); });
  EXPECT_FALSE(ran);
  late_.fail(-1);
  on.enqueue([&] { ran = true; });
  on.synchronize();
  EXPECT_TRUE(ran);
}

TEST_F(DeviceStreams, AnErrorIsNotLostWhereWorkGoesOn) {
  Context context({.workers = 1});
  Stream stream(context, device_);
  Tensor x = filled(1), y = filled(0);
  late_.fail(0);
  neg(x, y, stream);
  const Event event;
  stream.record(event);
  try {
    event.synchronize();
  } catch (const StatusError&) {  // the error is reported later
  }
  for (int k = 0; k < 5; ++k) neg(x, y, stream);
  expect_error(MOTE_FAILED, "late: the task fails", [&] { stream.synchronize(); });
  late_.fail(-1);
}

TEST_F(DeviceStreams, AStreamThatEndsWaits) {
  Context context({.workers = 1});
  Tensor x = filled(2), y = filled(0);
  {
    Stream stream(context, device_);
    neg(x, y, stream);
    Stream moved(std::move(stream));
    neg(y, x, moved);
  }
  EXPECT_EQ(first(x), 2);
}

TEST_F(DeviceStreams, ManyStreamsOnFewThreads) {
  Context context({.workers = 2});
  std::vector<Stream> streams;
  std::vector<Tensor> tensors;
  for (int k = 0; k < 8; ++k) {
    streams.emplace_back(context, device_);
    tensors.push_back(filled(k));
  }
  const Event event;
  for (int round = 0; round < 40; ++round)
    for (std::size_t k = 0; k < streams.size(); ++k) {
      neg(tensors[k], tensors[k], streams[k]);
      streams[k].record(event);
      streams[(k + 1) % streams.size()].wait(event);
    }
  for (Stream& stream : streams) stream.synchronize();
  for (int k = 0; k < 8; ++k) EXPECT_EQ(first(tensors[static_cast<std::size_t>(k)]), k);
}

}  // namespace
}  // namespace mote
