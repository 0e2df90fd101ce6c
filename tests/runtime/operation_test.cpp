// SPDX-License-Identifier: Apache-2.0
// Tests operations: what each kind does, alone, in a list and in a stream; errors name the one that
// failed.
#include "mote/runtime/operation.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "mote/runtime/stream.h"
#include "runtime/expect_error.h"
#include "runtime/fake_backend.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using test::expect_error;
using test::FakeBackend;
using test::heap_allocations;

Tensor filled(const AxisList& shape, double value) {
  Tensor x(DType::f32, shape);
  fill(x, value);
  return x;
}

/// y = -(x + 1), through a copy, a fill and a function, in this order.
struct Chain {
  Chain() {
    const Operation all[] = {
        FillOperation{one, std::int64_t{1}},
        RunOperation{Command("add"), {x, one}, {sum}},
        CopyOperation{sum, wide},
        RunOperation{Command("neg"), {wide}, {negative}},
        CallOperation{[this] { copy(negative, y); }, {negative}, {y}},
    };
    for (const Operation& operation : all) prepared.push_back(prepare(operation, context));
    for (PreparedOperation& operation : prepared) list.push_back(&operation);
  }
  Context context;
  Tensor x = filled({3}, 4), one = filled({3}, 0), sum = filled({3}, 0), y = filled({3}, 0);
  Tensor wide = Tensor(DType::f64, {2, 3}), negative = Tensor(DType::f64, {2, 3});
  std::vector<PreparedOperation> prepared;
  std::vector<PreparedOperation*> list;
};

TEST(Operation, EachKindRunsAlone) {
  Chain c;
  c.y = filled({2, 3}, 0);
  for (PreparedOperation& operation : c.prepared) operation.run();
  EXPECT_EQ(c.y.real_at({1, 2}), -5);
  EXPECT_EQ(c.prepared[1].text(), "add");
  EXPECT_EQ(c.prepared[2].text(), "copy of f32[3] to f64[2,3]");
  EXPECT_EQ(c.prepared[0].text(), "fill of f32[3]");
  EXPECT_EQ(c.prepared[4].text(), "call");
  ASSERT_NE(c.prepared[1].command(), nullptr);
  EXPECT_EQ(c.prepared[1].bound_call(), nullptr);
  EXPECT_EQ(c.prepared[2].command(), nullptr);
  const Tensor other = filled({3}, 40);
  c.prepared[1].command()->rebind({&other, &c.one}, {&c.sum});
  run(c.list);
  EXPECT_EQ(c.y.real_at({0, 0}), -41);
}

TEST(Operation, SaysWhatItReadsAndWrites) {
  const Tensor x = filled({2}, 1), y = filled({2}, 2);
  const auto count = [](const Operation& operation) {
    const Accesses all = accesses(operation);
    return std::pair(all.reads.size(), all.writes.size());
  };
  EXPECT_EQ(count(RunOperation{Command("conv2d"), {x, x, std::nullopt}, {y}}), std::pair(2UL, 1UL));
  EXPECT_EQ(count(CopyOperation{x, y}), std::pair(1UL, 1UL));
  EXPECT_EQ(count(FillOperation{y, 0.5}), std::pair(0UL, 1UL));
  EXPECT_EQ(count(CallOperation{[] {}, {x, y}, {}}), std::pair(2UL, 0UL));
  EXPECT_EQ(to_string(Operation(RunOperation{Command("softmax", {}, 1), {x}, {y}})),
            "softmax axis=1");
}

TEST(Operation, IsCheckedWhenItIsPrepared) {
  Context context;
  const Tensor x = filled({2, 3}, 1), y = filled({3, 2}, 1);
  const Tensor repeated = x.select(1, 0).broadcast_to({4, 2});
  expect_error(MOTE_INVALID, "relu: axes of x", [&] {
    prepare(RunOperation{Command("relu"), {x}, {y}}, context);
  });
  expect_error(MOTE_INVALID, "relu: output y is missing", [&] {
    prepare(RunOperation{Command("relu"), {x}, {std::nullopt}}, context);
  });
  expect_error(MOTE_INVALID, "tensor: ", [&] { prepare(CopyOperation{x, y}, context); });
  expect_error(MOTE_INVALID, "fill", [&] { prepare(FillOperation{repeated, 1.0}, context); });
  expect_error(MOTE_INVALID, "call: the function is empty",
               [&] { prepare(CallOperation{nullptr}, context); });
}

TEST(Operation, KeepsTheMemoryOfItsTensors) {
  Context context;
  Tensor y = filled({2}, 0);
  PreparedOperation copied = [&] { return prepare(CopyOperation{filled({2}, 3), y}, context); }();
  PreparedOperation negated = [&] {
    return prepare(RunOperation{Command("neg"), {filled({2}, 3)}, {y}}, context);
  }();
  copied.run();
  EXPECT_EQ(y.real_at({1}), 3);
  negated.run();
  EXPECT_EQ(y.real_at({1}), -3);
  PreparedOperation moved = std::move(copied);
  moved.run();
  EXPECT_EQ(y.real_at({1}), 3);
  expect_error(MOTE_INVALID, "moved", [&] { copied.run(); });
  EXPECT_EQ(copied.text(), "moved");
}

TEST(Operation, TheErrorOfAListNamesTheOperation) {
  Context context;
  FakeBackend<0> fake("relu");
  int runs = 0;
  fake.on_run = [&](const mote_call* call) {
    if (++runs != 2) return MOTE_OK;
    test::say(call, "it broke");
    return MOTE_OUT_OF_MEMORY;
  };
  Tensor x = filled({2}, 1), y = filled({2}, 1);
  std::vector<PreparedOperation> prepared;
  for (int k = 0; k < 3; ++k)
    prepared.push_back(
        prepare(RunOperation{Command("relu"), {x}, {y}, {.backends = fake.list}}, context));
  prepared.push_back(prepare(CallOperation{[] { throw std::runtime_error("oops"); }}, context));
  prepared.push_back(prepare(CallOperation{[] { throw 7; }}, context));
  prepared.push_back(prepare(CallOperation{[] { throw std::bad_alloc(); }}, context));
  const auto failure = [](std::vector<PreparedOperation*> list) {
    try {
      run(list);
    } catch (const OperationError& error) {
      return std::to_string(error.index()) + " " + std::to_string(error.status()) + " " +
             error.what();
    }
    return std::string("none");
  };
  auto* const p = prepared.data();
  EXPECT_EQ(failure({p, p + 1, p + 2}), "1 3 operation 1: relu: it broke");
  EXPECT_EQ(runs, 2);  // the third one has not run
  EXPECT_EQ(failure({p, p + 3}), "1 4 operation 1: oops");
  EXPECT_EQ(failure({p + 4}), "0 4 operation 0: an exception of an unknown type");
  EXPECT_EQ(failure({p + 5}), "0 3 operation 0: out of memory");
  EXPECT_EQ(failure({p, p, nullptr}), "2 1 operation 2: it is null");
  EXPECT_EQ(failure({}), "none");
}

TEST(Operation, AListIsOneTaskOfAStream) {
  Chain c;
  c.y = filled({2, 3}, 0);
  Stream stream(c.context);
  std::atomic<bool> go = false;
  stream.enqueue([&] {
    while (!go) std::this_thread::yield();
  });
  const int before = heap_allocations();
  run(c.list, stream);
  EXPECT_LE(heap_allocations() - before, 1);  // none for each operation
  go = true;
  stream.synchronize();
  EXPECT_EQ(c.y.real_at({1, 2}), -5);
  run(std::span<PreparedOperation* const>(), stream);
  c.list[2] = nullptr;
  expect_error(MOTE_INVALID, "operation 2: it is null", [&] { run(c.list, stream); });
  PreparedOperation failing =
      prepare(CallOperation{[] { throw std::runtime_error("oops"); }}, c.context);
  PreparedOperation* const list[] = {c.list[0], &failing, c.list[1]};
  run(list, stream);
  expect_error(MOTE_FAILED, "operation 1: oops", [&] { stream.synchronize(); });
  run(std::span(list).first(1), stream);
  stream.synchronize();
}

TEST(Operation, RunsOfBoundCallsTakeNothingFromTheHeap) {
  const TensorForm form{DType::f32, {3}};
  const auto plan = KernelPlan::make(Command("neg"), {&form}, {&form});
  const Tensor x = filled({3}, 2), y = filled({3}, 0), z = filled({3}, 0);
  std::vector<PreparedOperation> prepared;
  for (int k = 0; k < 2; ++k) {
    BoundCall call(plan);
    call.bind_input(0, k == 0 ? x.data() : y.data());
    call.bind_output(0, k == 0 ? y.data() : z.data());
    prepared.emplace_back(std::move(call));
  }
  PreparedOperation* const list[] = {prepared.data(), &prepared[1]};
  const int before = heap_allocations();
  run(list);
  EXPECT_EQ(heap_allocations(), before);
  EXPECT_EQ(z.real_at({2}), 2);
  prepared[1].bound_call()->bind_output(0, x.data());
  run(list);
  EXPECT_EQ(x.real_at({2}), 2);
  EXPECT_EQ(prepared[0].text(), "neg");
}

}  // namespace
}  // namespace mote
