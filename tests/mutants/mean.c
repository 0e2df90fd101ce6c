// SPDX-License-Identifier: Apache-2.0
/* mean over axis 1 of x[R, N, C], whose sum is promised in double. */
#include "mutant.h"

enum {
  correct,
  float_sums, /* the sum is kept in float */
  float_parts /* every 64 elements are summed in float, and these sums in double */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const int64_t extent = x->shape[2];
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c) {
      double sum = 0;
      float part = 0;
      for (int64_t n = 0; n < extent; ++n) {
        const double value = mutant_load(x, mutant_offset(x, 0, r, n, c));
        if (DEFECT == correct) {
          sum += value;
          continue;
        }
        part += (float)value;
        if (DEFECT == float_parts && (n % 64 == 63 || n == extent - 1)) {
          sum += (double)part;
          part = 0;
        }
      }
      if (DEFECT == float_sums) sum = (double)part;
      mutant_store(y, mutant_offset(y, 0, 0, r, c), sum / (double)extent);
    }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "mean", mutant_can_run_reals, run);
}
