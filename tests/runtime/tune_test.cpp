// SPDX-License-Identifier: Apache-2.0
// Tests the choice by measured time: the chosen kernel, the remembered one, and that no other state
// changes.
#include "mote/runtime/tune.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <vector>

#include "mote/runtime/prepared.h"
#include "runtime/expect_error.h"
#include "runtime/fake_backend.h"

namespace mote {
namespace {

using test::expect_error;
using test::FakeBackend;

/// Computes relu of f32 without gaps; tests make it quicker or slower than the generated kernel.
mote_status relu_of(const mote_call* call) {
  const DLTensor& x = *call->inputs[0];
  const DLTensor& y = *call->outputs[0];
  const auto* from = reinterpret_cast<const float*>(static_cast<char*>(x.data) + x.byte_offset);
  auto* to = reinterpret_cast<float*>(static_cast<char*>(y.data) + y.byte_offset);
  std::int64_t count = 1;
  for (int k = 0; k < x.ndim; ++k) count *= x.shape[k];
  for (std::int64_t k = 0; k < count; ++k) to[k] = from[k] > 0 ? from[k] : 0;
  return MOTE_OK;
}

struct Relu {
  explicit Relu(std::int64_t n = 100) : x(DType::f32, {n}), y(DType::f32, {n}) {
    fill(x, -2.0);
    fill(y, 5.0);
  }
  const TuningEntry& tune(Context& context, const TuningOptions& options = {}) {
    return autotune(relu, {&x}, {&y}, context, options);
  }
  Command relu = Command("relu");
  Tensor x, y;
};

TEST(Autotune, ASleepingBackendIsNeverChosen) {
  FakeBackend<3> slow("relu", "slow");
  slow.on_run = [](const mote_call* call) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return relu_of(call);
  };
  Context context({.backends = {&slow.backend}});
  Relu r;
  const TuningEntry& entry = r.tune(context);
  EXPECT_NE(entry.kernel, "slow");
  ASSERT_EQ(entry.timings.size(), 3U);
  EXPECT_EQ(entry.timings[0].kernel, "slow");
  EXPECT_GE(entry.timings[0].nanoseconds, 2e6);
  const int runs = slow.runs;
  EXPECT_LE(runs, 3);  // two to warm up, one to see that it is too slow
  run(r.relu, {&r.x}, {&r.y}, {.context = &context});
  PreparedCommand(r.relu, {&r.x}, {&r.y}, {.context = &context}).run();
  EXPECT_EQ(slow.runs, runs);
  EXPECT_EQ(r.y.real_at({99}), 0);
  // Without a measurement, the first backend that takes the call runs.
  Relu other(2000);
  run(other.relu, {&other.x}, {&other.y}, {.context = &context});
  EXPECT_EQ(slow.runs, runs + 1);
}

TEST(Autotune, TheFastestIsFoundBehindOthers) {
  FakeBackend<3> slow("relu", "slow");
  FakeBackend<4> quick("relu", "quick");  // does nothing: no kernel is faster
  slow.on_run = [](const mote_call* call) {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    return relu_of(call);
  };
  Context context({.backends = {&slow.backend, &quick.backend}});
  Relu r;
  EXPECT_EQ(r.tune(context).kernel, "quick");
  run(r.relu, {&r.x}, {&r.y}, {.context = &context});
  EXPECT_EQ(r.y.real_at({0}), 5);
  // The caller's own list comes first nevertheless.
  const int runs = slow.runs;
  run(r.relu, {&r.x}, {&r.y}, {.backends = slow.list, .context = &context});
  EXPECT_EQ(slow.runs, runs + 1);
}

TEST(Autotune, TensorsAreNotTouched) {
  FakeBackend<3> fake("relu", "fake");
  std::vector<const void*> seen;
  fake.on_run = [&](const mote_call* call) {
    seen.push_back(call->inputs[0]->data);
    seen.push_back(call->outputs[0]->data);
    return relu_of(call);
  };
  Context context({.backends = {&fake.backend}});
  Relu r;
  r.tune(context);
  for (std::int64_t k = 0; k < 100; ++k) {
    EXPECT_EQ(r.x.real_at({k}), -2);
    EXPECT_EQ(r.y.real_at({k}), 5);
  }
  for (const void* data : seen) EXPECT_TRUE(data != r.x.data() && data != r.y.data());
}

TEST(Autotune, CopiesHaveTheSameFormAndValues) {
  FakeBackend<3> fake("add", "fake");
  bool ok = true;
  int runs = 0;
  fake.on_run = [&](const mote_call* call) {
    const DLTensor& x = *call->inputs[0];
    const DLTensor& row = *call->inputs[1];
    const auto* values = reinterpret_cast<const float*>(static_cast<char*>(x.data) + x.byte_offset);
    ++runs;
    ok = ok && x.strides[x.ndim - 1] == -2 && values[-2] == 7 && row.strides[row.ndim - 2] == 0;
    return MOTE_OK;
  };
  Context context({.backends = {&fake.backend}});
  const Tensor x = Tensor(DType::f32, {4, 10}).slice(1, 9, 5, -2);
  const Tensor one(DType::f32, {5});
  const Tensor row = one.broadcast_to({4, 5});
  Tensor y(DType::f32, {4, 5});
  fill(x, 7.0);
  fill(one, 1.0);
  autotune(Command("add"), {&x, &row}, {&y}, context, {.rounds = 2});
  EXPECT_TRUE(ok);
  EXPECT_GT(runs, 0);
}

TEST(Autotune, TakesTensorsWithoutElementsThatRepeatAlongAnAxis) {
  Context context;
  const Tensor one(DType::f32, {2, 1, 0});
  const Tensor x = one.broadcast_to({2, 3, 0});
  const Tensor empty = Tensor::over(one.data(), DType::f32, {2, 0, 3}, {3, 0, 1});
  Tensor y(DType::f32, {2, 3, 0}), z(DType::f32, {2, 0, 3});
  EXPECT_FALSE(autotune(Command("neg"), {&x}, {&y}, context).timings.empty());
  EXPECT_FALSE(autotune(Command("neg"), {&empty}, {&z}, context).timings.empty());
}

TEST(Autotune, InPlaceCallsAreMeasuredOnFreshCopies) {
  Context context;
  Tensor x(DType::f32, {1000});
  fill(x, 2.0);
  const Command exp("exp");
  const TuningEntry& entry = autotune(exp, {&x}, {&x}, context);
  EXPECT_EQ(x.real_at({0}), 2);
  EXPECT_EQ(entry.timings.size(), 2U);
  run(exp, {&x}, {&x}, {.context = &context});
  // Either generated kernel may be the fastest: gen's, or the reference, which rounds a double.
  Tensor by_gen(DType::f32, {1000});
  fill(by_gen, 2.0);
  run(exp, {&by_gen}, {&by_gen});
  const double by_reference = static_cast<float>(std::exp(2.0));
  EXPECT_TRUE(x.real_at({0}) == by_gen.real_at({0}) || x.real_at({0}) == by_reference)
      << x.real_at({0});
  // This signature differs from that of the in-place call.
  Tensor y(DType::f32, {1000});
  autotune(exp, {&x}, {&y}, context);
  EXPECT_EQ(context.tuning().size(), 2U);
}

TEST(Autotune, AKernelThatFailsIsNotChosen) {
  FakeBackend<3> broken("relu", "broken");
  broken.on_run = [](const mote_call*) { return MOTE_FAILED; };
  FakeBackend<4> hungry("relu", "hungry");
  hungry.wants = 1 << 20;
  Context context({.backends = {&broken.backend, &hungry.backend}, .workspace_limit = 1000});
  Relu r;
  const TuningEntry& entry = r.tune(context);
  EXPECT_TRUE(entry.kernel == "gen" || entry.kernel == "reference") << entry.kernel;
  EXPECT_EQ(entry.timings.size(), 2U);
  EXPECT_EQ(hungry.runs, 0);
  const Tensor wrong(DType::f32, {3});
  expect_error(MOTE_INVALID, "relu: axes of x",
               [&] { autotune(r.relu, {&wrong}, {&r.y}, context); });
}

TEST(Autotune, AKernelThatWritesBeyondItsWorkspaceIsNotChosen) {
  FakeBackend<3> far("relu", "far");
  far.wants = 100;
  far.on_run = [](const mote_call* call) {
    std::memset(call->workspace, 1, call->workspace_bytes + 1);
    return MOTE_OK;
  };
  Context context({.backends = {&far.backend}});
  Relu r;
  const TuningEntry& entry = r.tune(context);
  EXPECT_TRUE(entry.kernel == "gen" || entry.kernel == "reference") << entry.kernel;
  EXPECT_GE(far.runs, 1);
}

TEST(Autotune, WhatIsKnownIsNotMeasuredAgain) {
  FakeBackend<3> fake("relu", "fake");
  Context context({.backends = {&fake.backend}});
  Relu r;
  const TuningEntry* first = &r.tune(context);
  const int runs = fake.runs;
  EXPECT_EQ(&r.tune(context), first);
  EXPECT_EQ(fake.runs, runs);
  Relu alike(110);  // of the same size class: 96 … 127
  EXPECT_EQ(&alike.tune(context), first);
  Relu larger(130);
  EXPECT_NE(&larger.tune(context), first);
  r.tune(context, {.rounds = 1, .again = true});
  EXPECT_GT(fake.runs, runs);
  EXPECT_EQ(context.tuning().size(), 2U);
  EXPECT_EQ(context.tuning().entries().size(), 2U);
}

TEST(Autotune, SignaturesTellCallsApart) {
  Context context;
  std::size_t expected = 0;
  const auto differs = [&](const Command& command, const Tensor& x) {
    Tensor y(x.dtype(), x.shape());
    autotune(command, {&x}, {&y}, context, {.rounds = 1});
    EXPECT_EQ(context.tuning().size(), ++expected) << to_string(command) << describe(x);
  };
  differs(Command("neg"), Tensor(DType::f32, {4, 6}));
  differs(Command("abs"), Tensor(DType::f32, {4, 6}));
  differs(Command("neg"), Tensor(DType::f64, {4, 6}));
  differs(Command("neg"), Tensor(DType::f32, {24}));
  differs(Command("neg"), Tensor(DType::f32, {4, 7}));
  differs(Command("neg"), Tensor(DType::f32, {6, 4}).permute({1, 0}));
  differs(Command("neg"), Tensor(DType::f32, {4, 12}).slice(1, 0, 6));
  differs(Command("neg"), Tensor(DType::f32, {4, 1}).broadcast_to({4, 6}));
  differs(Command("neg"), Tensor(DType::f32, {4, 6}).slice(0, 3, 4, -1));
  differs(Command("leaky_relu", {{"alpha", 0.5}}), Tensor(DType::f32, {4, 6}));
  differs(Command("leaky_relu", {{"alpha", 0.25}}), Tensor(DType::f32, {4, 6}));
  differs(Command("softmax", {}, 0), Tensor(DType::f32, {4, 6, 3}));
  differs(Command("softmax", {}, 1), Tensor(DType::f32, {4, 6, 3}));
  for (const std::int64_t n : {8, 10, 12, 16, 24})
    differs(Command("exp"), Tensor(DType::f32, {1, 1, 1, n, 1, 1, n}));
}

TEST(Autotune, ManySignaturesStayFindable) {
  Context context;
  const Command relu("relu");
  std::vector<const TuningEntry*> entries;
  const auto tune = [&](std::int64_t n) -> const TuningEntry& {
    const Tensor x(DType::f32, {n % 9, 1 + n / 9 % 9, 1 + n / 81});
    Tensor y(DType::f32, x.shape());
    fill(x, 1.0);
    return autotune(relu, {&x}, {&y}, context, {.rounds = 1, .seconds = 0});
  };
  for (std::int64_t n = 0; n < 400; ++n) entries.push_back(&tune(n));
  EXPECT_EQ(context.tuning().size(), 400U);
  for (std::int64_t n = 0; n < 400; ++n) EXPECT_EQ(&tune(n), entries[static_cast<std::size_t>(n)]);
}

TEST(Autotune, FromManyThreadsAtOnce) {
  Context context;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::int64_t n = 1; n < 60; ++n) {
        Relu r(n);
        r.tune(context, {.rounds = 1, .seconds = 0});
        run(r.relu, {&r.x}, {&r.y}, {.context = &context});
        EXPECT_EQ(r.y.real_at({n - 1}), 0);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(context.tuning().entries().size(), context.tuning().size());
}

}  // namespace
}  // namespace mote
