// SPDX-License-Identifier: Apache-2.0
// Tests that every function of mote/mote.h refuses NULL and invalid values with a status and a
// line, and leaves its results unchanged. c_call_test.cpp tests their effects.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "mote/mote.h"
#include "mote/npz/npz_c.h"
#include "runtime/faults/c_api.h"

namespace {

using mote::test::CApi;
using mote::test::kFloat;

const DLDataType kNone = {kDLFloat, 7, 1};

TEST_F(CApi, EveryFunctionRefusesWhatIsMissing) {
  const std::int64_t shape[] = {2, 3};
  const std::int64_t beyond[] = {2, 7};
  const std::int64_t huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  const std::int64_t negative[] = {2, -3};
  const std::int64_t nchw[] = {1, 2, 3, 4};
  const std::int64_t far_nchw[] = {1, INT64_MAX, 3, 4};
  const std::int32_t order[] = {0, 0};
  const std::int64_t index[] = {0, 0};
  const mote_backend* const no_backends[] = {nullptr};
  const mote_op_definition* definition = nullptr;
  mote_image* image = nullptr;
  int is_over = 7;
  mote_tensor* out = nullptr;
  mote_command* command = nullptr;
  mote_context* other = nullptr;
  mote_prepared* prepared = nullptr;
  double real = 0;
  std::int64_t integer = 0;
  DLDataType dtype = {};
  const mote_tensor* const inputs[] = {x};
  mote_tensor* const outputs[] = {y};
  const mote_context_options small = {1, nullptr, 0, 0, 0, 0, nullptr};
  const mote_context_options many = {sizeof(small), nullptr, 1, 0, 0, 0, nullptr};
  const mote_param nameless = {nullptr, 0, 1, 0};

  const std::size_t far = SIZE_MAX;
  const std::int32_t beyond_order[] = {0, INT32_MAX};
  const std::int64_t far_index[] = {INT64_MAX, INT64_MIN};
  const mote_context_options workers = {sizeof(small), nullptr, 0, 0, -1, 0, nullptr};
  const mote_allocator hollow_allocator = {};
  const mote_context_options no_allocator = {sizeof(small), nullptr, 0, 0, 0, 0, &hollow_allocator};
  mote_tuning_options tuning = {sizeof(tuning), 0, 0, 0};
  mote_tuning_options tuning_small = {1, 0, 0, 0};
  mote_tuning_options tuning_rounds = {sizeof(tuning), 0, -1, 0};
  mote_tuning_options tuning_seconds = {sizeof(tuning), std::nan(""), 0, 0};
  const mote_context_options far_backends = {sizeof(small), no_backends, SIZE_MAX, 0, 0, 0,
                                             nullptr};
  const mote_context_options null_backend = {sizeof(small), no_backends, 1, 0, 0, 0, nullptr};
  const mote_backend hollow = {sizeof(mote_backend), "hollow", "1", 1, 0, nullptr};
  const mote_backend* const hollow_backends[] = {&hollow};
  const mote_context_options hollow_backend = {sizeof(small), hollow_backends, 1, 0, 0, 0, nullptr};
  const mote_param stride = {"stride0", 0, -5, 0};
  const mote_param both[] = {{"alpha", 1, 0, 2.0}, {"alpha", 1, 0, 3.0}};
  const std::int32_t far_axis = INT32_MAX;
  const mote_kernel_library nothing = {};
  mote_command* softmax = nullptr;
  ASSERT_EQ(mote_command_create("softmax", nullptr, 0, &far_axis, &softmax), MOTE_OK);
  mote_tensor* integers = nullptr;
  mote_tensor* nowhere = nullptr;
  ASSERT_EQ(mote_tensor_create({kDLInt, 32, 1}, 2, shape, &integers), MOTE_OK);
  ASSERT_EQ(mote_tensor_over(nullptr, kFloat, 2, shape, nullptr, &nowhere), MOTE_OK);
  mote_tensor* const to_integers[] = {integers};
  mote_tensor* const to_nowhere[] = {nowhere};
  const mote_tensor* const from_nowhere[] = {nowhere};
  mote_tensor* const to_null[] = {nullptr};
  mote_run_options run_plain = {};
  run_plain.size = sizeof(run_plain);
  mote_run_options run_small = run_plain;
  run_small.size = 8;
  mote_run_options run_many = run_plain;
  run_many.backend_count = 1;
  mote_run_options run_hollow = run_many;
  run_hollow.backends = hollow_backends;
  mote_run_options on_stream = run_plain;
  on_stream.stream = stream;
  mote_npz* npz = nullptr;
  const char* const names[] = {"x", "x"};
  const char* const no_name[] = {nullptr};
  const char* const bad_name[] = {"../x"};
  const mote_tensor* const twice[] = {x, x};
  // A program may do this to a struct that it sees.
  mote_tensor spoilt = *x;  // its lists belong to x
  const mote_tensor* const from_spoilt[] = {&spoilt};
  mote_tensor many_axes = *x;
  many_axes.dl.shape = many_axes.shape;
  many_axes.dl.strides = many_axes.strides;
  many_axes.dl.ndim = 99;
  mote_prepared* ready = nullptr;
  ASSERT_EQ(mote_prepare(relu, inputs, 1, outputs, 1, context, &ready), MOTE_OK);

  const std::vector<std::pair<const char*, std::function<mote_status()>>> calls = {
      {"a copied struct", [&] { return mote_tensor_fill_real(&spoilt, 1); }},
      {"a copied struct as input",
       [&] { return mote_run(relu, from_spoilt, 1, outputs, 1, nullptr, nullptr); }},
      {"a rank beyond all", [&] { return mote_tensor_select(&many_axes, 0, 0, &out); }},
      {"over: dtype", [&] { return mote_tensor_over(&real, kNone, 0, nullptr, nullptr, &out); }},
      {"over: far strides",
       [&] { return mote_tensor_over(&real, kFloat, 2, shape, far_index, &out); }},
      {"slice: axis", [&] { return mote_tensor_slice(x, INT32_MIN, 0, 1, 1, &out); }},
      {"slice: overflow",
       [&] { return mote_tensor_slice(x, 0, INT64_MAX, INT64_MAX, INT64_MAX, &out); }},
      {"select: index", [&] { return mote_tensor_select(x, 0, INT64_MIN, &out); }},
      {"permute: rank", [&] { return mote_tensor_permute(x, 1, order, &out); }},
      {"permute: beyond", [&] { return mote_tensor_permute(x, 2, beyond_order, &out); }},
      {"broadcast: rank", [&] { return mote_tensor_broadcast_to(x, -4, shape, &out); }},
      {"broadcast: overflow", [&] { return mote_tensor_broadcast_to(x, 2, huge, &out); }},
      {"reshape: negative", [&] { return mote_tensor_reshape(x, 2, negative, &out); }},
      {"reshape: overflow", [&] { return mote_tensor_reshape(x, 2, huge, &out); }},
      {"image of 2 axes", [&] { return mote_tensor_as_image(x, &image); }},
      {"fill: no data", [&] { return mote_tensor_fill_real(nowhere, 1); }},
      {"fill integer: no data", [&] { return mote_tensor_fill_integer(nowhere, 1); }},
      {"copy: no data", [&] { return mote_tensor_copy(nowhere, y); }},
      {"copy: to no data", [&] { return mote_tensor_copy(x, nowhere); }},
      {"far index", [&] { return mote_tensor_integer_at(x, far_index, &integer); }},
      {"at no data", [&] { return mote_tensor_real_at(nowhere, index, &real); }},
      {"set: no data", [&] { return mote_tensor_set_integer(nowhere, index, 1); }},
      {"write_npy: no data", [&] { return mote_tensor_write_npy(nowhere, "x"); }},
      {"write_npy: no path", [&] { return mote_tensor_write_npy(x, nullptr); }},
      {"write_npy: nowhere", [&] { return mote_tensor_write_npy(x, "/nowhere/x"); }},
      {"read_npy: no file", [&] { return mote_tensor_read_npy("/nowhere/x", &out); }},
      {"unknown op", [&] { return mote_op_find("sotfmax", &definition); }},
      {"an empty library", [&] { return mote_register_library(&nothing); }},
      {"negative parameter",
       [&] { return mote_command_create("conv2d", &stride, 1, nullptr, &command); }},
      {"far parameters",
       [&] { return mote_command_create("conv2d", &stride, far, nullptr, &command); }},
      {"parameter twice", [&] { return mote_command_create("elu", both, 2, nullptr, &command); }},
      {"workers", [&] { return mote_context_create(&workers, &other); }},
      {"far backends", [&] { return mote_context_create(&far_backends, &other); }},
      {"a backend without kernels", [&] { return mote_context_create(&hollow_backend, &other); }},
      {"null backend", [&] { return mote_context_create(&null_backend, &other); }},
      {"no path", [&] { return mote_load_backends("", 1); }},
      {"no plug-in", [&] { return mote_load_backends("/nowhere/x.so", 0); }},
      {"far inputs", [&] { return mote_run(relu, inputs, far, outputs, 1, nullptr, nullptr); }},
      {"far outputs", [&] { return mote_run(relu, inputs, 1, outputs, far, nullptr, nullptr); }},
      {"null output", [&] { return mote_run(relu, inputs, 1, to_null, 1, nullptr, nullptr); }},
      {"dtype", [&] { return mote_run(relu, inputs, 1, to_integers, 1, nullptr, nullptr); }},
      {"no data", [&] { return mote_run(relu, from_nowhere, 1, outputs, 1, nullptr, nullptr); }},
      {"to no data", [&] { return mote_run(relu, inputs, 1, to_nowhere, 1, nullptr, nullptr); }},
      {"axis", [&] { return mote_run(softmax, inputs, 1, outputs, 1, nullptr, nullptr); }},
      {"no data, on a stream",
       [&] { return mote_run(relu, from_nowhere, 1, outputs, 1, nullptr, stream); }},
      {"prepare: far",
       [&] { return mote_prepare(relu, inputs, far, outputs, far, nullptr, &prepared); }},
      {"prepare: no command",
       [&] { return mote_prepare(nullptr, inputs, 1, outputs, 1, nullptr, &prepared); }},
      {"rebind: far", [&] { return mote_prepared_rebind(ready, inputs, far, outputs, 1); }},
      {"rebind: dtype", [&] { return mote_prepared_rebind(ready, inputs, 1, to_integers, 1); }},
      {"rebind: no data", [&] { return mote_prepared_rebind(ready, from_nowhere, 1, outputs, 1); }},
      {"autotune: no data",
       [&] { return mote_autotune(relu, from_nowhere, 1, outputs, 1, context, nullptr); }},
      {"autotune: far",
       [&] { return mote_autotune(relu, inputs, far, outputs, far, context, nullptr); }},
      {"autotune_with: none",
       [&] { return mote_autotune_with(relu, inputs, 1, outputs, 1, context, nullptr, nullptr); }},
      {"autotune_with: size",
       [&] {
         return mote_autotune_with(relu, inputs, 1, outputs, 1, context, &tuning_small, nullptr);
       }},
      {"autotune_with: rounds",
       [&] {
         return mote_autotune_with(relu, inputs, 1, outputs, 1, context, &tuning_rounds, nullptr);
       }},
      {"autotune_with: seconds",
       [&] {
         return mote_autotune_with(relu, inputs, 1, outputs, 1, context, &tuning_seconds, nullptr);
       }},
      {"autotune_with: context",
       [&] { return mote_autotune_with(relu, inputs, 1, outputs, 1, nullptr, &tuning, nullptr); }},
      {"prepare_with: none",
       [&] { return mote_prepare_with(relu, inputs, 1, outputs, 1, nullptr, &prepared); }},
      {"prepare_with: size",
       [&] { return mote_prepare_with(relu, inputs, 1, outputs, 1, &run_small, &prepared); }},
      {"prepare_with: stream",
       [&] { return mote_prepare_with(relu, inputs, 1, outputs, 1, &on_stream, &prepared); }},
      {"prepare_with: hollow",
       [&] { return mote_prepare_with(relu, inputs, 1, outputs, 1, &run_hollow, &prepared); }},
      {"prepare_with: result",
       [&] { return mote_prepare_with(relu, inputs, 1, outputs, 1, &run_plain, nullptr); }},
      {"nchw: shape", [&] { return mote_tensor_create_nchw(kFloat, nullptr, MOTE_NHWC, &out); }},
      {"nchw: negative",
       [&] { return mote_tensor_create_nchw(kFloat, far_nchw, MOTE_NHWC, &out); }},
      {"nchw: layout",
       [&] { return mote_tensor_create_nchw(kFloat, nchw, static_cast<mote_layout>(3), &out); }},
      {"nchw: result", [&] { return mote_tensor_create_nchw(kFloat, nchw, MOTE_NCHW, nullptr); }},
      {"an allocator without functions",
       [&] { return mote_context_create(&no_allocator, &other); }},
      {"infer", [&] { return mote_infer(nullptr, inputs, 1, nullptr, &out, 1); }},
      {"infer: no inputs", [&] { return mote_infer(relu, nullptr, 1, nullptr, &out, 1); }},
      {"infer: far", [&] { return mote_infer(relu, inputs, far, nullptr, &out, 1); }},
      {"infer: dtype", [&] { return mote_infer(relu, inputs, 1, &kNone, &out, 1); }},
      {"infer: nowhere", [&] { return mote_infer(relu, inputs, 1, nullptr, nullptr, 1); }},
      {"infer: outputs", [&] { return mote_infer(relu, inputs, 1, nullptr, &out, 2); }},
      {"save_tuning", [&] { return mote_save_tuning(nullptr, "x"); }},
      {"save_tuning: no path", [&] { return mote_save_tuning(context, nullptr); }},
      {"save_tuning: nowhere", [&] { return mote_save_tuning(context, "/nowhere/x"); }},
      {"load_tuning", [&] { return mote_load_tuning(nullptr, "x"); }},
      {"load_tuning: no path", [&] { return mote_load_tuning(context, nullptr); }},
      {"load_tuning: no tuning file", [&] { return mote_load_tuning(context, "/proc/cpuinfo"); }},
      {"run_with", [&] { return mote_run_with(relu, inputs, 1, outputs, 1, nullptr); }},
      {"run_with: no command",
       [&] { return mote_run_with(nullptr, inputs, 1, outputs, 1, &run_plain); }},
      {"run_with: size", [&] { return mote_run_with(relu, inputs, 1, outputs, 1, &run_small); }},
      {"run_with: backends", [&] { return mote_run_with(relu, inputs, 1, outputs, 1, &run_many); }},
      {"run_with: hollow", [&] { return mote_run_with(relu, inputs, 1, outputs, 1, &run_hollow); }},
      {"run_with: far", [&] { return mote_run_with(relu, inputs, far, outputs, 1, &run_plain); }},
      {"npz", [&] { return mote_npz_read(nullptr, &npz); }},
      {"npz: result", [&] { return mote_npz_read("/proc/cpuinfo", nullptr); }},
      {"npz: no zip", [&] { return mote_npz_read("/proc/cpuinfo", &npz); }},
      {"npz: no file", [&] { return mote_npz_read("/nowhere/x", &npz); }},
      {"npz: none", [&] { return mote_npz_tensor(nullptr, "x", &out); }},
      {"npz: no path", [&] { return mote_npz_write(nullptr, names, inputs, 1, 0); }},
      {"npz: no names", [&] { return mote_npz_write("x", nullptr, inputs, 1, 0); }},
      {"npz: null name", [&] { return mote_npz_write("x", no_name, inputs, 1, 0); }},
      {"npz: bad name", [&] { return mote_npz_write("x", bad_name, inputs, 1, 0); }},
      {"npz: no tensors", [&] { return mote_npz_write("x", names, nullptr, 1, 0); }},
      {"npz: null tensor", [&] { return mote_npz_write("x", names, to_null, 1, 0); }},
      {"npz: no data", [&] { return mote_npz_write("x", names, from_nowhere, 1, 1); }},
      {"npz: twice", [&] { return mote_npz_write("x", names, twice, 2, 0); }},
      {"wait: no event", [&] { return mote_stream_wait(stream, nullptr); }},
      {"record: no stream", [&] { return mote_stream_record(nullptr, event); }},
      {"no event", [&] { return mote_event_is_over(nullptr, &is_over); }},
      {"allocator", [&] { return mote_set_default_allocator(nullptr); }},
      {"dtype name", [&] { return mote_dtype(nullptr, &dtype); }},
      {"unknown dtype", [&] { return mote_dtype("f7", &dtype); }},
      {"dtype result", [&] { return mote_dtype("f32", nullptr); }},
      {"shape", [&] { return mote_tensor_create(kFloat, 2, nullptr, &out); }},
      {"result", [&] { return mote_tensor_create(kFloat, 2, shape, nullptr); }},
      {"rank", [&] { return mote_tensor_create(kFloat, -1, shape, &out); }},
      {"much rank", [&] { return mote_tensor_create(kFloat, 13, shape, &out); }},
      {"DLDataType", [&] { return mote_tensor_create(kNone, 2, shape, &out); }},
      {"negative", [&] { return mote_tensor_create(kFloat, 2, negative, &out); }},
      {"overflow", [&] { return mote_tensor_create(kFloat, 2, huge, &out); }},
      {"over: overflow", [&] { return mote_tensor_over(&real, kFloat, 2, huge, nullptr, &out); }},
      {"over: shape", [&] { return mote_tensor_over(&real, kFloat, 2, nullptr, nullptr, &out); }},
      {"slice", [&] { return mote_tensor_slice(nullptr, 0, 0, 1, 1, &out); }},
      {"slice: count", [&] { return mote_tensor_slice(x, 0, 0, 5, 1, &out); }},
      {"slice: step", [&] { return mote_tensor_slice(x, 0, 0, 1, 0, &out); }},
      {"select", [&] { return mote_tensor_select(nullptr, 0, 0, &out); }},
      {"select: axis", [&] { return mote_tensor_select(x, 2, 0, &out); }},
      {"select: view", [&] { return mote_tensor_select(x, 0, 0, nullptr); }},
      {"permute", [&] { return mote_tensor_permute(x, 2, nullptr, &out); }},
      {"permute: twice", [&] { return mote_tensor_permute(x, 2, order, &out); }},
      {"broadcast", [&] { return mote_tensor_broadcast_to(x, 2, beyond, &out); }},
      {"reshape", [&] { return mote_tensor_reshape(x, 2, beyond, &out); }},
      {"image", [&] { return mote_tensor_as_image(x, nullptr); }},
      {"fill", [&] { return mote_tensor_fill_real(nullptr, 1); }},
      {"fill integer", [&] { return mote_tensor_fill_integer(nullptr, 1); }},
      {"copy", [&] { return mote_tensor_copy(x, nullptr); }},
      {"real_at", [&] { return mote_tensor_real_at(x, nullptr, &real); }},
      {"real_at: index", [&] { return mote_tensor_real_at(x, beyond, &real); }},
      {"real_at: result", [&] { return mote_tensor_real_at(x, shape, nullptr); }},
      {"integer_at", [&] { return mote_tensor_integer_at(nullptr, shape, &integer); }},
      {"set", [&] { return mote_tensor_set_real(y, beyond, 1); }},
      {"set integer", [&] { return mote_tensor_set_integer(y, nullptr, 1); }},
      {"from_dlpack", [&] { return mote_tensor_from_dlpack(nullptr, &out); }},
      {"to_dlpack", [&] { return mote_tensor_to_dlpack(x, nullptr); }},
      {"read_npy", [&] { return mote_tensor_read_npy(nullptr, &out); }},
      {"write_npy", [&] { return mote_tensor_write_npy(nullptr, "x"); }},
      {"op", [&] { return mote_op_find(nullptr, nullptr); }},
      {"op result", [&] { return mote_op_find("relu", nullptr); }},
      {"names", [&] { return mote_op_names(nullptr, 0, nullptr); }},
      {"library", [&] { return mote_register_library(nullptr); }},
      {"command", [&] { return mote_command_create(nullptr, nullptr, 0, nullptr, &command); }},
      {"params", [&] { return mote_command_create("relu", nullptr, 2, nullptr, &command); }},
      {"nameless", [&] { return mote_command_create("elu", &nameless, 1, nullptr, &command); }},
      {"command result", [&] { return mote_command_create("relu", nullptr, 0, nullptr, nullptr); }},
      {"parse", [&] { return mote_command_parse(nullptr, &command); }},
      {"parse nonsense", [&] { return mote_command_parse("relu =", &command); }},
      {"backends", [&] { return mote_load_backends(nullptr, 0); }},
      {"loaded", [&] { return mote_loaded_backends(nullptr, 0, nullptr); }},
      {"options", [&] { return mote_context_create(&small, &other); }},
      {"options.backends", [&] { return mote_context_create(&many, &other); }},
      {"context", [&] { return mote_context_create(nullptr, nullptr); }},
      {"run", [&] { return mote_run(nullptr, inputs, 1, outputs, 1, nullptr, nullptr); }},
      {"inputs", [&] { return mote_run(relu, nullptr, 1, outputs, 1, nullptr, nullptr); }},
      {"no output", [&] { return mote_run(relu, inputs, 1, nullptr, 0, nullptr, nullptr); }},
      {"prepare", [&] { return mote_prepare(relu, inputs, 1, outputs, 1, context, nullptr); }},
      {"prepare nothing",
       [&] { return mote_prepare(relu, nullptr, 0, outputs, 1, context, &prepared); }},
      {"prepared", [&] { return mote_prepared_run(nullptr, nullptr); }},
      {"rebind", [&] { return mote_prepared_rebind(nullptr, inputs, 1, outputs, 1); }},
      {"autotune", [&] { return mote_autotune(relu, inputs, 1, outputs, 1, nullptr, nullptr); }},
      {"stream", [&] { return mote_stream_create(nullptr, &stream); }},
      {"enqueue", [&] { return mote_stream_enqueue(stream, nullptr, nullptr); }},
      {"record", [&] { return mote_stream_record(stream, nullptr); }},
      {"wait", [&] { return mote_stream_wait(nullptr, event); }},
      {"synchronize", [&] { return mote_stream_synchronize(nullptr); }},
      {"event", [&] { return mote_event_create(nullptr); }},
      {"event synchronize", [&] { return mote_event_synchronize(nullptr); }},
      {"is_over", [&] { return mote_event_is_over(event, nullptr); }},
  };
  for (const auto& [what, call] : calls) {
    EXPECT_NE(call(), MOTE_OK) << what;
    EXPECT_NE(std::strchr(mote_last_error(), ':'), nullptr) << what << ": " << mote_last_error();
  }
  EXPECT_EQ(image, nullptr);
  EXPECT_EQ(definition, nullptr);
  EXPECT_EQ(npz, nullptr);
  EXPECT_EQ(is_over, 7);
  mote_prepared_free(ready);
  mote_command_free(softmax);
  mote_tensor_free(nowhere);
  mote_tensor_free(integers);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(command, nullptr);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(prepared, nullptr);
  EXPECT_EQ(mote_run(relu, inputs, 1, outputs, 1, context, stream),
            MOTE_OK);  // all objects still work
  EXPECT_EQ(mote_stream_synchronize(stream), MOTE_OK);
}

TEST_F(CApi, FreeingNothingDoesNothing) {
  mote_tensor_free(nullptr);
  mote_command_free(nullptr);
  mote_context_free(nullptr);
  mote_stream_free(nullptr);
  mote_event_free(nullptr);
  mote_prepared_free(nullptr);
  mote_npz_free(nullptr);
  EXPECT_EQ(mote_npz_count(nullptr), 0U);
  EXPECT_EQ(mote_npz_name(nullptr, 0), nullptr);
  EXPECT_STREQ(mote_command_text(nullptr), "");
  EXPECT_EQ(mote_command_hash(nullptr), 0U);
}

}  // namespace
