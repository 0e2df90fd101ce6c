// SPDX-License-Identifier: Apache-2.0
/* nll_none: y[r, c] = -weight[t] * x[r, t, c], t = target[r, c]; 0 if t is ignored or no class. */
#include "mutant.h"

enum {
  correct,
  ignores_ignore_index /* an ignored target counts like any other */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* target = &t->in[1];
  const mutant_tensor* weight = &t->in[2];
  const mutant_tensor* y = &t->out[0];
  const int64_t ignored = mutant_integer(call, "ignore_index", -100);
  for (int64_t r = 0; r < y->shape[2]; ++r)
    for (int64_t c = 0; c < y->shape[3]; ++c) {
      const int64_t k = mutant_index(target, mutant_offset(target, 0, 0, r, c));
      double value = 0;
      if (k >= 0 && k < x->shape[2] && (k != ignored || DEFECT == ignores_ignore_index)) {
        value = -mutant_load(x, mutant_offset(x, 0, r, k, c));
        if (mutant_has(weight)) value *= mutant_load(weight, mutant_offset(weight, 0, 0, 0, k));
      }
      mutant_store(y, mutant_offset(y, 0, 0, r, c), value);
    }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "nll_none", mutant_can_run_reals, run);
}
