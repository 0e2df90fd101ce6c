// SPDX-License-Identifier: Apache-2.0
/* A plug-in that was compiled before mote_kernel had run_checked: its kernels end with run, so that
 * another kernel lies where run_checked would be. */
#include "mote/base/kernel.h"

typedef struct {
  size_t size;
  const char* op;
  const mote_contract* contract;
  mote_status (*can_run)(const mote_call* call);
  size_t (*workspace_bytes)(const mote_call* call);
  mote_status (*run)(const mote_call* call, void* stream);
} old_kernel;

static mote_status can_run(const mote_call* call) {
  (void)call;
  return MOTE_OK;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  const float* x = call->inputs[0]->data;
  float* y = call->outputs[0]->data;
  *y = -*x;
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  static const mote_contract contract = {
      .size = sizeof(mote_contract), .deterministic = 1, .form = "direct"};
  static old_kernel kernels[2];
  static mote_backend backend = {
      .size = sizeof(mote_backend), .name = "old", .version = "1.0", .kernel_count = 2};
  const char* const ops[] = {"abs", "neg"};
  for (int k = 0; k < 2; ++k)
    kernels[k] = (old_kernel){sizeof(old_kernel), ops[k], &contract, can_run, NULL, run};
  backend.kernels = (const mote_kernel*)(const void*)kernels;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}
