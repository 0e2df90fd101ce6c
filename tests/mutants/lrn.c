// SPDX-License-Identifier: Apache-2.0
/* lrn of x[N, C, S]: a sum of squares over `size` channels. */
#include "mutant.h"

enum {
  correct,
  other_side,     /* a window of even size has its surplus channel before, not after */
  alpha_undivided /* alpha is not divided by size */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const int64_t size = mutant_integer(call, "size", 1);
  const int64_t before = DEFECT == other_side ? size / 2 : (size - 1) / 2;
  double alpha = mutant_param(call, "alpha", 1e-4);
  if (DEFECT != alpha_undivided) alpha /= (double)size;
  for (int64_t n = 0; n < x->shape[1]; ++n)
    for (int64_t c = 0; c < x->shape[2]; ++c)
      for (int64_t s = 0; s < x->shape[3]; ++s) {
        double squares = 0;
        for (int64_t i = c - before; i < c - before + size; ++i) {
          if (i < 0 || i >= x->shape[2]) continue;
          const double value = mutant_load(x, mutant_offset(x, 0, n, i, s));
          squares += value * value;
        }
        mutant_store(y, mutant_offset(y, 0, n, c, s),
                     mutant_load(x, mutant_offset(x, 0, n, c, s)) /
                         pow(mutant_param(call, "bias", 1) + alpha * squares,
                             mutant_param(call, "beta", 0.75)));
      }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "lrn", mutant_can_run_reals, run);
}
