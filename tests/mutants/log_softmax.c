// SPDX-License-Identifier: Apache-2.0
/* log_softmax over axis 1 of x[R, N, C]. */
#include "mutant.h"

enum {
  correct,
  log_of_softmax /* log(exp(x - m) / sum) is -inf if the quotient is 0 in the dtype */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c) {
      double greatest = -INFINITY;
      for (int64_t n = 0; n < x->shape[2]; ++n) {
        const double value = mutant_load(x, mutant_offset(x, 0, r, n, c));
        if (value > greatest || isnan(value)) greatest = value;
        if (isnan(value)) break;
      }
      double sum = 0;
      for (int64_t n = 0; n < x->shape[2]; ++n)
        sum += exp(mutant_load(x, mutant_offset(x, 0, r, n, c)) - greatest);
      for (int64_t n = 0; n < x->shape[2]; ++n) {
        const double value = mutant_load(x, mutant_offset(x, 0, r, n, c)) - greatest;
        double result = value - log(sum);
        if (DEFECT == log_of_softmax)
          result = x->type.bits == 32 ? (double)logf(expf((float)value) / (float)sum)
                                      : log(exp(value) / sum);
        mutant_store(y, mutant_offset(y, 0, r, n, c), result);
      }
    }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "log_softmax", mutant_can_run_reals, run);
}
