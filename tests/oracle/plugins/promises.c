// SPDX-License-Identifier: Apache-2.0
/* A contract that changes everything that a bound depends on; its kernel runs nothing. */
#include "mote/base/kernel.h"

static mote_status refuse(const mote_call* call) {
  (void)call;
  return MOTE_UNSUPPORTED;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  return refuse(call);
}

static const mote_accuracy functions[] = {{"dot", 2, 0, 0}, {"exp", 3, 1, 0}};
static const mote_contract contract = {.size = sizeof(mote_contract),
                                       .accumulator = MOTE_ACC_NATIVE,
                                       .multiply_rounding = 11,
                                       .flushes_denormals = 1,
                                       .form = "direct",
                                       .function_count = 2,
                                       .functions = functions};
static const mote_kernel kernel = {.size = sizeof(mote_kernel),
                                   .op = "matmul",
                                   .contract = &contract,
                                   .can_run = refuse,
                                   .run = run};
static const mote_backend backend = {.size = sizeof(mote_backend),
                                     .name = "promises",
                                     .version = "1",
                                     .kernel_count = 1,
                                     .kernels = &kernel};

mote_status mote_plugin_init(mote_plugin* plugin) {
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}
