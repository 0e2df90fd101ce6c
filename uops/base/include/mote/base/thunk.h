// SPDX-License-Identifier: Apache-2.0
/* Provides the parts of every generated thunk (C99): checks of a mote_call's tensors and
 * parameters, with one-line messages. The first failure is kept in mote_thunk.status and its text
 * in call->message; every later check then returns harmless values (extents 1, parameters within
 * their range), so that a thunk is a list of calls without branches. Nothing is allocated. */
#ifndef MOTE_BASE_THUNK_H
#define MOTE_BASE_THUNK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mote/base/kernel.h"

#define MOTE_MAX_RANK 16

/* A function that is compiled for its size: the time of a call is not spent in it. */
#ifndef MOTE_COLD
#ifdef __GNUC__
#define MOTE_COLD __attribute__((cold, noinline, unused))
#else
#define MOTE_COLD
#endif
#endif

/* The names that a call of the op may hold, in the order of the call. */
typedef struct mote_signature {
  const char* op;
  int32_t input_count;
  int32_t output_count;
  int32_t param_count;
  const char* const* inputs;
  const char* const* outputs;
  const char* const* params;
} mote_signature;

typedef struct mote_thunk {
  const mote_call* call;
  const mote_signature* signature;
  int run; /* data will be read: pointers are checked too */
  mote_status status;
} mote_thunk;

/* A tensor at the full rank that the op gives it: missing leading axes have extent 1, and axes that
 * repeat have stride 0. */
typedef struct mote_view {
  const char* name;
  void* data;
  uint32_t broadcast; /* bit k: axis k may be 1 and then repeats */
  int rank;
  int64_t extents[MOTE_MAX_RANK];
  int64_t strides[MOTE_MAX_RANK];
} mote_view;

/* Returns the element type as in program text, or NULL if mote has none. */
static inline const char* mote_dtype_name(DLDataType t) {
  if (t.lanes != 1) return NULL;
  if (t.code == kDLFloat && t.bits == 32) return "f32";
  if (t.code == kDLFloat && t.bits == 64) return "f64";
  if (t.code == kDLFloat && t.bits == 16) return "f16";
  if (t.code == kDLBfloat && t.bits == 16) return "bf16";
  if (t.code == kDLInt && t.bits == 8) return "i8";
  if (t.code == kDLUInt && t.bits == 8) return "u8";
  if (t.code == kDLInt && t.bits == 32) return "i32";
  if (t.code == kDLInt && t.bits == 64) return "i64";
  if (t.code == MOTE_DL_BOOL && t.bits == 8) return "bool";
  return NULL;
}

/* Appends to call->message; what does not fit is cut off. */
static inline void mote_message_append_list(const mote_call* call, const char* format,
                                            va_list args) {
  if (call->message == NULL || call->message_bytes == 0) return;
  const size_t used = strlen(call->message);
  vsnprintf(call->message + used, call->message_bytes - used, format, args);
}

static inline void mote_message_append(const mote_call* call, const char* format, ...) {
  va_list args;
  va_start(args, format);
  mote_message_append_list(call, format, args);
  va_end(args);
}

/* Appends " (x f32[1,5,4,4], w f32[2,3,3,3])". */
static inline void mote_message_append_inputs(const mote_thunk* thunk) {
  const mote_call* call = thunk->call;
  const char* before = " (";
  if (call->inputs == NULL) return;
  for (int32_t k = 0; k < call->input_count && k < thunk->signature->input_count; k++) {
    const DLTensor* t = call->inputs[k];
    if (t == NULL || t->ndim < 0 || (t->ndim > 0 && t->shape == NULL)) continue;
    const char* dtype = mote_dtype_name(t->dtype);
    mote_message_append(call, "%s%s %s[", before, thunk->signature->inputs[k],
                        dtype != NULL ? dtype : "?");
    for (int32_t axis = 0; axis < t->ndim; axis++)
      mote_message_append(call, "%s%" PRId64, axis > 0 ? "," : "", t->shape[axis]);
    mote_message_append(call, "]");
    before = ", ";
  }
  if (before[0] == ',') mote_message_append(call, ")");
}

/* Keeps the first failure. */
static inline void mote_thunk_fail(mote_thunk* thunk, mote_status status, const char* format, ...) {
  if (thunk->status != MOTE_OK) return;
  thunk->status = status;
  const mote_call* call = thunk->call;
  if (call->message == NULL || call->message_bytes == 0) return;
  call->message[0] = '\0';
  mote_message_append(call, "%s: ", thunk->signature->op);
  va_list args;
  va_start(args, format);
  mote_message_append_list(call, format, args);
  va_end(args);
  mote_message_append_inputs(thunk);
}

static inline int mote_thunk_knows(const mote_signature* signature, const char* param) {
  for (int32_t k = 0; k < signature->param_count; k++)
    if (strcmp(signature->params[k], param) == 0) return 1;
  return 0;
}

/* Starts a thunk and checks the size of the call, the counts and the names of parameters. */
static inline mote_thunk mote_thunk_begin(const mote_call* call, const mote_signature* signature,
                                          int run) {
  mote_thunk thunk = {call, signature, run, MOTE_OK};
  if (call == NULL || call->size < sizeof(mote_call)) {
    thunk.status = MOTE_INVALID; /* too small to hold a message */
    return thunk;
  }
  if (call->input_count < 0 || call->input_count > signature->input_count ||
      (call->input_count > 0 && call->inputs == NULL)) {
    mote_thunk_fail(&thunk, MOTE_INVALID, "takes %" PRId32 " inputs, got %" PRId32,
                    signature->input_count, call->input_count);
  }
  if (call->output_count != signature->output_count || call->outputs == NULL) {
    mote_thunk_fail(&thunk, MOTE_INVALID, "has %" PRId32 " outputs, got %" PRId32,
                    signature->output_count, call->output_count);
  }
  for (int32_t k = 0; k < call->param_count && thunk.status == MOTE_OK; k++) {
    if (mote_thunk_knows(signature, call->params[k].name)) continue;
    mote_thunk_fail(&thunk, MOTE_INVALID, "unknown parameter %s", call->params[k].name);
    if (call->message == NULL) continue;
    for (int32_t n = 0; n < signature->param_count; n++)
      mote_message_append(call, "%s%s", n == 0 ? "; known: " : ", ", signature->params[n]);
  }
  return thunk;
}

/* Takes the strides of t, row-major if it gives none. */
static inline void mote_view_layout(mote_view* view, const DLTensor* t) {
  const int missing = view->rank - t->ndim;
  int64_t stride = 1;
  for (int k = t->ndim; k-- > 0;) {
    view->extents[missing + k] = t->shape[k];
    view->strides[missing + k] = t->strides != NULL ? t->strides[k] : stride;
    stride *= t->shape[k] > 0 ? t->shape[k] : 1;
    if (((view->broadcast >> (missing + k)) & 1U) != 0 && t->shape[k] == 1)
      view->strides[missing + k] = 0;
  }
}

/* Takes the data pointer, which must be aligned; if the kernel reads or writes it, it must be
 * present. */
static inline void mote_view_data(mote_thunk* thunk, mote_view* view, const DLTensor* t) {
  int empty = 0;
  for (int k = 0; k < view->rank; k++) empty |= view->extents[k] == 0;
  if (t->data != NULL) view->data = (char*)t->data + t->byte_offset;
  if (empty) return;
  if (t->data == NULL && thunk->run)
    mote_thunk_fail(thunk, MOTE_INVALID, "%s has no data", view->name);
  else if (t->data != NULL && (uintptr_t)view->data % (t->dtype.bits / 8U) != 0)
    mote_thunk_fail(thunk, MOTE_INVALID, "%s is not aligned to its elements", view->name);
}

/* Checks everything except the data. `optional_axes` is the number of leading axes that may be
 * missing. */
static inline mote_view mote_thunk_described(mote_thunk* thunk, const DLTensor* t, const char* name,
                                             const char* dtype, int rank, int optional_axes,
                                             uint32_t broadcast) {
  mote_view view = {name, NULL, broadcast, rank, {0}, {0}};
  for (int k = 0; k < rank; k++) view.extents[k] = 1;
  if (thunk->status != MOTE_OK) return view;
  if (t == NULL) {
    mote_thunk_fail(thunk, MOTE_INVALID, "%s is missing", name);
    return view;
  }
  const char* got = mote_dtype_name(t->dtype);
  if (t->ndim > rank || t->ndim < rank - optional_axes) {
    mote_thunk_fail(thunk, MOTE_INVALID, "%s must have %s%d axes, got %" PRId32, name,
                    optional_axes > 0 ? "at most " : "", rank, t->ndim);
  } else if (t->ndim > 0 && t->shape == NULL) {
    mote_thunk_fail(thunk, MOTE_INVALID, "%s has no shape", name);
  } else if (got == NULL || strcmp(got, dtype) != 0) {
    mote_thunk_fail(thunk, MOTE_INVALID, "%s must be %s, got %s", name, dtype,
                    got != NULL ? got : "another type");
  } else if (t->device.device_type != kDLCPU) {
    mote_thunk_fail(thunk, MOTE_UNSUPPORTED, "%s is not in the host's memory", name);
  }
  for (int k = 0; k < t->ndim && thunk->status == MOTE_OK; k++) {
    if (t->shape[k] < 0)
      mote_thunk_fail(thunk, MOTE_INVALID, "axis %d of %s is negative: %" PRId64, k, name,
                      t->shape[k]);
  }
  if (thunk->status == MOTE_OK) mote_view_layout(&view, t);
  return view;
}

/* Returns input k of the call, of which only the shape is needed: its data may be absent. Leading
 * axes that broadcast may be missing. */
static inline mote_view mote_thunk_shape(mote_thunk* thunk, int32_t k, const char* dtype, int rank,
                                         uint32_t broadcast) {
  const DLTensor* t =
      thunk->status == MOTE_OK && k < thunk->call->input_count ? thunk->call->inputs[k] : NULL;
  int optional = 0;
  while (optional < rank && ((broadcast >> optional) & 1U) != 0) optional++;
  return mote_thunk_described(thunk, t, thunk->signature->inputs[k], dtype, rank, optional,
                              broadcast);
}

/* Returns input k of the call, with its data. */
static inline mote_view mote_thunk_input(mote_thunk* thunk, int32_t k, const char* dtype, int rank,
                                         uint32_t broadcast) {
  mote_view view = mote_thunk_shape(thunk, k, dtype, rank, broadcast);
  if (thunk->status == MOTE_OK) mote_view_data(thunk, &view, thunk->call->inputs[k]);
  return view;
}

/* Returns output k of the call. Leading axes of extent 1 may be missing. */
static inline mote_view mote_thunk_output(mote_thunk* thunk, int32_t k, const char* dtype,
                                          int rank) {
  const DLTensor* t = thunk->status == MOTE_OK ? thunk->call->outputs[k] : NULL;
  mote_view view =
      mote_thunk_described(thunk, t, thunk->signature->outputs[k], dtype, rank, rank, 0);
  if (thunk->status == MOTE_OK) mote_view_data(thunk, &view, t);
  return view;
}

/* Fails if the call has input k, which this kernel does not take. */
static inline void mote_thunk_absent(mote_thunk* thunk, int32_t k) {
  if (thunk->status != MOTE_OK || k >= thunk->call->input_count) return;
  if (thunk->call->inputs[k] != NULL)
    mote_thunk_fail(thunk, MOTE_UNSUPPORTED, "this kernel is the one without %s",
                    thunk->signature->inputs[k]);
}

static inline const mote_param* mote_thunk_param(mote_thunk* thunk, const char* name,
                                                 int has_default) {
  if (thunk->status != MOTE_OK) return NULL;
  for (int32_t k = 0; k < thunk->call->param_count; k++)
    if (strcmp(thunk->call->params[k].name, name) == 0) return &thunk->call->params[k];
  if (!has_default) mote_thunk_fail(thunk, MOTE_INVALID, "parameter %s is missing", name);
  return NULL;
}

/* Returns an integer parameter within lower..upper. */
static inline int64_t mote_thunk_integer(mote_thunk* thunk, const char* name, int64_t lower,
                                         int64_t upper, int has_default, int64_t otherwise) {
  const mote_param* param = mote_thunk_param(thunk, name, has_default);
  int64_t value = otherwise;
  if (param != NULL && param->is_real)
    mote_thunk_fail(thunk, MOTE_INVALID, "parameter %s must be an integer, got %g", name,
                    param->real);
  else if (param != NULL)
    value = param->integer;
  if (value < lower || value > upper)
    mote_thunk_fail(thunk, MOTE_INVALID,
                    "parameter %s must be in %" PRId64 "..%" PRId64 ", got %" PRId64, name, lower,
                    upper, value);
  return value < lower ? lower : value > upper ? upper : value;
}

static inline double mote_thunk_real(mote_thunk* thunk, const char* name, int has_default,
                                     double otherwise) {
  const mote_param* param = mote_thunk_param(thunk, name, has_default);
  if (param == NULL) return otherwise;
  return param->is_real ? param->real : (double)param->integer;
}

/* Returns the size with scale * size + offset = extent of the axis; `text` is the left side. */
static inline int64_t mote_thunk_size(mote_thunk* thunk, const mote_view* view, int axis,
                                      int64_t scale, int64_t offset, const char* text) {
  if (thunk->status != MOTE_OK) return 1;
  const int64_t rest = view->extents[axis] - offset;
  if (scale != 0 && rest % scale == 0 && rest / scale >= 0) return rest / scale;
  if (scale == 0)
    mote_thunk_fail(thunk, MOTE_INVALID, "axis %d of %s must be %s, whose factor is 0", axis,
                    view->name, text);
  else if (offset == 0 && scale > 0)
    mote_thunk_fail(thunk, MOTE_INVALID,
                    "axis %d of %s must be %s, a multiple of %" PRId64 ", got %" PRId64, axis,
                    view->name, text, scale, view->extents[axis]);
  else
    mote_thunk_fail(thunk, MOTE_INVALID, "axis %d of %s must be %s, got %" PRId64, axis, view->name,
                    text, view->extents[axis]);
  return 1;
}

/* Returns the first extent that is not 1, else 1: the size to which the other axes repeat. */
static inline int64_t mote_thunk_broadcast(int count, const int64_t* extents) {
  for (int k = 0; k < count; k++)
    if (extents[k] != 1) return extents[k];
  return 1;
}

/* Checks that the axis has the expected extent, or repeats. `text` is the expected extent:
 * "groups*CG". */
static inline void mote_thunk_extent(mote_thunk* thunk, const mote_view* view, int axis,
                                     int64_t expected, const char* text) {
  const int64_t got = view->extents[axis];
  const int repeats = ((view->broadcast >> axis) & 1U) != 0;
  if (thunk->status != MOTE_OK || got == expected || (repeats && got == 1)) return;
  mote_thunk_fail(thunk, MOTE_INVALID, "axis %d of %s must be %s%s%s%" PRId64 ", got %" PRId64,
                  axis, view->name, repeats ? "1 or " : "", text, text[0] != '\0' ? " = " : "",
                  expected, got);
}

static inline void mote_thunk_equal(mote_thunk* thunk, int64_t left, int64_t right,
                                    const char* left_text, const char* right_text) {
  if (thunk->status != MOTE_OK || left == right) return;
  mote_thunk_fail(thunk, MOTE_INVALID, "%s must equal %s, got %" PRId64 " and %" PRId64, left_text,
                  right_text, left, right);
}

static inline void mote_thunk_at_least(mote_thunk* thunk, int64_t value, int64_t least,
                                       const char* text) {
  if (thunk->status != MOTE_OK || value >= least) return;
  mote_thunk_fail(thunk, MOTE_INVALID, "%s must be at least %" PRId64 ", got %" PRId64, text, least,
                  value);
}

/* Checks the divisor of an index. `unused`: no element has an index with this divisor. */
static inline void mote_thunk_divisor(mote_thunk* thunk, int unused, int64_t value,
                                      const char* text) {
  if (thunk->status != MOTE_OK || unused || value >= 1) return;
  mote_thunk_fail(thunk, MOTE_INVALID, "%s divides and must be at least 1, got %" PRId64, text,
                  value);
}

/* Turns the result of the typed function into a status. */
static inline mote_status mote_thunk_result(mote_thunk* thunk, int result) {
  if (result != 0) mote_thunk_fail(thunk, MOTE_OUT_OF_MEMORY, "no memory for its temporaries");
  return thunk->status;
}

#include "mote/base/thunk_checked.h" /* the call after the checks */

#endif
