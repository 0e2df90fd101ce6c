// SPDX-License-Identifier: Apache-2.0
/* scatter_elements: y = x, then y[r, index[r, i, c], c] = updates[r, i, c]. */
#include "mutant.h"

enum {
  correct,
  first_stays,     /* of equal indices the first one remains */
  negative_dropped /* a negative index writes nothing */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* index = &t->in[1];
  const mutant_tensor* updates = &t->in[2];
  const mutant_tensor* y = &t->out[0];
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c) {
      for (int64_t n = 0; n < x->shape[2]; ++n)
        mutant_store(y, mutant_offset(y, 0, r, n, c), mutant_load(x, mutant_offset(x, 0, r, n, c)));
      if (r >= index->shape[1] || c >= index->shape[3]) continue;
      for (int64_t k = 0; k < index->shape[2]; ++k) {
        const int64_t i = DEFECT == first_stays ? index->shape[2] - 1 - k : k;
        int64_t at = mutant_index(index, mutant_offset(index, 0, r, i, c));
        if (at < 0 && DEFECT != negative_dropped) at += x->shape[2];
        if (at >= 0 && at < x->shape[2])
          mutant_store(y, mutant_offset(y, 0, r, at, c),
                       mutant_load(updates, mutant_offset(updates, 0, r, i, c)));
      }
    }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "scatter_elements", mutant_can_run_reals, run);
}
