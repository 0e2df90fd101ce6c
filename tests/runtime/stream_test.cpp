// SPDX-License-Identifier: Apache-2.0
// Tests streams and events: order, cycles, errors, the lifetime of tensors, destruction.
#include "mote/runtime/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "mote/runtime/context.h"
#include "runtime/expect_error.h"
#include "runtime/fake_backend.h"

namespace mote {
namespace {

using test::expect_error;
using test::FakeBackend;

/// Holds back a stream until the test opens it.
class Gate {
 public:
  std::function<void()> work() {
    return [future = opened_.get_future().share()] { future.wait(); };
  }
  void open() { opened_.set_value(); }

 private:
  std::promise<void> opened_;
};

TEST(Stream, WorkRunsInItsOrder) {
  Context context({.workers = 3});
  Stream stream(context);
  std::vector<int> order;
  for (int k = 0; k < 100; ++k) stream.enqueue([&order, k] { order.push_back(k); });
  stream.synchronize();
  ASSERT_EQ(order.size(), 100U);
  for (int k = 0; k < 100; ++k) EXPECT_EQ(order[static_cast<std::size_t>(k)], k);
  EXPECT_TRUE(stream.is_idle());
}

TEST(Stream, AnEventOrdersStreams) {
  Context context({.workers = 2});
  Stream a(context);
  Stream b(context);
  const Event event;
  Gate gate;
  int value = 0;
  int seen = -1;
  a.enqueue(gate.work());
  a.enqueue([&] { value = 7; });
  a.record(event);
  b.wait(event);
  b.enqueue([&] { seen = value; });
  EXPECT_FALSE(event.is_over());
  EXPECT_FALSE(b.is_idle());
  gate.open();
  b.synchronize();
  EXPECT_EQ(seen, 7);
  EXPECT_TRUE(event.is_over());
  event.synchronize();
}

TEST(Stream, ManyWaitOnOneThread) {
  Context context({.workers = 1});
  Stream first(context);
  const Event event;
  Gate gate;
  first.enqueue(gate.work());
  first.record(event);
  int sum = 0;
  std::vector<Stream> others;
  for (int k = 0; k < 50; ++k) {
    others.emplace_back(context);
    others.back().wait(event);
    others.back().enqueue([&] { ++sum; });
  }
  gate.open();
  for (Stream& stream : others) stream.synchronize();
  EXPECT_EQ(sum, 50);
}

TEST(Stream, AnEventThatWasNeverRecordedIsOver) {
  Context context({.workers = 1});
  Stream stream(context);
  const Event event;
  EXPECT_TRUE(event.is_over());
  event.synchronize();
  stream.wait(event);
  stream.synchronize();
}

TEST(Stream, WaitingForOneselfAndInACircleEnds) {
  Context context({.workers = 1});
  Stream a(context);
  Stream b(context);
  const Event of_a;
  const Event of_b;
  int rounds = 0;
  for (int k = 0; k < 100; ++k) {
    a.wait(of_b);  // b recorded this in the previous iteration
    a.enqueue([&] { ++rounds; });
    a.record(of_a);
    a.wait(of_a);
    b.wait(of_a);
    b.enqueue([&] { ++rounds; });
    b.record(of_b);
  }
  a.synchronize();
  b.synchronize();
  EXPECT_EQ(rounds, 200);
}

TEST(Stream, TwoThreadsCannotCloseACircle) {
  Context context({.workers = 2});
  Stream a(context);
  Stream b(context);
  const Event of_a;
  const Event of_b;
  const auto drive = [](Stream& own, const Event& mine, const Event& theirs) {
    for (int k = 0; k < 500; ++k) {
      own.wait(theirs);
      own.record(mine);
    }
  };
  std::thread other([&] { drive(b, of_b, of_a); });
  drive(a, of_a, of_b);
  other.join();
  a.synchronize();
  b.synchronize();
}

TEST(Stream, TheFirstErrorIsKeptAndWhatComesBehindItIsSkipped) {
  Context context({.workers = 2});
  Stream stream(context);
  int runs = 0;
  stream.enqueue([&] { ++runs; });
  stream.enqueue([] { throw StatusError(MOTE_UNSUPPORTED, "the first"); });
  stream.enqueue([&] { ++runs; });
  stream.enqueue([] { throw StatusError(MOTE_FAILED, "the second"); });
  expect_error(MOTE_UNSUPPORTED, "the first", [&] { stream.synchronize(); });
  EXPECT_EQ(runs, 1);
  stream.enqueue([&] { ++runs; });
  stream.synchronize();
  EXPECT_EQ(runs, 2);
}

TEST(Stream, OneOfSeveralThatWaitIsToldTheError) {
  Context context({.workers = 1});
  Stream stream(context);
  for (int round = 0; round < 200; ++round) {
    std::atomic<bool> may_fail = false;
    std::atomic<int> told = 0;
    stream.enqueue([&] {
      while (!may_fail) std::this_thread::yield();
      throw StatusError(MOTE_FAILED, "on purpose");
    });
    std::vector<std::thread> waiting;
    for (int t = 0; t < 4; ++t)
      waiting.emplace_back([&] {
        try {
          stream.synchronize();
        } catch (const StatusError&) {
          ++told;
        }
      });
    may_fail = true;
    for (std::thread& thread : waiting) thread.join();
    ASSERT_EQ(told, 1) << "in round " << round;
  }
}

TEST(Stream, AnyExceptionBecomesAStatus) {
  Context context({.workers = 1});
  Stream stream(context);
  stream.enqueue([] { throw std::runtime_error("what it says"); });
  expect_error(MOTE_FAILED, "what it says", [&] { stream.synchronize(); });
  stream.enqueue([] { throw std::bad_alloc(); });
  expect_error(MOTE_OUT_OF_MEMORY, "no memory", [&] { stream.synchronize(); });
  stream.enqueue([] { throw 7; });
  expect_error(MOTE_FAILED, "no std::exception", [&] { stream.synchronize(); });
}

TEST(Stream, AnErrorSpreadsThroughEvents) {
  Context context({.workers = 2});
  Stream a(context);
  Stream b(context);
  Stream c(context);
  const Event of_a;
  const Event of_b;
  int runs = 0;
  a.enqueue([] { throw StatusError(MOTE_FAILED, "it broke"); });
  a.record(of_a);
  b.enqueue([&] { ++runs; });
  b.wait(of_a);
  b.enqueue([&] { runs += 100; });
  b.record(of_b);
  c.wait(of_b);
  c.enqueue([&] { runs += 100; });
  expect_error(MOTE_FAILED, "it broke", [&] { c.synchronize(); });
  expect_error(MOTE_FAILED, "it broke", [&] { of_b.synchronize(); });
  expect_error(MOTE_FAILED, "it broke", [&] { of_b.synchronize(); });
  expect_error(MOTE_FAILED, "it broke", [&] { b.synchronize(); });
  expect_error(MOTE_FAILED, "it broke", [&] { a.synchronize(); });
  EXPECT_EQ(runs, 1);
  a.record(of_a);  // records again, without the error
  b.wait(of_a);
  b.synchronize();
}

TEST(Stream, WorkMustNotWaitButMayGiveMore) {
  Context context({.workers = 1});
  Stream a(context);
  Stream b(context);
  const Event event;
  std::atomic<int> runs = 0;
  a.enqueue([&] {
    expect_error(MOTE_INVALID, "must not wait", [&] { a.synchronize(); });
    expect_error(MOTE_INVALID, "must not wait", [&] { b.synchronize(); });
    expect_error(MOTE_INVALID, "must not wait", [&] { event.synchronize(); });
    b.enqueue([&] {
      a.enqueue([&] { ++runs; });
      ++runs;
    });
    b.record(event);
  });
  a.synchronize();
  event.synchronize();
  a.synchronize();
  EXPECT_EQ(runs, 2);
}

TEST(Stream, DestructionWaitsForTheWork) {
  Context context({.workers = 2});
  std::atomic<int> runs = 0;
  {
    Stream a(context);
    Stream b(context);
    const Event event;
    a.enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); });
    for (int k = 0; k < 50; ++k) a.enqueue([&] { ++runs; });
    a.record(event);
    b.wait(event);
    b.enqueue([&] { ++runs; });
    a.enqueue([] { throw std::runtime_error("no caller asks for this"); });
  }
  EXPECT_EQ(runs, 51);
}

TEST(Stream, DestructionFromWithinWorkDoesNotWait) {
  std::atomic<int> runs = 0;
  const Event event;
  {
    Context context({.workers = 1});
    Stream outer(context);
    auto own = std::make_shared<Stream>(context);
    Stream* seen = own.get();
    seen->enqueue([&, own = std::move(own)]() mutable {
      own->enqueue([&] { ++runs; });
      own->wait(event);
      own.reset();  // the last reference: a stream ends in its own work
      ++runs;
    });
    outer.record(event);
  }  // the context waits
  EXPECT_EQ(runs, 2);
}

TEST(Stream, MovedStreamsKeepTheirWork) {
  Context context({.workers = 1});
  Stream a(context);
  Gate gate;
  int runs = 0;
  a.enqueue(gate.work());
  a.enqueue([&] { ++runs; });
  Stream b(std::move(a));
  Stream c(context);
  gate.open();
  c = std::move(b);
  c.synchronize();
  EXPECT_EQ(runs, 1);
}

TEST(Stream, CommandsRunBehindEachOther) {
  Context context({.workers = 2});
  Stream a(context);
  Stream b(context);
  const Event event;
  Tensor x(DType::f32, {1000});
  Tensor y(DType::f32, {1000});
  Tensor z(DType::f32, {1000});
  Gate gate;
  a.enqueue(gate.work());
  a.enqueue([x] { fill(x, 2.0); });
  run(Command("neg"), {&x}, {&y}, a);
  a.record(event);
  b.wait(event);
  run(Command("mul"), {&x, &y}, {&z}, b);
  gate.open();
  b.synchronize();
  EXPECT_EQ(z.real_at({999}), -4);
  auto prepared = std::make_shared<PreparedCommand>(
      Command("neg"), std::initializer_list<const Tensor*>{&z}, std::initializer_list<Tensor*>{&x});
  run(prepared, b);
  b.synchronize();
  EXPECT_EQ(x.real_at({0}), 4);
}

TEST(Stream, TensorsLiveUntilTheWorkIsDone) {
  Context context({.workers = 1});
  Stream stream(context);
  Gate gate;
  stream.enqueue(gate.work());
  Tensor y(DType::f32, {100});
  {
    const Tensor x(DType::f32, {100});
    fill(x, -3.0);
    run(Command("relu"), {&x}, {&y}, stream);
    run(Command("neg"), {&x}, {&y}, stream);
  }
  EXPECT_EQ(y.owners(), 3);
  gate.open();
  stream.synchronize();
  EXPECT_EQ(y.real_at({50}), 3);
  EXPECT_EQ(y.owners(), 1);
}

TEST(Stream, MistakesShowAtOnceAndFailuresWhenWaitedFor) {
  Context context({.workers = 1});
  Stream stream(context);
  const Tensor x(DType::f32, {3});
  Tensor y(DType::f32, {4});
  Tensor z(DType::f32, {3});
  expect_error(MOTE_INVALID, "relu: axes of x f32[3] do not fit",
               [&] { run(Command("relu"), {&x}, {&y}, stream); });
  expect_error(MOTE_INVALID, "empty function", [&] { stream.enqueue(nullptr); });
  expect_error(MOTE_INVALID, "the prepared command is null",
               [&] { run(std::shared_ptr<PreparedCommand>(), stream); });
  expect_error(MOTE_INVALID, "workers must be in 0..1024, got -1",
               [] { Context({.workers = -1}); });
  FakeBackend<2> fake("relu");
  fake.on_run = [](const mote_call* call) {
    test::say(call, "it broke");
    return MOTE_FAILED;
  };
  run(Command("relu"), {&x}, {&z}, stream, {.backends = fake.list});
  expect_error(MOTE_FAILED, "relu: it broke", [&] { stream.synchronize(); });
  stream.synchronize();
}

}  // namespace
}  // namespace mote
