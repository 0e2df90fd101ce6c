// SPDX-License-Identifier: Apache-2.0
// Tests the effects of the functions in mote/mote.h, with all their options. tests/install/c uses
// it from C.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "mote/mote.h"
#include "mote/npz/npz_c.h"
#include "runtime/faults/c_api.h"
#include "runtime/plain_records.h"

namespace {

using mote::test::CApi;
using mote::test::kFloat;

/// Returns a kernel of relu that needs that number of bytes.
template <std::size_t Bytes>
mote_kernel relu_in_workspace(mote_status (*run)(const mote_call*, void*)) {
  return {sizeof(mote_kernel),
          "relu",
          &mote::test::kPlainContract,
          [](const mote_call*) { return MOTE_OK; },
          [](const mote_call*) { return Bytes; },
          run,
          nullptr};
}

TEST_F(CApi, OutputsFollowFromInputs) {
  mote_command* matmul = nullptr;
  ASSERT_EQ(mote_command_parse("matmul", &matmul), MOTE_OK);
  mote_command* same = nullptr;
  ASSERT_EQ(mote_command_create("matmul", nullptr, 0, nullptr, &same), MOTE_OK);
  EXPECT_EQ(mote_command_hash(matmul), mote_command_hash(same));
  EXPECT_NE(mote_command_hash(matmul), mote_command_hash(relu));
  mote_tensor* a = nullptr;
  mote_tensor* b = nullptr;
  const std::int64_t of_a[] = {7, 2, 3};
  const std::int64_t of_b[] = {7, 3, 5};
  ASSERT_EQ(mote_tensor_over(nullptr, kFloat, 3, of_a, nullptr, &a), MOTE_OK);
  ASSERT_EQ(mote_tensor_over(nullptr, kFloat, 3, of_b, nullptr, &b), MOTE_OK);
  const mote_tensor* const inputs[] = {a, b};
  mote_tensor* form = nullptr;
  ASSERT_EQ(mote_infer(matmul, inputs, 2, nullptr, &form, 1), MOTE_OK) << mote_last_error();
  EXPECT_EQ(form->dl.data, nullptr);
  EXPECT_EQ(form->dl.dtype.bits, 32);
  EXPECT_EQ(std::vector<std::int64_t>(form->dl.shape, form->dl.shape + form->dl.ndim),
            (std::vector<std::int64_t>{7, 2, 5}));
  mote_tensor_free(form);
  mote_tensor_free(b);
  mote_tensor_free(a);
  mote_command_free(same);
  mote_command_free(matmul);
}

TEST_F(CApi, ARunTakesWorkspaceAndBackends) {
  static void* seen = nullptr;
  const mote_kernel kernel = relu_in_workspace<64>([](const mote_call* call, void*) {
    seen = call->workspace;
    return MOTE_OK;
  });
  const mote_backend backend = {sizeof(mote_backend), "wants", "1", 1, 0, &kernel};
  const mote_backend* const backends[] = {&backend};
  const mote_tensor* const inputs[] = {x};
  mote_tensor* const outputs[] = {y};
  alignas(64) std::byte memory[64];
  ASSERT_EQ(mote_tensor_fill_real(x, 3), MOTE_OK);
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{63}})
    for (mote_stream* on : {static_cast<mote_stream*>(nullptr), stream}) {
      seen = nullptr;
      mote_run_options options = {};
      options.size = sizeof(options);
      options.context = context;
      options.stream = on;
      options.backends = backends;
      options.backend_count = 1;
      options.workspace = memory;
      options.workspace_bytes = bytes;
      ASSERT_EQ(mote_run_with(relu, inputs, 1, outputs, 1, &options), MOTE_OK) << mote_last_error();
      ASSERT_EQ(mote_stream_synchronize(stream), MOTE_OK);
      EXPECT_EQ(seen,
                bytes == 64 ? memory : nullptr);  // with too little workspace another kernel runs
    }
  const std::int64_t index[] = {1, 2};
  double value = 0;
  EXPECT_EQ(mote_tensor_real_at(y, index, &value), MOTE_OK);
  EXPECT_EQ(value, 3);
}

TEST_F(CApi, APreparedCommandTakesThemToo) {
  static int runs = 0;
  const mote_kernel kernel = relu_in_workspace<64>([](const mote_call* call, void*) {
    runs += call->workspace != nullptr ? 1 : 100;
    return MOTE_OK;
  });
  const mote_backend backend = {sizeof(mote_backend), "wants", "1", 1, 0, &kernel};
  const mote_backend* const backends[] = {&backend};
  const mote_tensor* const inputs[] = {x};
  mote_tensor* const outputs[] = {y};
  alignas(64) std::byte memory[64];
  mote_run_options options = {};
  options.size = sizeof(options);
  options.backends = backends;
  options.backend_count = 1;
  options.workspace = memory;
  options.workspace_bytes = sizeof(memory);
  mote_prepared* prepared = nullptr;
  ASSERT_EQ(mote_prepare_with(relu, inputs, 1, outputs, 1, &options, &prepared), MOTE_OK)
      << mote_last_error();
  EXPECT_EQ(mote_prepared_run(prepared, nullptr), MOTE_OK);
  EXPECT_EQ(mote_prepared_run(prepared, stream), MOTE_OK);
  EXPECT_EQ(mote_stream_synchronize(stream), MOTE_OK);
  EXPECT_EQ(runs, 2);
  mote_prepared_free(prepared);
}

TEST_F(CApi, ALayoutIsAnOrderInMemory) {
  const std::int64_t nchw[] = {2, 3, 4, 5};
  const std::vector<std::pair<mote_layout, std::vector<std::int64_t>>> layouts = {
      {MOTE_NCHW, {60, 20, 5, 1}}, {MOTE_NHWC, {60, 1, 15, 3}}, {MOTE_CHWN, {1, 40, 10, 2}}};
  for (const auto& [layout, strides] : layouts) {
    mote_tensor* image = nullptr;
    ASSERT_EQ(mote_tensor_create_nchw(kFloat, nchw, layout, &image), MOTE_OK) << mote_last_error();
    EXPECT_EQ(std::vector<std::int64_t>(image->dl.shape, image->dl.shape + 4),
              std::vector<std::int64_t>(nchw, nchw + 4));
    EXPECT_EQ(std::vector<std::int64_t>(image->dl.strides, image->dl.strides + 4), strides);
    mote_tensor_free(image);
  }
}

TEST_F(CApi, AContextsAllocatorGivesWorkspace) {
  static std::size_t given = 0;
  const mote_allocator counting = {
      [](void*, std::size_t bytes, std::size_t alignment) {
        given += bytes;
        return std::aligned_alloc(alignment, bytes);
      },
      [](void*, void* memory, std::size_t, std::size_t) { std::free(memory); }, nullptr};
  const mote_kernel kernel =
      relu_in_workspace<4096>([](const mote_call*, void*) { return MOTE_OK; });
  const mote_backend backend = {sizeof(mote_backend), "wants", "1", 1, 0, &kernel};
  const mote_backend* const backends[] = {&backend};
  const mote_tensor* const inputs[] = {x};
  mote_tensor* const outputs[] = {y};
  mote_context_options options = {sizeof(options), backends, 1, 0, 0, 0, &counting};
  // The size shows that a program was compiled before the allocator member existed.
  for (const bool has_allocator : {false, true}) {
    options.size = has_allocator ? sizeof(options) : offsetof(mote_context_options, allocator);
    given = 0;
    mote_context* own = nullptr;
    ASSERT_EQ(mote_context_create(&options, &own), MOTE_OK) << mote_last_error();
    EXPECT_EQ(mote_run(relu, inputs, 1, outputs, 1, own, nullptr), MOTE_OK) << mote_last_error();
    EXPECT_EQ(given >= 4096, has_allocator);
    mote_context_free(own);
  }
}

TEST_F(CApi, NamedTensorsAreKeptInAFile) {
  const std::string path = testing::TempDir() + "mote_c_npz_" + std::to_string(getpid());
  const char* const names[] = {"weight", "bias"};
  const mote_tensor* const tensors[] = {x, y};
  ASSERT_EQ(mote_tensor_fill_real(x, 3), MOTE_OK);
  ASSERT_EQ(mote_tensor_fill_real(y, 4), MOTE_OK);
  for (const int deflated : {0, 1}) {
    ASSERT_EQ(mote_npz_write(path.c_str(), names, tensors, 2, deflated), MOTE_OK)
        << mote_last_error();
    mote_npz* npz = nullptr;
    ASSERT_EQ(mote_npz_read(path.c_str(), &npz), MOTE_OK) << mote_last_error();
    ASSERT_EQ(mote_npz_count(npz), 2U);
    EXPECT_STREQ(mote_npz_name(npz, 0), "bias");
    EXPECT_STREQ(mote_npz_name(npz, 1), "weight");
    EXPECT_EQ(mote_npz_name(npz, 2), nullptr);
    mote_tensor* weight = nullptr;
    EXPECT_EQ(mote_npz_tensor(npz, "wieght", &weight), MOTE_INVALID);
    ASSERT_EQ(mote_npz_tensor(npz, "weight", &weight), MOTE_OK);
    mote_npz_free(npz);
    const std::int64_t index[] = {1, 2};
    double value = 0;
    EXPECT_EQ(mote_tensor_real_at(weight, index, &value), MOTE_OK);
    EXPECT_EQ(value, 3);
    mote_tensor_free(weight);
  }
  std::filesystem::remove(path);
}

TEST_F(CApi, MeasuredTimesAreKeptInAFile) {
  const std::string path = testing::TempDir() + "mote_c_tuning_" + std::to_string(getpid());
  EXPECT_EQ(mote_load_tuning(context, path.c_str()), MOTE_OK);  // no file exists yet
  const mote_tensor* const inputs[] = {x};
  mote_tensor* const outputs[] = {y};
  ASSERT_EQ(mote_tensor_fill_real(x, 1), MOTE_OK);
  mote_tuning_options once = {sizeof(once), 0, 1, 0};
  const char* kernel = nullptr;
  ASSERT_EQ(mote_autotune_with(relu, inputs, 1, outputs, 1, context, &once, &kernel), MOTE_OK)
      << mote_last_error();
  EXPECT_NE(kernel, nullptr);
  ASSERT_EQ(mote_autotune(relu, inputs, 1, outputs, 1, context, nullptr), MOTE_OK);
  ASSERT_EQ(mote_save_tuning(context, path.c_str()), MOTE_OK) << mote_last_error();
  mote_context* later = nullptr;
  ASSERT_EQ(mote_context_create(nullptr, &later), MOTE_OK);
  EXPECT_EQ(mote_load_tuning(later, path.c_str()), MOTE_OK) << mote_last_error();
  const std::string again = path + "_again";
  EXPECT_EQ(mote_save_tuning(later, again.c_str()), MOTE_OK);
  const auto text = [](const std::string& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_NE(text(path).find("\"command\": \"relu\""), std::string::npos);
  EXPECT_EQ(text(again), text(path));
  mote_context_free(later);
  std::filesystem::remove(again);
  std::filesystem::remove(path);
}

TEST_F(CApi, AStreamsErrorIsToldWhereItIsWaitedFor) {
  const auto fails = [](void*) { return MOTE_UNSUPPORTED; };
  ASSERT_EQ(mote_stream_enqueue(stream, fails, nullptr), MOTE_OK);
  EXPECT_EQ(mote_stream_synchronize(stream), MOTE_UNSUPPORTED);
  EXPECT_EQ(mote_stream_synchronize(stream), MOTE_OK);
}

}  // namespace
