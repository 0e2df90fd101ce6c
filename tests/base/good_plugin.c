// SPDX-License-Identifier: Apache-2.0
/* A plug-in that the loader must accept. Its backend has two kernels of "double": one only for
 * rank 1, one only for rank 2, so that a choice between them can be seen. Its structs are larger
 * than those of kernel.h, as a later version's would be. */
#include <stdio.h>

#include "mote/base/kernel.h"

typedef struct {
  mote_kernel kernel;
  int64_t appended;
} larger_kernel;

static mote_status accept_rank(const mote_call* call, int rank) {
  if (call->inputs[0]->ndim == rank) return MOTE_OK;
  if (rank == 1) return MOTE_INVALID;
  snprintf(call->message, call->message_bytes, "rank %d, expected 2", call->inputs[0]->ndim);
  return MOTE_UNSUPPORTED;
}

static mote_status can_run_rank1(const mote_call* call) { return accept_rank(call, 1); }
static mote_status can_run_rank2(const mote_call* call) { return accept_rank(call, 2); }

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  const float* x = call->inputs[0]->data;
  float* y = call->outputs[0]->data;
  *y = 2 * *x;
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  static const mote_contract contract = {
      .size = sizeof(mote_contract), .deterministic = 1, .form = "direct"};
  static larger_kernel kernels[2];
  static mote_backend backend = {.size = sizeof(mote_backend),
                                 .name = "good",
                                 .version = "1.0",
                                 .kernel_count = 2,
                                 .kernels = &kernels[0].kernel};
  for (int k = 0; k < 2; ++k)
    kernels[k].kernel = (mote_kernel){.size = sizeof(larger_kernel),
                                      .op = "double",
                                      .contract = &contract,
                                      .can_run = k == 0 ? can_run_rank1 : can_run_rank2,
                                      .run = run};
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}
