// SPDX-License-Identifier: Apache-2.0
// Tests commands, contexts, streams, tuning and plug-ins with null, wrong counts, ranks, dtypes and
// sizes beyond all memory.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mote/runtime/context.h"
#include "mote/runtime/infer.h"
#include "mote/runtime/plugins.h"
#include "mote/runtime/prepared.h"
#include "mote/runtime/stream.h"
#include "mote/runtime/tune.h"
#include "mote/tuning/tuning_file.h"
#include "runtime/faults/misuse.h"

namespace mote {
namespace {

using test::expect_refused;
using test::kGreatestMagnitude;
using test::Misuse;

constexpr int kFar = std::numeric_limits<int>::max();

TEST(Misuse, Commands) {
  const std::vector<Setting> twice = {{"stride0", 1}, {"stride0", 1}};
  const std::string far(100000, 'x');
  const Registry empty;
  expect_refused({
      {"no op", [] { (void)Command(""); }},
      {"unknown op", [] { (void)Command("sotfmax"); }},
      {"far op", [&] { (void)Command(far); }},
      {"unknown parameter",
       [] {
         (void)Command("conv2d", {{"stride", 1}});
       }},
      {"no parameter",
       [] {
         (void)Command("conv2d", {{"", 1}});
       }},
      {"twice", [&] { (void)Command("conv2d", twice); }},
      {"kind",
       [] {
         (void)Command("conv2d", {{"stride0", 1.5}});
       }},
      {"NaN",
       [] {
         (void)Command("conv2d", {{"stride0", std::nan("")}});
       }},
      {"negative",
       [] {
         (void)Command("conv2d", {{"stride0", -1}});
       }},
      {"another registry", [&] { (void)Command("relu", {}, std::nullopt, empty); }},
      {"text: nothing", [] { (void)parse_command(""); }},
      {"text: no value", [] { (void)parse_command("conv2d stride0="); }},
      {"text: no name", [] { (void)parse_command("conv2d =1"); }},
      {"text: far axis", [] { (void)parse_command("softmax axis=99999999999"); }},
      {"text: far value", [] { (void)parse_command("conv2d stride0=1e999"); }},
      {"text: junk", [] { (void)parse_command("\x01\xFF \0 ="); }},
  });
}

/// A call that run() refuses; PreparedCommand, run() on a stream and autotune refuse it too.
using Call =
    std::function<void(const Command&, std::span<const Tensor* const>, std::span<Tensor* const>)>;

void expect_calls_refused(const Call& call, const char* how) {
  SCOPED_TRACE(how);
  Tensor x(DType::f32, {2, 3});
  Tensor y(DType::f32, {2, 3});
  fill(x, 1.0);
  fill(y, 7.0);
  Tensor half(DType::f16, {2, 3});
  Tensor integers(DType::i32, {2, 3});
  Tensor other(DType::f32, {2, 4});
  Tensor cube(DType::f32, {2, 3, 1});
  Tensor nowhere = Tensor::over(nullptr, DType::f32, {2, 3});
  float one = 0;
  Tensor repeated = Tensor::over(&one, DType::f32, {2, 3}, {0, 0});
  Tensor wide = Tensor::over(&one, DType::f32, {kGreatestMagnitude / 8}, {0});
  Tensor image(DType::f32, {2, 2, 3, 3});
  Tensor pixel(DType::f32, {2, 2, 1, 1});
  fill(image, 1.0);
  Tensor row = x.slice(0, 0, 1);
  const std::vector<const Tensor*> many_in(1000, &x);
  const std::vector<Tensor*> many_out(1000, &y);
  const Command relu("relu");
  const Command softmax("softmax", {}, 1);
  const Command matmul("matmul");
  const auto with = [&](const Command& command, const std::vector<const Tensor*>& inputs,
                        const std::vector<Tensor*>& outputs) {
    return [&call, command, inputs, outputs] { call(command, inputs, outputs); };
  };
  expect_refused({
      {"nothing", with(relu, {}, {})},
      {"no inputs", with(relu, {}, {&y})},
      {"no outputs", with(relu, {&x}, {})},
      {"null input", with(relu, {nullptr}, {&y})},
      {"null output", with(relu, {&x}, {nullptr})},
      {"an input too many", with(relu, {&x, &x}, {&y})},
      {"an output too many", with(relu, {&x}, {&y, &y})},
      {"1000 inputs", with(relu, many_in, {&y})},
      {"1000 outputs", with(relu, {&x}, many_out)},
      {"dtypes", with(relu, {&half}, {&y})},
      {"dtype of the output", with(relu, {&x}, {&integers})},
      {"dtype that the op lacks", with(Command("exp"), {&integers}, {&integers}), MOTE_UNSUPPORTED},
      {"shapes", with(relu, {&x}, {&other})},
      {"ranks", with(relu, {&cube}, {&y})},
      {"an output that would repeat", with(relu, {&x}, {&row})},
      {"input without data", with(relu, {&nowhere}, {&y})},
      {"output without data", with(relu, {&x}, {&nowhere})},
      {"output whose elements are one", with(relu, {&x}, {&repeated})},
      {"a wide one", with(relu, {&wide}, {&y})},
      {"in place without a pair", with(softmax, {&x}, {&row})},
      {"rank of matmul", with(matmul, {&row}, {&y})},
      {"extents of matmul", with(matmul, {&x, &x}, {&y})},
      {"axis", with(Command("softmax", {}, 2), {&x}, {&y})},
      {"axis before", with(Command("softmax", {}, -3), {&x}, {&y})},
      {"far axis", with(Command("softmax", {}, kFar), {&x}, {&y})},
      {"farthest axis", with(Command("softmax", {}, std::numeric_limits<int>::min()), {&x}, {&y})},
      {"padding",
       with(Command("conv2d", {{"pads0", kGreatestMagnitude}}), {&image, &image}, {&pixel})},
      {"dilation",
       with(Command("conv2d", {{"dilation0", kGreatestMagnitude}}), {&image, &image}, {&pixel})},
      {"axis of an op without", with(Command("matmul", {}, 0), {&x, &x}, {&y})},
  });
  EXPECT_EQ(y.real_at({1, 2}), 7);  // no element was written
}

TEST(Misuse, Runs) {
  expect_calls_refused([](const Command& c, auto inputs, auto outputs) { run(c, inputs, outputs); },
                       "run");
  const mote_backend* no_backend[] = {nullptr};
  Tensor x(DType::f32, {2});
  Tensor y(DType::f32, {2});
  expect_refused(
      {{"null backend", [&] { run(Command("relu"), {&x}, {&y}, {.backends = no_backend}); }}});
}

TEST(Misuse, PreparedCommands) {
  expect_calls_refused([](const Command& c, auto inputs,
                          auto outputs) { PreparedCommand(c, inputs, outputs).run(); },
                       "PreparedCommand");
  Tensor x(DType::f32, {2, 3});
  fill(x, -1.0);
  Tensor y(DType::f32, {2, 3});
  Tensor other(DType::f32, {3, 2});
  Tensor integers(DType::i32, {2, 3});
  Tensor nowhere = Tensor::over(nullptr, DType::f32, {2, 3});
  PreparedCommand prepared(Command("relu"), {&x}, {&y});
  expect_refused({
      {"rebind nothing", [&] { prepared.rebind({}, {}); }},
      {"rebind null", [&] { prepared.rebind({nullptr}, {&y}); }},
      {"rebind to null", [&] { prepared.rebind({&x}, {nullptr}); }},
      {"rebind too many",
       [&] {
         prepared.rebind({&x, &x}, {&y});
       }},
      {"rebind shape", [&] { prepared.rebind({&other}, {&y}); }},
      {"rebind dtype", [&] { prepared.rebind({&x}, {&integers}); }},
      {"rebind without data", [&] { prepared.rebind({&nowhere}, {&y}); }},
      {"rebind to one memory", [&] { prepared.rebind({&x}, {&x}); }},
  });
  prepared.run();
  EXPECT_EQ(y.real_at({1, 2}), 0);
  PreparedCommand moved = std::move(prepared);
  expect_refused({
      {"run", [&] { prepared.run(); }},  // NOLINT: on purpose
      {"rebind", [&] { prepared.rebind({&x}, {&y}); }},
      {"kernel", [&] { (void)prepared.kernel(); }},
      {"command", [&] { (void)prepared.command(); }},
      {"workspace", [&] { (void)prepared.workspace_bytes(); }},
  });
}

TEST(Misuse, Inference) {
  const auto meta = [](const AxisList& shape) { return Tensor::over(nullptr, DType::f32, shape); };
  const Tensor x = meta({2, 3});
  const Tensor y = meta({4, 5});
  const Tensor image = meta({2, 2, 3, 3});
  const Command far_pads("conv2d", {{"pads0", kGreatestMagnitude}});
  const Command far_dilation("conv2d", {{"dilation0", kGreatestMagnitude}});
  const Tensor far = meta({kGreatestMagnitude / 16, 1});
  const Tensor far_row = meta({1, kGreatestMagnitude / 16});
  const Tensor many = meta({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  const Command relu("relu");
  const Command matmul("matmul");
  expect_refused({
      {"nothing", [&] { (void)infer(relu, {}); }},
      {"null", [&] { (void)infer(relu, {nullptr}); }},
      {"too many",
       [&] {
         (void)infer(relu, {&x, &x});
       }},
      {"extents",
       [&] {
         (void)infer(matmul, {&x, &y});
       }},
      {"padding",
       [&] {
         (void)infer(far_pads, {&image, &image});
       }},
      {"dilation",
       [&] {
         (void)infer(far_dilation, {&image, &image});
       }},
      {"broadcast",
       [&] {
         (void)infer(Command("add"), {&x, &y});
       }},
      {"overflow",
       [&] {
         (void)infer(Command("add"), {&far, &far_row});
       }},
      {"rank",
       [&] {
         (void)infer(Command("conv2d"), {&many, &many});
       }},
      {"axis", [&] { (void)infer(Command("softmax", {}, 7), {&x}); }},
      {"compute: nothing", [&] { (void)compute(relu, {}); }},
      {"compute: no data", [&] { (void)compute(relu, {&x}); }},
  });
}

TEST(Misuse, Contexts) {
  WorkspacePool small(1000);
  const Allocator none = {};
  WorkspacePool nowhere(kNoWorkspaceLimit, none);
  const std::size_t all = std::numeric_limits<std::size_t>::max();
  expect_refused({
      {"null backend", [] { (void)Context({.backends = {nullptr}}); }},
      {"negative workers", [] { (void)Context({.workers = -1}); }},
      {"many workers", [] { (void)Context({.workers = kFar}); }},
      {"beyond the limit", [&] { (void)small.lease(1001); }, MOTE_OUT_OF_MEMORY},
      {"everything", [&] { (void)small.lease(all); }, MOTE_OUT_OF_MEMORY},
      {"all there is", [] { (void)WorkspacePool().lease(all / 4); }, MOTE_OUT_OF_MEMORY},
      {"no allocator", [&] { (void)nowhere.lease(1); }},
  });
  EXPECT_NE(small.lease(900).data(), nullptr);
}

TEST(Misuse, Autotuning) {
  Context context;
  expect_calls_refused(
      [&](const Command& c, auto inputs, auto outputs) { autotune(c, inputs, outputs, context); },
      "autotune");
  EXPECT_EQ(context.tuning().size(), 0U);
  expect_refused({
      {"no path", [&] { save_tuning(context, ""); }, MOTE_FAILED},
      {"nowhere", [&] { save_tuning(context, "/nowhere/to/be/found"); }, MOTE_FAILED},
  });
  EXPECT_FALSE(load_tuning(context, "", nullptr));
  EXPECT_TRUE(load_tuning(context, testing::TempDir(), nullptr));
}

TEST(Misuse, Streams) {
  Context context({.workers = 1});
  Stream stream(context);
  expect_calls_refused(
      [&](const Command& c, auto inputs, auto outputs) { run(c, inputs, outputs, stream); },
      "run on a stream");
  stream.synchronize();
  expect_refused({
      {"no work", [&] { stream.enqueue(nullptr); }},
      {"nothing prepared", [&] { run(std::shared_ptr<PreparedCommand>(), stream); }},
      {"waiting within work",
       [&] {
         stream.enqueue([&] { stream.synchronize(); });
         stream.synchronize();
       }},
      {"waiting for an event within work",
       [&] {
         stream.enqueue([] { Event().synchronize(); });
         stream.synchronize();
       }},
  });
  const Event event;
  const Stream moved = std::move(stream);
  expect_refused({
      {"enqueue", [&] { stream.enqueue([] {}); }},  // NOLINT: on purpose
      {"record", [&] { stream.record(event); }},
      {"wait", [&] { stream.wait(event); }},
      {"synchronize", [&] { stream.synchronize(); }},
      {"is_idle", [&] { (void)stream.is_idle(); }},
  });
}

TEST(Misuse, PlugIns) {
  expect_refused({
      {"no path", [] { (void)load_backends(""); }, MOTE_FAILED},
      {"nowhere", [] { (void)load_backends("/nowhere/to/be/found.so"); }, MOTE_FAILED},
      {"a folder", [] { (void)load_backends(testing::TempDir()); }, MOTE_FAILED},
      {"this text", [] { (void)load_backends(__FILE__, Probe::none); }, MOTE_FAILED},
  });
}

}  // namespace
}  // namespace mote
