// SPDX-License-Identifier: Apache-2.0
// Tests that what follows a wait for another stream of the same device, on the device, on the host
// or in an event, comes after the awaited event.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "mote/runtime/context.h"
#include "mote/runtime/stream.h"
#include "runtime/late_device.h"

namespace mote {
namespace {

using test::Held;
using test::LateDevice;

class DeviceWaits : public testing::Test {
 protected:
  DeviceWaits() : live_(late_.live()) {}
  ~DeviceWaits() override { EXPECT_EQ(late_.live(), live_) << "something was not given back"; }

  Tensor filled_there(double value) {
    Tensor x(DType::f32, {64}, device_);
    fill(x, value);
    return x;
  }

  const LateDevice& late_ = LateDevice::get();
  const Device device_ = Device::find("late");
  int live_;
};

// Ways to wait for a stream's work.
void synchronize(Stream& stream) { stream.synchronize(); }
void synchronize_event(Stream& stream) {
  const Event event;
  stream.record(event);
  event.synchronize();
}
void await_event(Stream& stream) {
  const Event event;
  stream.record(event);
  while (!event.is_over()) std::this_thread::yield();
}
void await_idleness(Stream& stream) {
  while (!stream.is_idle()) std::this_thread::yield();
}

/// A stream whose last work is a wait is not done before what it waits for.
TEST_F(DeviceWaits, WhatFollowsAWaitIsAfterItsEvent) {
  Context context({.workers = 1});
  const Tensor x = filled_there(1), y = filled_there(0);
  for (const auto follow : {synchronize, synchronize_event, await_event, await_idleness}) {
    Stream a(context, device_), b(context, device_);
    const Event of_a;
    std::atomic<bool> is_open = false;
    Held held(LateDevice::Hold::oldest);
    copy(x, y, a);
    a.record(of_a);
    b.wait(of_a);
    std::thread opener([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      is_open = true;
      held.open();
    });
    follow(b);
    EXPECT_TRUE(is_open);
    opener.join();
  }
}

TEST_F(DeviceWaits, WorkOfTheHostFollowsAWaitForAnotherStream) {
  Context context({.workers = 1});
  Stream a(context, device_), b(context, device_);
  const Tensor x = filled_there(1);
  Tensor result(DType::f32, {64});
  fill(result, 0.0);
  const Event of_a;
  double seen = 0;
  Held held(LateDevice::Hold::oldest);
  copy(x, result, a);
  a.record(of_a);
  b.wait(of_a);
  b.enqueue([&] { seen = result.real_at({5}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // b could go on in this time
  held.open();
  b.synchronize();
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace mote
