// SPDX-License-Identifier: Apache-2.0
// Variables on a device whose work is done late: commands run there, copies are explicit, and
// gradients of what was computed there are there.
#include <gtest/gtest.h>

#include <optional>

#include "graphs/compile/numbered.h"
#include "graphs/dynamic/modes.h"
#include "graphs/symbolic/error_of.h"
#include "mote/dynamic/dynamic_graph.h"
#include "runtime/late_device.h"

namespace mote {
namespace {

using test::bits;
using test::LateDevice;
using test::numbered;

struct OnLateDevice : testing::TestWithParam<bool> {
  static ContextOptions with_late() {
    ContextOptions options;
    options.backends.assign(LateDevice::get().backends().begin(),
                            LateDevice::get().backends().end());
    return options;
  }
  Context context{with_late()};
  DynamicGraph g{context, {.deferred = GetParam()}};
  const TensorForm here{DType::f32, {64}};
  const TensorForm there{DType::f32, {64}, Device::find("late")};
};
INSTANTIATE_TEST_SUITE_P(Modes, OnLateDevice, testing::Bool(), test::mode_name);

TEST_P(OnLateDevice, CommandsRunWhereTheirTensorsAre) {
  const Tensor x = numbered(here, 1);
  const Variable far = g.convert(g.constant(x), there);
  const Variable y = g.run("add", {g.run("neg", {far}), far + far});
  EXPECT_EQ(y.form().device.device_type, there.device.device_type);
  EXPECT_EQ(bits(g.convert(y, here).value()), bits(x));
}

TEST_P(OnLateDevice, GradientsGoThroughCopies) {
  const Variable x = g.variable(numbered(here, 1));
  const Variable far = g.convert(x, there);
  const Variable y = g.convert(far + far, here);
  const Variable gradient = g.backward({y}, {x})[0];
  for (std::int64_t k = 0; k < 64; ++k) EXPECT_EQ(gradient.value().real_at({k}), 2);
}

TEST_P(OnLateDevice, TensorsOfTwoDevicesNeedACopy) {
  const Variable x = g.constant(numbered(here, 1));
  const Variable far = g.convert(x, there);
  const std::string error = test::error_of([&] { (void)(x + far).value(); });
  EXPECT_NE(error.find("add: no kernel takes tensors of several devices"), std::string::npos)
      << error;
  EXPECT_NE(error.find("f32[64]"), std::string::npos) << error;
  EXPECT_NE(error.find("@12:3"), std::string::npos) << error;
}

TEST_P(OnLateDevice, NothingOfTheDeviceStays) {
  const int live = LateDevice::get().live();
  {
    DynamicGraph own(context, {.deferred = GetParam()});
    const Variable far = own.convert(own.variable(numbered(here, 1)), there);
    (void)own.convert(own.backward({far + far}, {far})[0], here).value();
  }
  EXPECT_EQ(test::live_in_the_end(live), live);
}

/// Pending commands on a device.
struct DeferredOnLateDevice : OnLateDevice {};
INSTANTIATE_TEST_SUITE_P(Deferred, DeferredOnLateDevice, testing::Values(true), test::mode_name);

TEST_P(DeferredOnLateDevice, AFailingCommandStaysPendingAndRunsAgain) {
  const Variable x = g.convert(g.constant(numbered(here, 1)), there);
  (void)x.value();
  const Variable y = g.run("neg", {x});
  LateDevice::get().fail(0);
  EXPECT_NE(test::error_of([&] { (void)y.value(); }), "");
  EXPECT_TRUE(y.is_pending());
  EXPECT_EQ(g.convert(y, here).value().real_at({5}), -numbered(here, 1).real_at({5}));
}

/// Eager commands on a device whose tasks wait until they are let go.
struct EagerOnLateDevice : OnLateDevice {
  Tensor far_numbers(int seed) const {
    const Tensor x(DType::f32, {64}, Device::find("late"));
    copy(numbered(here, seed), x);
    return x;
  }
  Tensor near(const Variable& x) { return g.convert(x, here).value(); }
};
INSTANTIATE_TEST_SUITE_P(Eager, EagerOnLateDevice, testing::Values(false), test::mode_name);

TEST_P(EagerOnLateDevice, CommandsAreGivenToTheDeviceWithoutAWait) {
  const Variable x = g.constant(far_numbers(1));
  test::Held held;
  Variable y = x;
  for (int k = 0; k < 100; ++k) y = g.run("neg", {y});  // this would never end if one waited
  const Variable z = y + x;
  held.open();
  EXPECT_EQ(bits(near(y)), bits(numbered(here, 1)));
  EXPECT_EQ(near(z).real_at({5}), 2 * numbered(here, 1).real_at({5}));
}

/// What is on the host has nothing to do with what the device computes.
TEST_P(EagerOnLateDevice, CommandsAndLooksOnTheHostDoNotWaitForTheDevice) {
  const Variable far = g.constant(far_numbers(1));
  const Variable x = g.variable(numbered(here, 2));
  test::Held held;
  const Variable y = g.run("neg", {far});
  const Variable z = x + x;  // this and what follows would never end if it waited
  EXPECT_EQ(z.value().real_at({5}), 2 * numbered(here, 2).real_at({5}));
  EXPECT_EQ(g.backward({z}, {x})[0].value().real_at({5}), 2);
  EXPECT_EQ((x * 0.5).value().real_at({5}), numbered(here, 2).real_at({5}) / 2);
  EXPECT_EQ(g.zeros(here).value().real_at({5}), 0);
  held.open();
  EXPECT_EQ(near(y).real_at({5}), -numbered(here, 1).real_at({5}));
}

TEST_P(EagerOnLateDevice, MemoryThatNothingNeedsIsTakenAgainInTheDevicesOrder) {
  const test::Delayed delayed(7);
  const Variable x = g.constant(far_numbers(1));
  const int live = LateDevice::get().live();
  Variable sum = x + x;
  for (int k = 2; k < 200; ++k) sum = sum + x;
  EXPECT_EQ(near(sum).real_at({5}), 200 * numbered(here, 1).real_at({5}));
  g.finish();
  // Two blocks for the sums, which take turns, the stream and its workspace.
  EXPECT_LE(test::live_in_the_end(live + 4), live + 4);
}

TEST_P(EagerOnLateDevice, MemoryOfTheProgramStaysUntilTheDeviceHasReadIt) {
  test::Held held;
  std::optional<Variable> x(g.constant([] {
    // Nothing is copied there: that would wait for the device.
    return Tensor(DType::f32, {64}, Device::find("late"));
  }()));
  const Variable y = g.run("neg", {*x});
  x.reset();
  held.open();
  EXPECT_EQ(test::error_of([&] { (void)y.value(); }), "");
}

TEST_P(EagerOnLateDevice, AnUpdateComesBehindWhatReadsTheOldValue) {
  const Variable step = g.constant(far_numbers(2));
  Variable w = g.run("neg", {g.constant(far_numbers(1))});
  g.finish();
  test::Held held;
  const Variable before = g.run("neg", {w});
  w += step;
  w += step;
  held.open();
  EXPECT_EQ(bits(near(before)), bits(numbered(here, 1)));
  for (std::int64_t k = 0; k < 64; ++k)
    EXPECT_EQ(near(w).real_at({k}),
              2 * numbered(here, 2).real_at({k}) - numbered(here, 1).real_at({k}));
}

TEST_P(EagerOnLateDevice, AFailureIsTheErrorOfWhoLooksAtWhatItWasToCompute) {
  const Variable x = g.constant(far_numbers(1));
  const Variable good = g.run("neg", {x});
  g.finish();
  std::optional<test::Held> held(std::in_place);
  const Variable bad = g.run("neg", {x});
  const Variable from_bad = bad + x;
  LateDevice::get().fail(0);
  held.reset();
  for (int k = 0; k < 2; ++k) {
    const std::string error = test::error_of([&] { (void)bad.value(); });
    EXPECT_NE(error.find("neg"), std::string::npos) << error;
    EXPECT_NE(error.find("the task fails"), std::string::npos) << error;
    EXPECT_NE(test::error_of([&] { (void)from_bad.value(); }), "");
    EXPECT_NE(test::error_of([&] { (void)(bad + bad).value(); }), "");
    EXPECT_NE(test::error_of([&] { (void)bad.reshape({8, 8}).value(); }), "");
    EXPECT_NE(test::error_of([&] { (void)bad.detach().value(); }), "");
  }
  EXPECT_EQ(bits(near(g.run("neg", {good}))), bits(numbered(here, 1)));
  EXPECT_EQ(test::error_of([&] { g.finish(); }), "");  // it was thrown already
}

TEST_P(EagerOnLateDevice, FinishThrowsAFailureThatNobodyHasSeen) {
  const Variable x = g.constant(far_numbers(1));
  std::optional<test::Held> held(std::in_place);
  const Variable bad = g.run("neg", {x});
  LateDevice::get().fail(0);
  held.reset();
  EXPECT_NE(test::error_of([&] { g.finish(); }), "");
  EXPECT_EQ(test::error_of([&] { g.finish(); }), "");
}

TEST_P(EagerOnLateDevice, TrimGivesTheDevicesMemoryBack) {
  const int live = LateDevice::get().live();
  {
    const Variable x = g.constant(far_numbers(1));
    Variable y = x + x;
    for (int k = 0; k < 20; ++k) y = y + x;
    (void)near(y);
  }
  EXPECT_GT(g.statistics().free_bytes, 0U);
  g.trim();
  EXPECT_EQ(g.statistics().free_bytes, 0U);
  EXPECT_LE(test::live_in_the_end(live + 2), live + 2);  // the stream and its workspace
}

}  // namespace
}  // namespace mote
