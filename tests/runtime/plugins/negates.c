// SPDX-License-Identifier: Apache-2.0
/* A correct kernel of neg for contiguous f32 that may work in place, in a backend whose name the
 * build sets: several of these are loaded while others run. */
#include "mote/base/kernel.h"

static int64_t count(const DLTensor* t) {
  int64_t n = 1;
  for (int32_t axis = 0; axis < t->ndim; ++axis) n *= t->shape[axis];
  return n;
}

static mote_status can_run(const mote_call* call) {
  for (int k = 0; k < 2; ++k) {
    const DLTensor* t = k == 0 ? call->inputs[0] : call->outputs[0];
    if (t->dtype.code != kDLFloat || t->dtype.bits != 32) return MOTE_UNSUPPORTED;
    int64_t dense = 1;
    for (int32_t axis = t->ndim - 1; axis >= 0; dense *= t->shape[axis], --axis)
      if (t->strides != NULL && t->shape[axis] > 1 && t->strides[axis] != dense)
        return MOTE_UNSUPPORTED;
  }
  return MOTE_OK;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  const DLTensor* in = call->inputs[0];
  const DLTensor* out = call->outputs[0];
  const float* x = (const float*)(const void*)((const char*)in->data + in->byte_offset);
  float* y = (float*)(void*)((char*)out->data + out->byte_offset);
  for (int64_t k = 0; k < count(out); ++k) y[k] = -x[k];
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  static const mote_op_pair pair = {.input = 0, .output = 0};
  static const mote_contract contract = {.size = sizeof(mote_contract),
                                         .deterministic = 1,
                                         .form = "direct",
                                         .in_place_count = 1,
                                         .in_place = &pair};
  static const mote_kernel kernel = {.size = sizeof(mote_kernel),
                                     .op = "neg",
                                     .contract = &contract,
                                     .can_run = can_run,
                                     .run = run};
  static const mote_backend backend = {.size = sizeof(mote_backend),
                                       .name = BACKEND_NAME,
                                       .version = "1",
                                       .kernel_count = 1,
                                       .kernels = &kernel};
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}
