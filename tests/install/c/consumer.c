/* mote from C99: tensors, a command, a stream, and errors. */
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
  if (failures == 0) printf("consumer: all of it works\n");
  return failures == 0 ? 0 : 1;
}
