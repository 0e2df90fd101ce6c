// SPDX-License-Identifier: Apache-2.0
// Variables on a device whose work is done late: commands run there, copies are explicit, and
// gradients of what was computed there are there.
#include <gtest/gtest.h>

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
  EXPECT_NE(test::error_of([&] { (void)(x + far).value(); }), "");
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

}  // namespace
}  // namespace mote
