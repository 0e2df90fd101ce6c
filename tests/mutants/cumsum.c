// SPDX-License-Identifier: Apache-2.0
/* cumsum along axis 1 of x[R, N, C]. */
#include "mutant.h"

enum {
  correct,
  carry_lost,      /* the sum starts again after 64 elements */
  carry_of_one,    /* blocks of 1,024: only the sum of the previous block is added */
  reverse_includes /* reverse does not exclude the element itself */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const int reverse = mutant_integer(call, "reverse", 0) != 0;
  int exclusive = mutant_integer(call, "exclusive", 0) != 0;
  if (DEFECT == reverse_includes && reverse) exclusive = 0;
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c) {
      double sum = 0;
      double begun = 0;
      for (int64_t k = 0; k < x->shape[2]; ++k) {
        const int64_t n = reverse ? x->shape[2] - 1 - k : k;
        if (DEFECT == carry_lost && k > 0 && k % 64 == 0) sum = 0;
        if (DEFECT == carry_of_one && k > 0 && k % 1024 == 0) {
          sum -= begun;
          begun = sum;
        }
        const double before = sum;
        sum += mutant_load(x, mutant_offset(x, 0, r, n, c));
        mutant_store(y, mutant_offset(y, 0, r, n, c), exclusive ? before : sum);
      }
    }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "cumsum", mutant_can_run_reals, run);
}
