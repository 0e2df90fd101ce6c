// SPDX-License-Identifier: Apache-2.0
/* transpose: y[b, n, m] = x[b, m, n]. */
#include "mutant.h"

enum {
  correct,
  tile_tail,   /* tiles of 8x8: in a tile beyond both edges the last row is left out */
  float_offset /* offsets into x are floats */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const int64_t rows = x->shape[2];
  const int64_t columns = x->shape[3];
  const int hangs_over = rows > 8 && columns > 8 && rows % 8 != 0 && columns % 8 != 0;
  for (int64_t b = 0; b < x->shape[1]; ++b)
    for (int64_t m = 0; m < rows; ++m)
      for (int64_t n = 0; n < columns; ++n) {
        const int in_corner = hangs_over && m + 1 == rows && n >= columns - columns % 8;
        const int64_t from = DEFECT == tile_tail && in_corner ? m - 1 : m;
        const int64_t offset = mutant_offset(x, 0, b, from, n);
        mutant_store(y, mutant_offset(y, 0, b, n, m),
                     mutant_load(x, DEFECT == float_offset ? mutant_in_float(offset) : offset));
      }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "transpose", mutant_can_run_reals, run);
}
