// SPDX-License-Identifier: Apache-2.0
/* A plug-in that is correct except for the one defect that the macro DEFECT names. */
#include "mote/base/kernel.h"

enum defect {
  abi_version,
  init_fails,
  no_backends,
  small_table,
  small_backend,
  no_backend_name,
  no_version,
  no_kernels,
  small_kernel,
  no_op,
  no_contract,
  small_contract,
  no_form,
  no_functions,
  nameless_function,
  no_pairs,
  no_pairs_of_short,
  negative_pairs,
  no_can_run,
  no_run
};

static mote_contract contract = {.size = sizeof(mote_contract), .form = "direct"};
static mote_kernel kernel = {.size = sizeof(mote_kernel), .op = "double", .contract = &contract};
static mote_backend backend = {.size = sizeof(mote_backend),
                               .name = "broken",
                               .version = "1.0",
                               .kernel_count = 1,
                               .kernels = &kernel};

static mote_status can_run(const mote_call* call) {
  (void)call;
  return MOTE_OK;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)call;
  (void)stream;
  return MOTE_OK;
}

static void break_kernel(enum defect defect) {
  kernel.can_run = defect == no_can_run ? NULL : can_run;
  kernel.run = defect == no_run ? NULL : run;
  if (defect == small_kernel) kernel.size = 8;
  if (defect == no_op) kernel.op = NULL;
  if (defect == no_contract) kernel.contract = NULL;
  if (defect == small_contract) contract.size = 8;
  if (defect == no_form) contract.form = NULL;
  if (defect == no_functions) contract.function_count = 1;
  if (defect == nameless_function) {
    static const mote_accuracy nameless = {.ulp = 1};
    contract.function_count = 1;
    contract.functions = &nameless;
  }
  if (defect == no_pairs) contract.in_place_count = 2;
  if (defect == no_pairs_of_short) { /* the contract ends before the list */
    contract.size = offsetof(mote_contract, ignores_nan);
    contract.in_place_count = 2;
  }
  if (defect == negative_pairs) contract.in_place_count = -2;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  const enum defect defect = DEFECT;
  break_kernel(defect);
  if (defect == small_backend) backend.size = 16;
  if (defect == no_backend_name) backend.name = NULL;
  if (defect == no_version) backend.version = NULL;
  if (defect == no_kernels) backend.kernels = NULL;
  plugin->backend_count = 1;
  plugin->backends = defect == no_backends ? NULL : &backend;
  if (defect == abi_version) plugin->abi_version = MOTE_ABI_VERSION + 1;
  if (defect == small_table) plugin->size = 8;
  return defect == init_fails ? MOTE_FAILED : MOTE_OK;
}
