// SPDX-License-Identifier: Apache-2.0
// Tests prepared commands: same results and same errors as run(), rebinding, workspace, no heap.
#include "mote/runtime/prepared.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "mote/runtime/context.h"
#include "runtime/expect_error.h"
#include "runtime/fake_backend.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using test::expect_error;
using test::FakeBackend;
using test::heap_allocations;

Tensor counting_floats(const AxisList& shape, double from = 0) {
  Tensor x(DType::f32, shape);
  const Tensor flat = x.reshape({x.element_count()});
  for (std::int64_t k = 0; k < x.element_count(); ++k) flat.set({k}, from + static_cast<double>(k));
  return x;
}

/// Expects that the elements of x and y are equal.
void expect_equal(const Tensor& x, const Tensor& y) {
  ASSERT_EQ(x.shape(), y.shape());
  const Tensor a = clone(x).reshape({x.element_count()});
  const Tensor b = clone(y).reshape({y.element_count()});
  for (std::int64_t k = 0; k < a.element_count(); ++k)
    ASSERT_EQ(a.real_at({k}), b.real_at({k})) << "element " << k;
}

TEST(Prepared, RunsAsRunDoes) {
  const Tensor x = counting_floats({4, 3, 4, 5}, -100).permute({1, 2, 0, 3});
  const Tensor row = counting_floats({5});
  Tensor expected(DType::f32, x.shape());
  Tensor y(DType::f32, x.shape());
  for (const Command& command : {Command("softmax", {}, 1), Command("softmax", {}, 3)}) {
    run(command, {&x}, {&expected});
    PreparedCommand prepared(command, {&x}, {&y});
    prepared.run();
    expect_equal(y, expected);
    fill(y, 0.0);
    prepared.run();  // the iterations of a batch start from the beginning again
    expect_equal(y, expected);
  }
  run(Command("add"), {&x, &row}, {&expected});
  PreparedCommand(Command("add"), {&x, &row}, {&y}).run();
  expect_equal(y, expected);
}

TEST(Prepared, KeepsTheMemoryButNotTheTensors) {
  Tensor y(DType::f32, {3});
  std::vector<Tensor> x;
  x.push_back(counting_floats({3}, -1));
  PreparedCommand prepared(Command("relu"), {x.data()}, {&y});
  EXPECT_EQ(y.owners(), 2);
  const Tensor seen = y;
  x.clear();
  y = Tensor();
  prepared.run();
  EXPECT_EQ(seen.real_at({0}), 0);
  EXPECT_EQ(seen.real_at({2}), 1);
}

TEST(Prepared, ErrorsAreThoseOfRun) {
  const Tensor x(DType::f32, {3});
  Tensor y(DType::f32, {4});
  expect_error(MOTE_INVALID, "relu: axes of x f32[3] do not fit",
               [&] { PreparedCommand(Command("relu"), {&x}, {&y}); });
  expect_error(MOTE_INVALID, "relu: output y is missing",
               [&] { PreparedCommand(Command("relu"), {&x}, {nullptr}); });
  FakeBackend<0> fake("relu");
  Tensor z(DType::f32, {3});
  PreparedCommand prepared(Command("relu"), {&x}, {&z}, {.backends = fake.list});
  EXPECT_EQ(&prepared.kernel(), &fake.kernel);
  fake.on_run = [](const mote_call* call) {
    test::say(call, "it broke");
    return MOTE_FAILED;
  };
  expect_error(MOTE_FAILED, "relu: it broke", [&] { prepared.run(); });
  fake.on_run = [](const mote_call*) -> mote_status { throw std::runtime_error("thrown"); };
  expect_error(MOTE_FAILED, "relu: the kernel threw an exception: thrown", [&] { prepared.run(); });
  fake.on_run = [](const mote_call*) -> mote_status { throw 7; };
  expect_error(MOTE_FAILED, "relu: the kernel threw", [&] { prepared.run(); });
  fake.on_run = nullptr;
  prepared.run();
}

TEST(Prepared, ABatchThatFailsBeginsAtTheFrontAgain) {
  FakeBackend<0> fake("softmax");
  const Tensor x = Tensor(DType::f32, {4, 3, 4, 5}).slice(2, 0, 2);
  Tensor y(DType::f32, {4, 3, 2, 5});
  PreparedCommand prepared(Command("softmax", {}, 3), {&x}, {&y}, {.backends = fake.list});
  std::vector<std::uint64_t> offsets;
  fake.on_run = [&](const mote_call* call) {
    offsets.push_back(call->inputs[0]->byte_offset);
    return offsets.size() == 5 ? MOTE_FAILED : MOTE_OK;
  };
  EXPECT_THROW(prepared.run(), StatusError);
  const std::vector<std::uint64_t> first = offsets;
  prepared.run();
  ASSERT_EQ(offsets.size(), 5U + 12U);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(offsets[5 + k], first[k]);
}

TEST(Prepared, RebindsToTensorsOfTheSameForm) {
  const Tensor x = counting_floats({3, 4});
  Tensor y(DType::f32, {3, 4});
  PreparedCommand prepared(Command("neg"), {&x}, {&y});
  prepared.run();
  const Tensor other_x = counting_floats({3, 4}, 50);
  Tensor other_y(DType::f32, {3, 4});
  prepared.rebind({&other_x}, {&other_y});
  EXPECT_EQ(x.owners(), 1);  // the command has released it
  prepared.run();
  EXPECT_EQ(other_y.real_at({2, 3}), -61);
  EXPECT_EQ(y.real_at({2, 3}), -11);
  // The tensor is unaligned, but by whole elements: the generated kernels take it.
  const Tensor memory = counting_floats({13}, 100);
  const Tensor odd = memory.slice(0, 1, 12).reshape({3, 4});
  prepared.rebind({&odd}, {&other_y});
  prepared.run();
  EXPECT_EQ(other_y.real_at({0, 0}), -101);
}

TEST(Prepared, RefusesTensorsOfAnotherForm) {
  const Tensor x = counting_floats({3, 4});
  Tensor y(DType::f32, {3, 4});
  PreparedCommand prepared(Command("neg"), {&x}, {&y});
  const auto refused = [&](const std::string& part, const Tensor* in, Tensor* out) {
    expect_error(MOTE_INVALID, part, [&] { prepared.rebind({in}, {out}); });
  };
  const Tensor wide(DType::f32, {3, 5});
  const Tensor turned = Tensor(DType::f32, {4, 3}).permute({1, 0});
  const Tensor doubles(DType::f64, {3, 4});
  Tensor both(DType::f32, {3, 4});
  Tensor nothing = Tensor::over(nullptr, DType::f32, {3, 4});
  refused("neg: x must be as it was prepared: f32[3,4] with strides [4,1], got f32[3,5]", &wide,
          &y);
  refused("strides [1,3]", &turned, &y);
  refused("f64[3,4]", &doubles, &y);
  refused("x and output y share memory otherwise than prepared", &both, &both);
  refused("x was there when it was prepared", nullptr, &y);
  refused("y has no data", &x, &nothing);
  expect_error(MOTE_INVALID, "neg: was prepared with 1 inputs and 1 outputs, got 2 and 1", [&] {
    prepared.rebind({&x, &x}, {&y});
  });
  fill(y, 0.0);
  prepared.run();
  EXPECT_EQ(y.real_at({0, 3}), -3);  // these are still the first tensors

  Tensor z = counting_floats({3, 4});
  PreparedCommand in_place(Command("neg"), {&z}, {&z});
  refused("share memory otherwise", &both, &both);
  in_place.rebind({&both}, {&both});
  expect_error(MOTE_INVALID, "share memory otherwise than prepared",
               [&] { in_place.rebind({&x}, {&y}); });
}

TEST(Prepared, AKernelIsAskedAgainAboutOtherAlignments) {
  FakeBackend<0> fake("neg");
  fake.on_can_run = [](const mote_call* call) {
    const DLTensor& x = *call->inputs[0];
    const auto at = reinterpret_cast<std::uintptr_t>(x.data) + x.byte_offset;
    if (at % 64 == 0) return MOTE_OK;
    test::say(call, "not aligned");
    return MOTE_UNSUPPORTED;
  };
  const Tensor x(DType::f32, {12});
  const Tensor odd = Tensor(DType::f32, {13}).slice(0, 1, 12);
  const Tensor even(DType::f32, {12});
  Tensor y(DType::f32, {12});
  PreparedCommand prepared(Command("neg"), {&x}, {&y}, {.backends = fake.list});
  expect_error(MOTE_UNSUPPORTED, "neg: the kernel declines these tensors: not aligned",
               [&] { prepared.rebind({&odd}, {&y}); });
  prepared.run();
  fake.asked = 0;
  prepared.rebind({&even}, {&y});
  EXPECT_EQ(fake.asked, 0);
}

TEST(Prepared, TakesNothingFromTheHeapAndWorkspaceFromThePool) {
  FakeBackend<0> fake("softmax");
  fake.wants = 1000;
  fake.on_run = [](const mote_call* call) {
    std::memset(call->workspace, 1, call->workspace_bytes);
    return call->workspace_bytes == 1000 ? MOTE_OK : MOTE_FAILED;
  };
  Context context;
  const Tensor x = Tensor(DType::f32, {4, 3, 4, 5}).slice(2, 0, 2);
  Tensor y(DType::f32, {4, 3, 2, 5});
  PreparedCommand prepared(Command("softmax", {}, 3), {&x}, {&y},
                           {.backends = fake.list, .context = &context});
  prepared.run();
  EXPECT_EQ(context.workspace().held(), 1024U);
  const int before = heap_allocations();
  prepared.run();
  prepared.rebind({&x}, {&y});
  prepared.run();
  EXPECT_EQ(heap_allocations(), before);
}

}  // namespace
}  // namespace mote
