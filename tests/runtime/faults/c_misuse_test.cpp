// mote/mote.h: every function refuses NULL and nonsense with a status and a line, and leaves its
// results alone. That it computes is tested from C (tests/install/c).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "mote/mote.h"
#include "mote/npz/npz_c.h"
#include "runtime/plain_records.h"

namespace {

const DLDataType kFloat = {kDLFloat, 32, 1};
const DLDataType kNone = {kDLFloat, 7, 1};

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::int64_t shape[] = {2, 3};
    ASSERT_EQ(mote_tensor_create(kFloat, 2, shape, &x), MOTE_OK);
    ASSERT_EQ(mote_tensor_create(kFloat, 2, shape, &y), MOTE_OK);
    ASSERT_EQ(mote_command_create("relu", nullptr, 0, nullptr, &relu), MOTE_OK);
    ASSERT_EQ(mote_context_create(nullptr, &context), MOTE_OK);
    ASSERT_EQ(mote_stream_create(context, &stream), MOTE_OK);
    ASSERT_EQ(mote_event_create(&event), MOTE_OK);
  }
  void TearDown() override {
    mote_event_free(event);
    mote_stream_free(stream);
    mote_context_free(context);
    mote_command_free(relu);
    mote_tensor_free(y);
    mote_tensor_free(x);
  }

  mote_tensor* x = nullptr;
  mote_tensor* y = nullptr;
  mote_command* relu = nullptr;
  mote_context* context = nullptr;
  mote_stream* stream = nullptr;
  mote_event* event = nullptr;
};

TEST_F(CApi, EveryFunctionRefusesWhatIsMissing) {
  const std::int64_t shape[] = {2, 3};
  const std::int64_t beyond[] = {2, 7};
  const std::int64_t huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  const std::int64_t negative[] = {2, -3};
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
  const mote_context_options small = {1, nullptr, 0, 0, 0, 0};
  const mote_context_options many = {sizeof(small), nullptr, 1, 0, 0, 0};
  const mote_param nameless = {nullptr, 0, 1, 0};

  const std::size_t far = SIZE_MAX;
  const std::int32_t beyond_order[] = {0, INT32_MAX};
  const std::int64_t far_index[] = {INT64_MAX, INT64_MIN};
  const mote_context_options workers = {sizeof(small), nullptr, 0, 0, -1, 0};
  const mote_context_options far_backends = {sizeof(small), no_backends, SIZE_MAX, 0, 0, 0};
  const mote_context_options null_backend = {sizeof(small), no_backends, 1, 0, 0, 0};
  const mote_backend hollow = {sizeof(mote_backend), "hollow", "1", 1, 0, nullptr};
  const mote_backend* const hollow_backends[] = {&hollow};
  const mote_context_options hollow_backend = {sizeof(small), hollow_backends, 1, 0, 0, 0};
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
  mote_npz* npz = nullptr;
  const char* const names[] = {"x", "x"};
  const char* const no_name[] = {nullptr};
  const char* const bad_name[] = {"../x"};
  const mote_tensor* const twice[] = {x, x};
  // What a program may do to a struct that it sees.
  mote_tensor spoilt = *x;  // its lists are x's
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
            MOTE_OK);  // all of it still works
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
  const mote_kernel kernel = {sizeof(mote_kernel),
                              "relu",
                              &mote::test::kPlainContract,
                              [](const mote_call*) { return MOTE_OK; },
                              [](const mote_call*) { return std::size_t{64}; },
                              [](const mote_call* call, void*) {
                                seen = call->workspace;
                                return MOTE_OK;
                              }};
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
      EXPECT_EQ(seen, bytes == 64 ? memory : nullptr);  // too little: another kernel runs
    }
  const std::int64_t index[] = {1, 2};
  double value = 0;
  EXPECT_EQ(mote_tensor_real_at(y, index, &value), MOTE_OK);
  EXPECT_EQ(value, 3);
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
  EXPECT_EQ(mote_load_tuning(context, path.c_str()), MOTE_OK);  // there is none yet
  const mote_tensor* const inputs[] = {x};
  mote_tensor* const outputs[] = {y};
  ASSERT_EQ(mote_tensor_fill_real(x, 1), MOTE_OK);
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
