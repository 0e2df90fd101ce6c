// SPDX-License-Identifier: Apache-2.0
// Tests other backends behind run(): the order of queries, workspace, in-place pairs, 64 inputs and
// outputs, and that a call allocates no heap memory.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "mote/runtime/catalogue.h"
#include "mote/runtime/command.h"
#include "runtime/expect_error.h"
#include "runtime/failing_allocator.h"
#include "runtime/heap_count.h"
#include "runtime/plain_records.h"

namespace mote {
namespace {

using test::expect_error;
using test::heap_allocations;

/// The queries and calls that the fake kernels received.
struct Log {
  int asked = 0;
  int runs = 0;
  std::size_t workspace = 0;
  mote_status answer = MOTE_OK;
  mote_status result = MOTE_OK;
  std::size_t wants = 0;
  void* stream = nullptr;
};
Log log;

mote_status can_run(const mote_call* call) {
  ++log.asked;
  if (log.answer != MOTE_OK) std::strncpy(call->message, "not today", call->message_bytes);
  return log.answer;
}
std::size_t workspace_bytes(const mote_call*) { return log.wants; }
mote_status run_kernel(const mote_call* call, void* stream) {
  ++log.runs;
  log.workspace = call->workspace_bytes;
  log.stream = stream;
  if (log.wants > 0) std::memset(call->workspace, 1, call->workspace_bytes);
  if (log.result != MOTE_OK) std::strncpy(call->message, "it broke", call->message_bytes);
  return log.result;
}

mote_contract contract = test::kPlainContract;

mote_kernel kernel_for(const char* op) {
  return {sizeof(mote_kernel), op, &contract, can_run, workspace_bytes, run_kernel, nullptr};
}

struct Fake {
  explicit Fake(const char* op) : kernel(kernel_for(op)) { log = {}; }
  RunOptions options() { return {.backends = list, .stream = nullptr}; }

  mote_kernel kernel;
  mote_backend backend = {.size = sizeof(mote_backend),
                          .name = "fake",
                          .version = "1",
                          .kernel_count = 1,
                          .reserved = 0,
                          .kernels = &kernel};
  const mote_backend* list[1] = {&backend};
};

TEST(Backends, TheFirstThatAcceptsRuns) {
  Fake fake("relu");
  const Tensor x(DType::f32, {3});
  fill(x, -1.0);
  Tensor y(DType::f32, {3});
  fill(y, 5.0);
  run(Command("relu"), {&x}, {&y}, fake.options());
  EXPECT_EQ(log.runs, 1);
  EXPECT_EQ(y.real_at({0}), 5);  // the fake writes nothing
  log.answer = MOTE_UNSUPPORTED;
  run(Command("relu"), {&x}, {&y}, fake.options());
  EXPECT_EQ(log.asked, 2);
  EXPECT_EQ(log.runs, 1);
  EXPECT_EQ(y.real_at({0}), 0);  // a generated kernel computed it
  run(Command("neg"), {&x}, {&y}, fake.options());
  EXPECT_EQ(log.asked, 2);  // the fake has no kernel for neg
}

TEST(Backends, AnInPlaceCallGoesToWhoPromisesIt) {
  Fake fake("relu");
  Tensor x(DType::f32, {3});
  fill(x, -1.0);
  run(Command("relu"), {&x}, {&x}, fake.options());
  EXPECT_EQ(log.asked, 0);
  EXPECT_EQ(x.real_at({2}), 0);
  const mote_op_pair pair = {0, 0};
  mote_contract promise = contract;
  promise.in_place_count = 1;
  promise.in_place = &pair;
  fake.kernel.contract = &promise;
  run(Command("relu"), {&x}, {&x}, fake.options());
  EXPECT_EQ(log.runs, 1);
}

/// The runtime does not inspect indices.
TEST(Backends, AKernelThatIsForSomeIndicesOnlyIsNotAsked) {
  Fake fake("relu");
  const Tensor x(DType::f32, {3});
  Tensor y(DType::f32, {3});
  mote_contract promise = contract;
  promise.indices = MOTE_INDICES_VALID;
  fake.kernel.contract = &promise;
  run(Command("relu"), {&x}, {&y}, fake.options());
  EXPECT_EQ(log.asked, 0);
  promise.indices = MOTE_INDICES_ANY;
  run(Command("relu"), {&x}, {&y}, fake.options());
  EXPECT_EQ(log.runs, 1);
}

TEST(Backends, WorkspaceAndStreamReachTheKernel) {
  Fake fake("relu");
  log.wants = 1000;
  const Tensor x(DType::f32, {3});
  Tensor y(DType::f32, {3});
  int stream = 0;
  RunOptions options = fake.options();
  options.stream = &stream;
  run(Command("relu"), {&x}, {&y}, options);
  EXPECT_EQ(log.workspace, 1000U);
  EXPECT_EQ(log.stream, &stream);
  log.wants = SIZE_MAX;  // no allocation has this size: another kernel runs
  run(Command("relu"), {&x}, {&y}, options);
  EXPECT_EQ(log.runs, 1);
  log.wants = 1000;
  test::FailingAllocator failing{.fails_from = 0};
  set_default_allocator(failing.hook());
  expect_error(MOTE_OUT_OF_MEMORY, "the allocator has no",
               [&] { run(Command("relu"), {&x}, {&y}, options); });
  set_default_allocator(system_allocator());
}

TEST(Backends, AFailureStopsTheBatchAndIsTold) {
  Fake fake("softmax");
  log.result = MOTE_FAILED;
  const Tensor x = Tensor(DType::f32, {4, 3, 4, 5}).slice(2, 0, 2);
  Tensor y(DType::f32, {4, 3, 2, 5});
  expect_error(MOTE_FAILED, "softmax: it broke",
               [&] { run(Command("softmax", {}, 3), {&x}, {&y}, fake.options()); });
  EXPECT_EQ(log.runs, 1);
  log.result = MOTE_OK;
  run(Command("softmax", {}, 3), {&x}, {&y}, fake.options());
  EXPECT_EQ(log.runs, 1 + 12);  // [4, 3] merges to 12 iterations of 2 rows
}

/// An op of 64 inputs and 64 outputs without generated kernels.
struct Wide {
  Wide() {
    const mote_op_tensor tensor = {.name = "t",
                                   .dtype = "T",
                                   .optional = 0,
                                   .rank = 2,
                                   .axes = axes,
                                   .broadcast = 0,
                                   .batch = 0b11,
                                   .programs = nullptr};
    tensors.assign(64, tensor);
    definition = test::plain_definition("wide", tensors, tensors);
    register_op("wide", registry).set(kDefinition, &definition);
  }

  const char* axes[2] = {"I", "J"};
  std::vector<mote_op_tensor> tensors;
  mote_op_definition definition;
  Registry registry;
};

TEST(Backends, ACallOf64InputsAndOutputsTakesNothingFromTheHeap) {
  Wide wide;
  Fake fake("wide");
  const Command command("wide", {}, std::nullopt, wide.registry);
  std::vector<Tensor> memory;
  for (int k = 0; k < 128; ++k) memory.emplace_back(DType::f32, AxisList({3, 4, 2, 2}));
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
  for (std::size_t k = 0; k < 64; ++k) {
    inputs.push_back(&memory[k]);
    outputs.push_back(&memory[64 + k]);
  }
  const RunOptions options = fake.options();
  const int before = heap_allocations();
  run(command, inputs, outputs, options);
  EXPECT_EQ(heap_allocations(), before);
  EXPECT_EQ(log.runs, 1);
}

TEST(Backends, GeneratedKernelsTakeNothingFromTheHeapEither) {
  const Command softmax("softmax", {}, 1);
  const Command add("add");
  const Tensor x = Tensor(DType::f32, {4, 3, 4, 5}).permute({1, 2, 0, 3});
  Tensor y(DType::f32, x.shape());
  fill(x, 0.5);
  const Tensor row(DType::f32, {5});
  fill(row, 1.0);
  run(softmax, {&x}, {&y});  // OpenMP may start threads
  const int before = heap_allocations();
  run(softmax, {&x}, {&y});
  run(add, {&x, &row}, {&y});
  EXPECT_EQ(heap_allocations(), before);
  EXPECT_EQ(y.real_at({2, 3, 3, 4}), 1.5);
}

}  // namespace
}  // namespace mote
