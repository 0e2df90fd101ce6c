// SPDX-License-Identifier: Apache-2.0
/* A plug-in in one file: the op softsign, y = x / (1 + |x|), for f32 with any strides. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mote/base/kernel.h"

enum { kRank = 4 }; /* softsign has four axes; missing leading axes have extent 1 */

typedef struct {
  float* data;
  int64_t extents[kRank];
  int64_t strides[kRank];
} view;

static mote_status refuse(const mote_call* call, mote_status status, const char* why) {
  if (call->message != NULL && call->message_bytes > 0)
    snprintf(call->message, call->message_bytes, "softsign: %s", why);
  return status;
}

/* Reads the tensor's metadata; its data may be absent when only can_run asks. */
static int open_view(const DLTensor* t, view* v) {
  int64_t dense = 1;
  if (t == NULL || t->ndim < 0 || t->ndim > kRank) return 0;
  if (t->dtype.code != kDLFloat || t->dtype.bits != 32 || t->dtype.lanes != 1) return 0;
  if (t->device.device_type != kDLCPU) return 0;
  for (int axis = kRank - 1, own = t->ndim - 1; axis >= 0; --axis, --own) {
    v->extents[axis] = own < 0 ? 1 : t->shape[own];
    v->strides[axis] = own < 0 ? 0 : t->strides != NULL ? t->strides[own] : dense;
    dense *= v->extents[axis];
  }
  v->data = t->data == NULL ? NULL : (float*)(void*)((char*)t->data + t->byte_offset);
  return 1;
}

static mote_status open_call(const mote_call* call, view* x, view* y) {
  if (call->input_count != 1 || call->output_count != 1)
    return refuse(call, MOTE_INVALID, "takes one input and one output");
  if (!open_view(call->inputs[0], x) || !open_view(call->outputs[0], y))
    return refuse(call, MOTE_UNSUPPORTED, "only f32 in the host's memory, of at most 4 axes");
  if (memcmp(x->extents, y->extents, sizeof x->extents) != 0)
    return refuse(call, MOTE_INVALID, "x and y have different shapes");
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  view x, y;
  return open_call(call, &x, &y);
}

static mote_status run(const mote_call* call, void* stream) {
  view x, y;
  const mote_status status = open_call(call, &x, &y);
  (void)stream;
  if (status != MOTE_OK) return status;
  for (int64_t i = 0; i < x.extents[0]; ++i)
    for (int64_t j = 0; j < x.extents[1]; ++j)
      for (int64_t k = 0; k < x.extents[2]; ++k)
        for (int64_t l = 0; l < x.extents[3]; ++l) {
          const float value = x.data[i * x.strides[0] + j * x.strides[1] + k * x.strides[2] +
                                     l * x.strides[3]];
          y.data[i * y.strides[0] + j * y.strides[1] + k * y.strides[2] + l * y.strides[3]] =
              value / (1.0F + fabsf(value));
        }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  /* Each element is read before it is written: y may be x. */
  static const mote_op_pair in_place = {.input = 0, .output = 0};
  static const mote_contract contract = {.size = sizeof(mote_contract),
                                         .accumulator = MOTE_ACC_NATIVE,
                                         .deterministic = 1,
                                         .form = "direct",
                                         .in_place_count = 1,
                                         .in_place = &in_place};
  static const mote_kernel kernel = {.size = sizeof(mote_kernel),
                                     .op = "softsign",
                                     .contract = &contract,
                                     .can_run = can_run,
                                     .run = run};
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = "example",
                                       .version = "1.0",
                                       .kernel_count = 1,
                                       .kernels = &kernel};
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}
