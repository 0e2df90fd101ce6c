// SPDX-License-Identifier: Apache-2.0
// Tests mote/mote.h without memory: MOTE_OUT_OF_MEMORY, untouched results, and a successful retry.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "mote/mote.h"
#include "mote/npz/npz_c.h"
#include "runtime/faults/c_handle.h"
#include "runtime/faults/failing_heap.h"

namespace {

using mote::test::CommandHandle;
using mote::test::ContextHandle;
using mote::test::EventHandle;
using mote::test::expect;
using mote::test::Handle;
using mote::test::PreparedHandle;
using mote::test::StreamHandle;
using mote::test::survive_each_allocation;
using mote::test::TensorHandle;

const DLDataType kF32 = {kDLFloat, 32, 1};

TensorHandle tensor(const std::vector<std::int64_t>& shape, double value) {
  TensorHandle handle;
  const auto rank = static_cast<std::int32_t>(shape.size());
  handle.set([&](mote_tensor** t) { return mote_tensor_create(kF32, rank, shape.data(), t); });
  expect(mote_tensor_fill_real(handle, value));
  return handle;
}

TEST(FailingHeapC, Tensors) {
  const std::string path = testing::TempDir() + "mote_faults_c_" + std::to_string(getpid());
  survive_each_allocation([&] {
    const TensorHandle x = tensor({2, 3}, 5);
    TensorHandle view;
    const std::int64_t shape[] = {3, 2};
    const std::int32_t order[] = {1, 0};
    const std::int64_t wide[] = {4, 2, 3};
    view.set([&](mote_tensor** v) { return mote_tensor_reshape(x, 2, shape, v); });
    view.set([&](mote_tensor** v) { return mote_tensor_permute(x, 2, order, v); });
    view.set([&](mote_tensor** v) { return mote_tensor_select(x, 0, 1, v); });
    view.set([&](mote_tensor** v) { return mote_tensor_slice(x, 0, 0, 1, 1, v); });
    view.set([&](mote_tensor** v) { return mote_tensor_broadcast_to(x, 3, wide, v); });
    double real = 0;
    const std::int64_t index[] = {3, 1, 2};
    expect(mote_tensor_real_at(view, index, &real));
    EXPECT_EQ(real, 5);
    expect(mote_tensor_slice(x, 7, 0, 1, 1, nullptr), MOTE_INVALID);
    expect(mote_tensor_write_npy(x, path.c_str()));
    TensorHandle read;
    read.set([&](mote_tensor** t) { return mote_tensor_read_npy(path.c_str(), t); });
    const char* const names[] = {"x"};
    const mote_tensor* const tensors[] = {x};
    expect(mote_npz_write(path.c_str(), names, tensors, 1, 1));
    Handle<mote_npz, mote_npz_free> npz;
    npz.set([&](mote_npz** n) { return mote_npz_read(path.c_str(), n); });
    read.set([&](mote_tensor** t) { return mote_npz_tensor(npz, "x", t); });
    DLManagedTensor* managed = nullptr;
    expect(mote_tensor_to_dlpack(x, &managed));
    try {
      read.set([&](mote_tensor** t) { return mote_tensor_from_dlpack(managed, t); });
    } catch (...) {
      managed->deleter(managed);
      throw;
    }
  });
  std::filesystem::remove(path);
}

TEST(FailingHeapC, Ops) {
  survive_each_allocation([] {
    CommandHandle command;
    const mote_param stride = {"stride0", 0, 2, 0};
    command.set(
        [&](mote_command** c) { return mote_command_create("conv2d", &stride, 1, nullptr, c); });
    EXPECT_STREQ(mote_command_text(command), "conv2d stride0=2");
    CommandHandle parsed;
    parsed.set([](mote_command** c) { return mote_command_parse("conv2d stride0=2", c); });
    EXPECT_EQ(mote_command_equal(command, parsed), 1);
    const mote_op_definition* definition = nullptr;
    expect(mote_op_find("conv2d", &definition));
    const TensorHandle x = tensor({1, 2, 5, 5}, 1);
    const TensorHandle w = tensor({3, 2, 3, 3}, 1);
    const mote_tensor* const inputs[] = {x, w};
    TensorHandle form;
    form.set([&](mote_tensor** y) { return mote_infer(command, inputs, 2, nullptr, y, 1); });
    EXPECT_EQ(static_cast<mote_tensor*>(form)->dl.ndim, 4);
    DLDataType dtype = {};
    expect(mote_dtype("bf16", &dtype));
    expect(mote_dtype("a name that is quite long", &dtype), MOTE_INVALID);
  });
}

TEST(FailingHeapC, NamesAreAllWrittenOrNone) {
  const char* first = nullptr;
  std::size_t count = 0;
  for (int n = 0; first == nullptr; n = 2 * n + 1) {
    mote_status status = MOTE_OK;
    {
      const mote::test::FailingHeap heap(n, mote::test::FailingHeap::Mode::once);
      status = mote_op_names(&first, 1, &count);
      if (!heap.has_failed()) break;
    }
    ASSERT_EQ(status, MOTE_OUT_OF_MEMORY);
    ASSERT_EQ(count, 0U);
    ASSERT_EQ(first, nullptr);
  }
  ASSERT_EQ(mote_op_names(&first, 1, &count), MOTE_OK);
  EXPECT_GT(count, 100U);
}

struct Call {
  TensorHandle x = tensor({4}, -1);
  TensorHandle y = tensor({4}, 7);
  ContextHandle context;
  CommandHandle relu;

  Call() {
    context.set([](mote_context** c) { return mote_context_create(nullptr, c); });
    relu.set([](mote_command** c) { return mote_command_create("relu", nullptr, 0, nullptr, c); });
  }
};

TEST(FailingHeapC, Running) {
  const std::string path = testing::TempDir() + "mote_faults_c_times_" + std::to_string(getpid());
  survive_each_allocation(
      [] { return Call(); },
      [&](Call& call) {
        const mote_tensor* const inputs[] = {call.x};
        mote_tensor* const outputs[] = {call.y};
        expect(mote_run(call.relu, inputs, 1, outputs, 1, call.context, nullptr));
        PreparedHandle prepared;
        prepared.set([&](mote_prepared** p) {
          return mote_prepare(call.relu, inputs, 1, outputs, 1, call.context, p);
        });
        expect(mote_prepared_run(prepared, nullptr));
        expect(mote_prepared_rebind(prepared, inputs, 1, outputs, 1));
        expect(mote_autotune(call.relu, inputs, 1, outputs, 1, call.context, nullptr));
        expect(mote_save_tuning(call.context, path.c_str()));
        expect(mote_load_tuning(call.context, path.c_str()));
      },
      [](const Call& call) {
        double real = 0;
        const std::int64_t index[] = {3};
        EXPECT_EQ(mote_tensor_real_at(call.y, index, &real), MOTE_OK);
        EXPECT_EQ(real, 0);
      });
  std::filesystem::remove(path);
}

TEST(FailingHeapC, Streams) {
  survive_each_allocation(
      [] { return Call(); },
      [](Call& call) {
        StreamHandle stream;
        stream.set([&](mote_stream** s) { return mote_stream_create(call.context, s); });
        EventHandle event;
        event.set([](mote_event** e) { return mote_event_create(e); });
        const mote_tensor* const inputs[] = {call.x};
        mote_tensor* const outputs[] = {call.y};
        expect(mote_run(call.relu, inputs, 1, outputs, 1, call.context, stream));
        expect(mote_stream_enqueue(
            stream, [](void*) { return MOTE_OK; }, nullptr));
        expect(mote_stream_record(stream, event));
        expect(mote_stream_wait(stream, event));
        expect(mote_event_synchronize(event));
        expect(mote_stream_synchronize(stream));
      },
      [](const Call&) {});
}

}  // namespace
