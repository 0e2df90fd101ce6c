// SPDX-License-Identifier: Apache-2.0
/* Uses mote from C99: tensors, a command, a stream, an op and a backend of the program's own,
 * errors. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mote/mote.h"

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("failed: %s (%s)\n", what, mote_last_error());
  ++failures;
}

/* Computes y[i] = 2 x[i] for tensors without gaps. */
static mote_status accepts(const mote_call* call) {
  return call->inputs[0]->dtype.bits == 32 ? MOTE_OK : MOTE_UNSUPPORTED;
}
static mote_status doubles(const mote_call* call, void* stream) {
  const float* x = (const float*)call->inputs[0]->data;
  float* y = (float*)call->outputs[0]->data;
  (void)stream;
  for (int64_t k = 0; k < call->inputs[0]->shape[0]; ++k) y[k] = 2 * x[k];
  return MOTE_OK;
}

static const char* const axes_of_x[] = {"N"};
static const mote_op_tensor x_of_double = {"x", "T", 0, 1, axes_of_x, 0, 0, NULL};
static const mote_op_tensor y_of_double = {"y", "T", 0, 1, axes_of_x, 0, 0, NULL};
static const mote_op_definition double_op = {
    "double", "elementwise", "y[i] = 2*x[i]", "",   "a test", 1, 1, 0,
    0,        &x_of_double,  &y_of_double,    NULL, NULL};

static void own_op(void) {
  static const char note[] = "exact";
  const int64_t shape[1] = {4};
  const int64_t last[1] = {3};
  mote_contract contract;
  mote_kernel kernel;
  mote_backend backend;
  const mote_backend* backends[1];
  mote_context_options options;
  mote_op_id op = 0;
  const mote_column* notes = NULL;
  mote_command* twice = NULL;
  mote_context* context = NULL;
  DLDataType f32;
  mote_tensor *x = NULL, *y = NULL;
  const mote_tensor* inputs[1];
  double value = 0;

  memset(&contract, 0, sizeof(contract));
  contract.size = sizeof(contract);
  contract.deterministic = 1;
  contract.form = "direct";
  memset(&kernel, 0, sizeof(kernel));
  kernel.size = sizeof(kernel);
  kernel.op = "double";
  kernel.contract = &contract;
  kernel.can_run = accepts;
  kernel.run = doubles;
  memset(&backend, 0, sizeof(backend));
  backend.size = sizeof(backend);
  backend.name = "mine";
  backend.version = "1";
  backend.kernel_count = 1;
  backend.kernels = &kernel;
  backends[0] = &backend;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.backends = backends;
  options.backend_count = 1;

  expect(mote_op_register(&double_op, &op) == MOTE_OK, "an op of the program's own");
  expect(mote_op_alias(op, "Double") == MOTE_OK, "its alias");
  expect(mote_op_set(op, "note", (void*)note, NULL, MOTE_DEFAULT_LEVEL) == MOTE_OK, "attribute");
  expect(mote_attribute_column("note", &notes) == MOTE_OK, "a column");
  expect(mote_column_find(notes, op) == note, "the attribute's value");
  expect(mote_dtype("f32", &f32) == MOTE_OK, "f32");
  expect(mote_tensor_create(f32, 1, shape, &x) == MOTE_OK, "create x");
  expect(mote_tensor_create(f32, 1, shape, &y) == MOTE_OK, "create y");
  expect(mote_tensor_fill_real(x, 1.5) == MOTE_OK, "fill");
  expect(mote_context_create(&options, &context) == MOTE_OK, "a context with the backend");
  expect(mote_command_parse("Double", &twice) == MOTE_OK, "a command by the alias");
  inputs[0] = x;
  expect(mote_run(twice, inputs, 1, &y, 1, context, NULL) == MOTE_OK, "run the own op");
  expect(mote_tensor_real_at(y, last, &value) == MOTE_OK && value == 3, "2 * 1.5");
  mote_command_free(twice);
  mote_context_free(context);
  mote_tensor_free(y);
  mote_tensor_free(x);
}

int main(void) {
  const int64_t shape[3] = {2, 3, 4};
  const int64_t index[3] = {1, 2, 3};
  const int32_t axis = 1;
  double value = 0;
  size_t ops = 0;
  DLDataType f32;
  mote_tensor *x = NULL, *y = NULL, *row = NULL, *form = NULL;
  mote_command *softmax = NULL, *unknown = NULL;
  mote_context* context = NULL;
  mote_stream* stream = NULL;
  mote_prepared* prepared = NULL;

  expect(mote_version()[0] != '\0', "there is a version");
  expect(mote_dtype("f32", &f32) == MOTE_OK, "f32");
  expect(mote_tensor_create(f32, 3, shape, &x) == MOTE_OK, "create x");
  expect(mote_tensor_create(f32, 3, shape, &y) == MOTE_OK, "create y");
  expect(mote_tensor_fill_real(x, 0.5) == MOTE_OK, "fill");
  expect(mote_op_names(NULL, 0, &ops) == MOTE_OK && ops > 100, "the catalogue is there");
  expect(mote_command_create("softmax", NULL, 0, &axis, &softmax) == MOTE_OK, "command");
  expect(strcmp(mote_command_text(softmax), "softmax axis=1") == 0, "text of the command");

  {
    const mote_tensor* inputs[1];
    mote_tensor* outputs[1];
    inputs[0] = x;
    outputs[0] = y;
    expect(mote_infer(softmax, inputs, 1, NULL, &form, 1) == MOTE_OK, "infer");
    expect(form != NULL && form->dl.ndim == 3 && form->dl.shape[2] == 4, "the shape of y");
    expect(mote_run(softmax, inputs, 1, outputs, 1, NULL, NULL) == MOTE_OK, "run");
    expect(mote_tensor_real_at(y, index, &value) == MOTE_OK && fabs(value - 1.0 / 3) < 1e-6, "1/3");
    expect(mote_context_create(NULL, &context) == MOTE_OK, "context");
    expect(mote_stream_create(context, &stream) == MOTE_OK, "stream");
    expect(mote_prepare(softmax, inputs, 1, outputs, 1, context, &prepared) == MOTE_OK, "prepare");
    expect(mote_autotune(softmax, inputs, 1, outputs, 1, context, NULL) == MOTE_OK, "autotune");
    expect(mote_save_tuning(context, "consumer_times.json") == MOTE_OK, "save times");
    expect(mote_load_tuning(context, "consumer_times.json") == MOTE_OK, "load times");
    remove("consumer_times.json");
    expect(mote_tensor_fill_real(y, 0) == MOTE_OK, "clear");
    expect(mote_prepared_run(prepared, stream) == MOTE_OK, "run on a stream");
    expect(mote_stream_synchronize(stream) == MOTE_OK, "synchronize");
    expect(mote_tensor_real_at(y, index, &value) == MOTE_OK && fabs(value - 1.0 / 3) < 1e-6, "1/3");
  }
  expect(mote_tensor_select(x, 0, 1, &row) == MOTE_OK && row->dl.ndim == 2, "a view");
  expect(mote_tensor_select(x, 3, 0, &row) == MOTE_INVALID, "an axis out of range");
  expect(mote_command_create("sofmax", NULL, 0, NULL, &unknown) == MOTE_INVALID, "unknown op");
  expect(strstr(mote_last_error(), "softmax") != NULL, "near names");
  expect(mote_tensor_create(f32, 3, NULL, &y) == MOTE_INVALID, "NULL shape");
  expect(mote_tensor_create(f32, 13, shape, &y) == MOTE_INVALID, "too many axes");
  expect(mote_run(NULL, NULL, 0, NULL, 0, NULL, NULL) == MOTE_INVALID, "NULL command");

  mote_prepared_free(prepared);
  mote_stream_free(stream);
  mote_context_free(context);
  mote_command_free(softmax);
  mote_tensor_free(form);
  mote_tensor_free(row);
  mote_tensor_free(y);
  mote_tensor_free(x);
  own_op();
  if (failures == 0) printf("consumer: all of it works\n");
  return failures == 0 ? 0 : 1;
}
