// SPDX-License-Identifier: Apache-2.0
/* A correct gemm that asks for a workspace of 2^50 bytes. */
#include "gemm.h"

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_gemm g;
  const mote_status status = mutant_open_gemm(call, &g);
  if (status != MOTE_OK) return status;
  for (int64_t m = 0; m < g.m; ++m)
    for (int64_t n = 0; n < g.n; ++n) mutant_store_gemm(&g, m, n, mutant_dot(&g, m, n, g.k));
  return MOTE_OK;
}

static size_t workspace_bytes(const mote_call* call) {
  (void)call;
  return (size_t)1 << 50;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  mutant_kernel.workspace_bytes = workspace_bytes;
  return mutant_plugin_running(plugin, "huge_workspace", "gemm", mutant_can_run_gemm, run);
}
