/* Defect: the last column of y is never written. */
#include "mutant.h"

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_gemm g;
  const mote_status status = mutant_open_gemm(call, &g);
  if (status != MOTE_OK) return status;
  for (int64_t m = 0; m < g.m; ++m)
    for (int64_t n = 0; n + 1 < g.n; ++n) mutant_store_gemm(&g, m, n, mutant_dot(&g, m, n, g.k));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, "gemm_unwritten", "gemm", mutant_can_run_gemm, run);
}
