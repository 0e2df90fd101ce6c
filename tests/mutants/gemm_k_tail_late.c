/* Defect: the last K % 8 terms are never added, but only where K > 8 (below, a scalar loop that is
 * right serves): the smallest failing K is 9. */
#include "mutant.h"

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_gemm g;
  const mote_status status = mutant_open_gemm(call, &g);
  if (status != MOTE_OK) return status;
  const int64_t terms = g.k > 8 ? g.k - g.k % 8 : g.k;
  for (int64_t m = 0; m < g.m; ++m)
    for (int64_t n = 0; n < g.n; ++n) mutant_store_gemm(&g, m, n, mutant_dot(&g, m, n, terms));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, "gemm_k_tail_late", "gemm", mutant_can_run_gemm, run);
}
