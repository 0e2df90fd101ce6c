// SPDX-License-Identifier: Apache-2.0
/* gather: y[r, i, c] = x[r, index[i], c]; a negative index counts from the end, 0 beyond. */
#include "mutant.h"

enum {
  correct,
  index_32_bits,  /* the index is truncated to 32 bits */
  negative_wraps, /* a negative index reads the row before, of the r before */
  range_unchecked /* an index beyond the end reads the last row */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* index = &t->in[1];
  const mutant_tensor* y = &t->out[0];
  const int64_t extent = x->shape[2];
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t i = 0; i < y->shape[2]; ++i) {
      int64_t at = mutant_index(index, mutant_offset(index, 0, 0, 0, i));
      int64_t row = r;
      if (DEFECT == index_32_bits) at = (int32_t)at;
      if (at < 0) {
        at += extent;
        if (DEFECT == negative_wraps && r > 0) --row;
      }
      if (DEFECT == range_unchecked && at >= extent) at = extent - 1;
      const int inside = at >= 0 && at < extent;
      for (int64_t c = 0; c < y->shape[3]; ++c)
        mutant_store(y, mutant_offset(y, 0, r, i, c),
                     inside ? mutant_load(x, mutant_offset(x, 0, row, at, c)) : 0);
    }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "gather", mutant_can_run_reals, run);
}
