/* Defect: takes the leading dimension of a to be its extent, so that a gap after each row (or each
 * column, if a is transposed) is read as data. */
#include "mutant.h"

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_gemm g;
  const mote_status status = mutant_open_gemm(call, &g);
  if (status != MOTE_OK) return status;
  if (g.a.strides[3] == 1 && g.a.strides[2] > g.k) g.a.strides[2] = g.k;
  if (g.a.strides[2] == 1 && g.a.strides[3] > g.m) g.a.strides[3] = g.m;
  for (int64_t m = 0; m < g.m; ++m)
    for (int64_t n = 0; n < g.n; ++n) mutant_store_gemm(&g, m, n, mutant_dot(&g, m, n, g.k));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, "gemm_ignores_ld", "gemm", mutant_can_run_gemm, run);
}
