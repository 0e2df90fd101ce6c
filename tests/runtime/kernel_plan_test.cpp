// SPDX-License-Identifier: Apache-2.0
// Tests plans and bound calls: the same choice and results as run(), from forms alone; what is
// asked again; what is taken from the heap.
#include "mote/runtime/kernel_plan.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <cstring>
#include <vector>

#include "mote/runtime/bound_call.h"
#include "mote/runtime/context.h"
#include "mote/runtime/infer.h"
#include "runtime/expect_error.h"
#include "runtime/fake_backend.h"
#include "runtime/heap_count.h"

namespace mote {
namespace {

using test::expect_error;
using test::FakeBackend;
using test::heap_allocations;

/// x[k] = from + k, in row-major order of its index.
Tensor counted(const TensorForm& form, double from) {
  Tensor x(form.dtype, form.shape);
  const Tensor flat = x.reshape({x.element_count()});
  for (std::int64_t k = 0; k < x.element_count(); ++k) flat.set({k}, from + static_cast<double>(k));
  return x;
}

TEST(KernelPlan, OfFormsRunsAsRunDoes) {
  const TensorForm x_form{DType::f32, {2, 3, 4}};
  const TensorForm row_form{DType::f32, {4}};
  const auto plan = KernelPlan::make(Command("add"), {&x_form, &row_form}, {&x_form});
  EXPECT_EQ(plan->command(), Command("add"));
  EXPECT_EQ(plan->input_count(), 2);
  EXPECT_EQ(*plan->input(1), row_form);
  EXPECT_EQ(*plan->output(0), x_form);
  EXPECT_EQ(plan->input(2), nullptr);
  EXPECT_EQ(plan->output(-1), nullptr);
  EXPECT_FALSE(plan->is_in_place(0, 0));
  EXPECT_FALSE(plan->device());
  // Any number of calls share it.
  std::vector<Tensor> xs, ys;
  std::vector<BoundCall> calls;
  const Tensor row = counted(row_form, 10);
  for (int k = 0; k < 3; ++k) {
    xs.push_back(counted(x_form, k));
    ys.emplace_back(DType::f32, x_form.shape);
    BoundCall& call = calls.emplace_back(plan);
    call.bind_input(0, xs.back().data());
    call.bind_input(1, row.data());
    call.bind_output(0, ys.back().data());
  }
  for (BoundCall& call : calls) call.run();
  for (std::size_t k = 0; k < 3; ++k) {
    Tensor expected(DType::f32, x_form.shape);
    run(Command("add"), {&xs[k], &row}, {&expected});
    EXPECT_EQ(std::memcmp(ys[k].data(), expected.data(), 24 * sizeof(float)), 0);
  }
}

TEST(KernelPlan, BatchesAndStridesAreThoseOfTheForms) {
  const Tensor x = counted({DType::f32, {4, 3, 4, 5}}, -100).permute({1, 2, 0, 3});
  const TensorForm x_form = x.form();
  Tensor expected(DType::f32, x.shape()), y(DType::f32, x.shape());
  const TensorForm y_form = y.form();
  for (const Command& command : {Command("softmax", {}, 1), Command("softmax", {}, 3)}) {
    run(command, {&x}, {&expected});
    BoundCall call(KernelPlan::make(command, {&x_form}, {&y_form}));
    call.bind_input(0, x.data());
    call.bind_output(0, y.data());
    for (int k = 0; k < 2; ++k) {
      fill(y, 0.0);
      call.run();
      EXPECT_EQ(std::memcmp(y.data(), expected.data(), 240 * sizeof(float)), 0);
    }
  }
}

TEST(KernelPlan, ErrorsAreThoseOfRun) {
  const TensorForm three{DType::f32, {3}}, four{DType::f32, {4}}, repeated{DType::f32, {4}, {0}};
  const Command relu("relu");
  expect_error(MOTE_INVALID, "relu: axes of x f32[3] do not fit",
               [&] { KernelPlan::make(relu, {&three}, {&four}); });
  expect_error(MOTE_INVALID, "relu: output y is missing",
               [&] { KernelPlan::make(relu, {&three}, {nullptr}); });
  expect_error(MOTE_INVALID, "relu: takes at most 1 inputs, got 2", [&] {
    KernelPlan::make(relu, {&three, &three}, {&three});
  });
  expect_error(MOTE_INVALID, "elements of output y share memory",
               [&] { KernelPlan::make(relu, {&four}, {&repeated}); });
  const TensorForm far{DType::f32, {std::int64_t{1} << 60}};
  expect_error(MOTE_INVALID, "relu: its tensors are beyond 2^63-1 bytes together",
               [&] { KernelPlan::make(relu, {&far}, {&far}); });
  expect_error(MOTE_INVALID, "bound call: the plan is null", [] { BoundCall call(nullptr); });
}

TEST(KernelPlan, InPlaceIsAPatternThatTheOpMustAllow) {
  const TensorForm form{DType::f32, {4}}, turned{DType::f32, {2, 2}, {1, 2}},
      square{DType::f32, {2, 2}};
  const auto plan = KernelPlan::make(Command("add"), {&form, &form}, {&form}, {{0, 0}, {1, 0}});
  EXPECT_TRUE(plan->is_in_place(0, 0));
  EXPECT_TRUE(plan->is_in_place(1, 0));
  const Tensor x = counted(form, 1);
  BoundCall call(plan);
  call.bind_input(0, x.data());
  call.bind_input(1, x.data());
  call.bind_output(0, x.data());
  call.run();
  EXPECT_EQ(x.real_at({3}), 8);
  expect_error(MOTE_INVALID, "overlap in memory, which only the same view in an in-place pair may",
               [&] {
                 KernelPlan::make(Command("neg"), {&square}, {&turned}, {{0, 0}});
               });
  expect_error(MOTE_INVALID, "overlap in memory", [&] {
    KernelPlan::make(Command("matmul"), {&square, &square}, {&square}, {{0, 0}});
  });
  for (const mote_op_pair pair : {mote_op_pair{1, 0}, {0, 1}, {-1, 0}, {0, -1}})
    expect_error(MOTE_INVALID, "neg: in place: ", [&] {
      KernelPlan::make(Command("neg"), {&form}, {&form}, {pair});
    });
  // A kernel that does not promise the pair is passed over.
  FakeBackend<0> fake("neg");
  const RunOptions options = {.backends = fake.list};
  EXPECT_EQ(&KernelPlan::make(Command("neg"), {&form}, {&form}, {}, options)->kernel(),
            &fake.kernel);
  EXPECT_NE(&KernelPlan::make(Command("neg"), {&form}, {&form}, {{0, 0}}, options)->kernel(),
            &fake.kernel);
}

TEST(KernelPlan, OptionalTensorsMayBeLeftOut) {
  const TensorForm x{DType::f32, {1, 1, 4, 4}}, w{DType::f32, {1, 1, 3, 3}},
      y{DType::f32, {1, 1, 2, 2}};
  for (const bool given_null : {false, true}) {
    const std::array<const TensorForm*, 3> inputs = {&x, &w, nullptr};
    const TensorForm* output = &y;
    const auto plan = KernelPlan::make(
        Command("conv2d"), std::span(inputs).first(given_null ? 3 : 2), std::span(&output, 1));
    EXPECT_EQ(plan->input(2), nullptr);
    BoundCall call(plan);
    const Tensor data(DType::f32, {16}), ones(DType::f32, {9}), out(DType::f32, {4});
    fill(data, 2.0);
    fill(ones, 1.0);
    call.bind_input(0, data.data());
    call.bind_input(1, ones.data());
    call.bind_output(0, out.data());
    expect_error(MOTE_INVALID, "conv2d: input 2 is not in the plan",
                 [&] { call.bind_input(2, ones.data()); });
    call.run();
    EXPECT_EQ(out.real_at({3}), 18);
  }
}

TEST(BoundCall, SaysWhatIsNotBound) {
  const TensorForm form{DType::f32, {4}}, none{DType::f32, {0}};
  BoundCall call(KernelPlan::make(Command("neg"), {&form}, {&form}));
  const Tensor x = counted(form, 1), y(DType::f32, {4});
  expect_error(MOTE_INVALID, "neg: x has no data", [&] { call.run(); });
  call.bind_input(0, x.data());
  expect_error(MOTE_INVALID, "neg: y has no data", [&] { call.run(); });
  call.bind_output(0, y.data());
  call.run();
  EXPECT_EQ(y.real_at({3}), -4);
  call.bind_input(0, nullptr);
  expect_error(MOTE_INVALID, "neg: x has no data", [&] { call.check(); });
  expect_error(MOTE_INVALID, "neg: x has no data", [&] { call.run_in(nullptr, {}); });
  expect_error(MOTE_INVALID, "neg: output 1 is not in the plan",
               [&] { call.bind_output(1, nullptr); });
  expect_error(MOTE_INVALID, "neg: input -1 is not in the plan",
               [&] { call.bind_input(-1, nullptr); });
  BoundCall empty(KernelPlan::make(Command("neg"), {&none}, {&none}));
  empty.run();  // no elements need no memory
  BoundCall moved = std::move(call);
  expect_error(MOTE_INVALID, "bound call: it was moved to another one", [&] { call.run(); });
  moved.bind_input(0, x.data());
  moved.run();
}

/// A kernel that takes only addresses at the same offset from multiples of 64, and counts runs.
struct Picky {
  static inline int run_calls = 0;
  static inline int checked_calls = 0;
  Picky() : fake("neg") {
    run_calls = checked_calls = 0;
    fake.kernel.workspace_bytes = nullptr;
    fake.on_can_run = [](const mote_call* call) {
      const auto at = [](const DLTensor& x) {
        return (reinterpret_cast<std::uintptr_t>(x.data) + x.byte_offset) % 64;
      };
      if (at(*call->inputs[0]) == at(*call->outputs[0])) return MOTE_OK;
      test::say(call, "aligned otherwise");
      return MOTE_UNSUPPORTED;
    };
    fake.kernel.run = [](const mote_call*, void*) {
      ++run_calls;
      return MOTE_OK;
    };
    fake.kernel.run_checked = [](const mote_call*, void*) {
      ++checked_calls;
      return MOTE_OK;
    };
  }
  FakeBackend<0> fake;
};

TEST(BoundCall, AKernelIsAskedAgainOnlyAboutOtherAlignments) {
  Picky picky;
  const TensorForm form{DType::f32, {4}};
  BoundCall call(
      KernelPlan::make(Command("neg"), {&form}, {&form}, {}, {.backends = picky.fake.list}));
  EXPECT_EQ(picky.fake.asked, 1);
  const Tensor memory(DType::f32, {256});
  const auto at = [&](std::int64_t k) { return static_cast<float*>(memory.data()) + k; };
  call.bind_input(0, at(0));
  call.bind_output(0, at(64));
  call.run();
  call.bind_input(0, at(128));
  call.run();
  EXPECT_EQ(picky.fake.asked, 1);
  EXPECT_EQ(Picky::checked_calls, 2);
  call.bind_input(0, at(129));
  expect_error(MOTE_UNSUPPORTED, "neg: the kernel declines these tensors: aligned otherwise",
               [&] { call.run(); });
  EXPECT_EQ(Picky::checked_calls, 2);
  call.bind_output(0, at(1));
  call.run();
  call.run();
  EXPECT_EQ(picky.fake.asked, 3);
  EXPECT_EQ(Picky::checked_calls, 4);
  call.bind_input(0, at(0));
  call.bind_output(0, at(64));
  call.run();
  EXPECT_EQ(picky.fake.asked, 3);  // these are aligned as planned
  EXPECT_EQ(Picky::run_calls, 0);
}

TEST(BoundCall, ABatchOfOtherAlignmentsIsRunWithChecks) {
  Picky picky;
  // Seven axes that cannot be merged: a kernel of four takes them one by one.
  const auto plan_of = [&](std::int64_t stride) {
    const TensorForm x{DType::f32, {2, 2, 2, 2, 2}, {16 * stride, 8 * stride, 4 * stride, 64, 3}};
    const TensorForm y{DType::f32, {2, 2, 2, 2, 2}, {stride, 2 * stride, 4 * stride, 32, 1}};
    return KernelPlan::make(Command("neg"), {&x}, {&y}, {}, {.backends = picky.fake.list});
  };
  const Tensor memory(DType::f32, {1 << 16});
  for (const std::int64_t stride : {512, 1000}) {
    BoundCall call(plan_of(stride + 1 - 1));
    call.bind_input(0, memory.data());
    call.bind_output(0, memory.data());
    Picky::run_calls = Picky::checked_calls = 0;
    call.run();
    EXPECT_EQ(Picky::run_calls + Picky::checked_calls, 2);
    EXPECT_EQ(Picky::run_calls, 0) << stride;
  }
  const TensorForm odd{DType::f32, {2, 2, 2, 2, 2}, {333, 1, 5, 31, 77}};
  const TensorForm y{DType::f32, {2, 2, 2, 2, 2}};
  BoundCall call(KernelPlan::make(Command("neg"), {&odd}, {&y}, {}, {.backends = picky.fake.list}));
  call.bind_input(0, memory.data());
  call.bind_output(0, memory.data());
  Picky::run_calls = Picky::checked_calls = 0;
  call.run();
  EXPECT_EQ(Picky::run_calls, 2);
  EXPECT_EQ(Picky::checked_calls, 0);
}

TEST(BoundCall, ExceptionsOfRunCheckedAreErrorsToo) {
  FakeBackend<0> fake("neg");
  fake.kernel.run_checked = [](const mote_call*, void*) -> mote_status {
    throw std::runtime_error("thrown");
  };
  const TensorForm form{DType::f32, {4}};
  BoundCall call(KernelPlan::make(Command("neg"), {&form}, {&form}, {}, {.backends = fake.list}));
  const Tensor x(DType::f32, {4});
  call.bind_input(0, x.data());
  call.bind_output(0, x.data());
  expect_error(MOTE_FAILED, "neg: the kernel threw an exception: thrown", [&] { call.run(); });
}

TEST(BoundCall, TakesWorkspaceFromThePlansContextOrTheCaller) {
  FakeBackend<0> fake("softmax");
  fake.wants = 1000;
  static void* seen = nullptr;
  fake.on_run = [](const mote_call* call) {
    seen = call->workspace;
    std::memset(call->workspace, 1, call->workspace_bytes);
    return call->workspace_bytes == 1000 ? MOTE_OK : MOTE_FAILED;
  };
  Context context;
  const TensorForm form{DType::f32, {3, 4}};
  const auto plan = KernelPlan::make(Command("softmax"), {&form}, {&form}, {},
                                     {.backends = fake.list, .context = &context});
  EXPECT_EQ(plan->workspace_bytes(), 1000U);
  BoundCall call(plan);
  const Tensor x(DType::f32, {3, 4}), y(DType::f32, {3, 4});
  call.bind_input(0, x.data());
  call.bind_output(0, y.data());
  call.run();
  EXPECT_EQ(context.workspace().held(), 1024U);
  alignas(64) std::array<std::byte, 1024> own{};
  call.run_in(nullptr, own);
  EXPECT_EQ(seen, own.data());
}

TEST(BoundCall, IsCheapToMakeAndRunsWithoutTheHeap) {
  const TensorForm form{DType::f32, {16}};
  const auto plan = KernelPlan::make(Command("add"), {&form, &form}, {&form});
  const Tensor x = counted(form, 1), y(DType::f32, {16});
  BoundCall first(plan);
  const std::size_t before = mallinfo2().uordblks;
  const int allocations = heap_allocations();
  BoundCall call(plan);
  EXPECT_EQ(heap_allocations(), allocations + 1);
  EXPECT_LE(mallinfo2().uordblks - before + sizeof(BoundCall), 400U);
  call.bind_input(0, x.data());
  call.bind_input(1, x.data());
  call.bind_output(0, y.data());
  for (int k = 0; k < 3; ++k) call.run();
  call.bind_input(1, static_cast<float*>(x.data()));
  call.run();
  call.run_in(nullptr, {});
  EXPECT_EQ(heap_allocations(), allocations + 1);
  EXPECT_EQ(y.real_at({15}), 32);
}

TEST(KernelPlan, InferredFormsArePlannedWithoutATensor) {
  const TensorForm x{DType::f32, {2, 3}}, w{DType::f32, {3, 5}};
  const std::vector<TensorForm> y = infer(Command("matmul"), {&x, &w});
  ASSERT_EQ(y.size(), 1U);
  EXPECT_EQ(y[0], (TensorForm{DType::f32, {2, 5}}));
  EXPECT_EQ(*KernelPlan::make(Command("matmul"), {&x, &w}, {y.data()})->output(0), y[0]);
}

}  // namespace
}  // namespace mote
