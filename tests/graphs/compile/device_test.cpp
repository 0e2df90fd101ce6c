// SPDX-License-Identifier: Apache-2.0
// Graphs with tensors of two devices, the host and one whose work is done late: each has memory of
// its own, and copies alone move elements between them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "graphs/compile/control_values.h"
#include "graphs/compile/numbered.h"
#include "mote/runtime/context.h"
#include "mote/symbolic/compile.h"
#include "mote/symbolic/evaluate.h"
#include "mote/symbolic/text.h"
#include "runtime/expect_error.h"
#include "runtime/late_device.h"

namespace mote {
namespace {

using test::bits;
using test::expect_error;
using test::integer;
using test::LateDevice;
using test::live_in_the_end;
using test::numbered;

/// The values are moved to the device, changed there and on the host, and added up. Tensors of both
/// die while others live, parts of one begin as zeros, and one is always zero.
constexpr const char* kTwoDevices = R"(graph two(x f32[64]) -> (sum, there)
  far = copy(x, f32[64]@12:3)
  a = neg(far)
  b = add(far, far)
  c = add(b, a)
  none = zeros f32[64]@12:3
  d = add(c, none)
  parts = zeros f32[128]@12:3
  some = parts.slice(0, 0, 64, 1)
  some <- neg(d)
  there = add(parts, parts)
  back = copy(d, f32[64])
  p = neg(x)
  q = mul(p, p)
  r = add(q, back)
  sum = sub(r, p)
)";

/// Three rounds of doubling on the device, counted on the host.
constexpr const char* kLoop = R"(graph loop(x f32[16]@12:3, n i64[]) -> (z)
  z, _n = while (x, n) {
    graph body(a f32[16]@12:3, k i64[]) -> (c, rest, k)
      b = neg(a)
      d = neg(b)
      c = add(d, a)
      one = constant i64[] [1]
      rest = sub(k, one)
  }
)";

ContextOptions with_late() {
  ContextOptions options;
  options.backends.assign(LateDevice::get().backends().begin(), LateDevice::get().backends().end());
  return options;
}

Tensor on_late(const Tensor& x) {
  const Tensor y(x.dtype(), x.shape(), Device::find("late"));
  copy(x, y);
  return y;
}

TEST(DeviceGraph, GivesTheBitsOfItsNodesOneByOneWithEveryOption) {
  Context context(with_late());
  const SymbolicGraph g = parse_graph(kTwoDevices);
  const std::vector<TensorBinding> bindings = {{g.find("x"), numbered(g, g.find("x"))}};
  const std::vector<Tensor> expected = evaluate(g, bindings, g.outputs(), {.context = &context});
  EXPECT_EQ(expected[0].real_at({3}), 0.625 * 0.625 + 2 * 0.625);
  const int live = LateDevice::get().live();
  for (const int streams : {1, 2, 3})
    for (const bool poison : {false, true})
      for (const MemoryMode memory : {MemoryMode::planned, MemoryMode::separate}) {
        Executable run =
            compile(g, {.streams = streams, .memory = memory, .poison = poison}, context);
        for (unsigned again = 0; again < 3; ++again) {
          const test::Delayed delayed(again);  // the first time by none
          run.run(bindings);
          for (std::size_t k = 0; k < expected.size(); ++k)
            EXPECT_EQ(bits(run.output(g.outputs()[k])), bits(expected[k])) << to_text(run.report());
        }
      }
  EXPECT_EQ(live_in_the_end(live), live);
}

TEST(DeviceGraph, TensorsOfTwoDevicesNeverShareMemory) {
  Context context(with_late());
  const SymbolicGraph g = parse_graph(kTwoDevices);
  for (const int streams : {1, 2}) {
    Executable run = compile(g, {.streams = streams, .in_place = false}, context);
    const CompileReport& report = run.report();
    ASSERT_EQ(report.devices.size(), 1U);
    std::size_t host = 0;
    std::size_t device = 0;
    std::set<std::string> on_device;
    for (const CompiledBlock& block : report.blocks) {
      std::size_t& end = block.device.device_type == kDLCPU ? host : device;
      end = std::max(end, block.offset + block.bytes);
      if (block.device.device_type != kDLCPU) on_device.insert(block.name);
    }
    EXPECT_EQ(on_device, (std::set<std::string>{"far", "a", "b", "c", "d", "parts", "there"}));
    EXPECT_EQ(report.devices[0].arena_bytes, device);
    EXPECT_EQ(report.arena_bytes, host + device);
    EXPECT_LT(report.arena_bytes, report.separate_bytes);
    EXPECT_NE(to_text(report).find("on @12:3 " + std::to_string(device) + " bytes"),
              std::string::npos)
        << to_text(report);
    EXPECT_NE(to_json(report).find("\"device\": \"@12:3\""), std::string::npos);
    EXPECT_NE(to_svg(report).find("there @12:3"), std::string::npos);
  }
}

TEST(DeviceGraph, ALoopOnADeviceRunsInMemoryOfTheDevice) {
  Context context(with_late());
  const SymbolicGraph g = parse_graph(kLoop);
  const Tensor x(DType::f32, {16});
  fill(x, 0.5);
  const std::vector<TensorBinding> bindings = {{g.find("x"), on_late(x)},
                                               {g.find("n"), integer(3)}};
  const std::vector<Tensor> expected = evaluate(g, bindings, g.outputs(), {.context = &context});
  EXPECT_EQ(expected[0].device().device_type, kDLExtDev);
  Executable run = compile(g, {}, context);
  for (int again = 0; again < 2; ++again) {
    run.run(bindings);
    const Tensor z(DType::f32, {16});
    EXPECT_EQ(run.output(g.find("z")).device().device_type, kDLExtDev);
    copy(run.output(g.find("z")), z);
    EXPECT_EQ(z.real_at({7}), 4);
    copy(expected[0], z);
    EXPECT_EQ(z.real_at({7}), 4);
  }
}

TEST(DeviceGraph, SmallerShapesUseTheMemoryOfTheLargest) {
  Context context(with_late());
  SymbolicGraph of("rows");
  const TensorSymbol x = of.input("x", {DType::f32, {8}, {1}, Device::find("late").dl()});
  const TensorSymbol y = of.add("neg", {of.add("add", {x, x})});
  of.set_outputs({y});
  const int live = LateDevice::get().live();
  {
    const TensorForm most(DType::f32, {32}, {1}, Device::find("late").dl());
    Executable run = compile(of, {.largest = {{x, most}}}, context);
    const std::size_t planned = run.report().arena_bytes;
    for (const std::int64_t n : {32, 5, 17}) {
      const Tensor in(DType::f32, {n});
      fill(in, 1.5);
      run.run({{x, on_late(in)}});
      const Tensor out(DType::f32, {n});
      copy(run.output(y), out);
      EXPECT_EQ(out.real_at({n - 1}), -3);
      EXPECT_LE(run.report().arena_bytes, planned);
    }
    expect_error(MOTE_INVALID, "x must be f32[17]@12:3, got f32[8]",
                 [&] { run.bind(x, Tensor(DType::f32, {8})); });
  }
  EXPECT_EQ(live_in_the_end(live), live);
}

TEST(DeviceGraph, ADeviceThatNoPlugInOffersIsRefused) {
  SymbolicGraph g("far");
  const TensorSymbol x = g.input("x", {DType::f32, {4}});
  const TensorSymbol there = g.convert(x, {DType::f32, {4}, {1}, {kDLMetal, 7}});
  g.set_outputs({there});
  Context context;
  expect_error(MOTE_UNSUPPORTED,
               "compile: " + g.text(there) +
                   " is f32[4]@8:7, on a device that no plug-in that was loaded offers",
               [&] { compile(g, {}, context); });
  expect_error(MOTE_UNSUPPORTED,
               "evaluate: no plug-in that was loaded offers the device of f32[4]@8:7", [&] {
                 evaluate(g, {{x, numbered(g, x)}}, {there});
               });
}

TEST(DeviceGraph, ACommandHasItsTensorsOnOneDevice) {
  LateDevice::get();
  SymbolicGraph g("mixed");
  const TensorSymbol here = g.input("here", {DType::f32, {4}});
  const TensorSymbol there = g.input("there", {DType::f32, {4}, {1}, {kDLExtDev, 3}});
  const std::string text =
      "add: its tensors must be on one device, got here f32[4] and there f32[4]@12:3; convert() "
      "copies to another";
  expect_error(MOTE_INVALID, text, [&] { g.add("add", {here, there}); });
  const TensorSymbol y = g.tensor(g.form(there), "y");
  expect_error(MOTE_INVALID, "neg: its tensors must be on one device",
               [&] { g.write(Command("neg"), std::vector{here}, std::vector{y}); });
  const TensorSymbol late = g.input("late", DType::f32);
  const TensorSymbol z = g.add("add", {late, there});
  EXPECT_EQ(g.node_count(), 1U);
  expect_error(MOTE_INVALID, "add: its tensors must be on one device", [&] {
    g.set_form(late, {DType::f32, {4}});
  });
  g.set_form(late, g.form(there));
  EXPECT_EQ(to_string(g.form(z)), "f32[4]@12:3");
}

}  // namespace
}  // namespace mote
