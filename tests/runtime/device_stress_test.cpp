// SPDX-License-Identifier: Apache-2.0
// Tests threads that share streams of a device, with errors that arrive late. Tensors are dropped
// as soon as they are enqueued: memory that is released too early is an error of the device, which
// tracks its memory.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/runtime/status.h"
#include "mote/runtime/stream.h"
#include "runtime/late_device.h"

namespace mote {
namespace {

using test::LateDevice;

/// The actions of one thread on streams and events that it shares.
class Driver {
 public:
  Driver(Context& context, std::vector<Stream>& streams, const std::vector<Event>& events)
      : context_(context), streams_(streams), events_(events) {}

  void step(std::mt19937& random) {
    const auto below = [&](std::size_t bound) { return random() % bound; };
    Stream& stream = streams_[below(streams_.size())];
    const Event& event = events_[below(events_.size())];
    try {
      switch (below(10)) {
        case 0:
          return stream.record(event);
        case 1:
          return stream.wait(event);
        case 2:
          if (below(8) == 0) stream.synchronize();
          return;
        case 3:
          if (below(8) == 0) event.synchronize();
          return;
        case 4:
          (void)stream.is_idle();
          return;
        case 5:
          if (below(10) == 0) late_.fail(static_cast<int>(below(3)));
          return;
        default:
          give(stream);
      }
    } catch (const StatusError& e) {
      ++errors;
      if (std::string(e.what()).find("the task fails") == std::string::npos) ++unexpected;
    }
  }

  std::atomic<int> errors = 0;
  std::atomic<int> unexpected = 0;

 private:
  void give(Stream& stream) {
    const Tensor x(DType::f32, {16}, device_);
    Tensor y(DType::f32, {16}, device_);
    const RunOptions options{.backends = late_.backends(), .context = &context_};
    run(Command("neg"), {&x}, {&y}, stream, options);
    run(Command("add"), {&x, &y}, {&y}, stream, options);
    copy(x, y, stream);
  }

  Context& context_;
  std::vector<Stream>& streams_;
  const std::vector<Event>& events_;
  const LateDevice& late_ = LateDevice::get();
  const Device device_ = Device::find("late");
};

TEST(DeviceStress, SharedStreamsForgetNothingTooEarly) {
  const LateDevice& late = LateDevice::get();
  const Device device = Device::find("late");
  const int live = late.live();
  int errors = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Context context({.workers = 2});
    {
      std::vector<Stream> streams;
      for (int k = 0; k < 3; ++k) streams.emplace_back(context, device);
      streams.emplace_back(context);
      const std::vector<Event> events(3);
      Driver driver(context, streams, events);
      std::vector<std::thread> threads;
      for (unsigned t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
          std::mt19937 random(10 * seed + t);
          for (int k = 0; k < 150; ++k) driver.step(random);
        });
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(driver.unexpected, 0);
      errors += driver.errors;
    }
    late.fail(-1);
  }
  EXPECT_GT(errors, 0);
  EXPECT_EQ(late.live(), live) << "something was not given back";
}

}  // namespace
}  // namespace mote
