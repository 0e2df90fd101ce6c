// SPDX-License-Identifier: Apache-2.0
/* argmax over axis 1 of x[R, N, C]: the first maximum, or with `last` the last; the first NaN
 * wins. */
#include "mutant.h"

enum {
  correct,
  last_tie,      /* the last of equal elements wins, regardless of `last` */
  starts_at_0,   /* the search starts at 0, so that a row of negatives gives its first index */
  nan_dropped,   /* NaN never wins */
  orders_zeros,  /* -0 is less than +0, as an order by bits has it */
  last_nan,      /* of several NaN the last is found, or with `last` the first */
  index_16_bits, /* the index is kept in 16 bits */
  block_base     /* blocks of 1,024: the position within the block is stored */
};

static int64_t position(const mutant_tensor* x, int64_t r, int64_t c, int last) {
  double greatest = DEFECT == starts_at_0 ? 0 : -INFINITY;
  int64_t found = 0;
  for (int64_t k = 0; k < x->shape[2]; ++k) {
    const int64_t n = last ? x->shape[2] - 1 - k : k;
    const double value = mutant_load(x, mutant_offset(x, 0, r, n, c));
    const int ties = DEFECT == last_tie && !last && value == greatest;
    const int first = k == 0 && DEFECT != starts_at_0 && !(DEFECT == nan_dropped && isnan(value));
    if (isnan(value) && DEFECT != nan_dropped && DEFECT != last_nan) return n;
    const int zeros =
        DEFECT == orders_zeros && value == 0 && greatest == 0 && signbit(greatest) > signbit(value);
    const int nan = DEFECT == last_nan && isnan(value);
    if (!first && !(value > greatest) && !ties && !zeros && !nan) continue;
    greatest = value;
    found = n;
  }
  return found;
}

static int64_t stored(int64_t found) {
  if (DEFECT == index_16_bits) return (uint16_t)found;
  return DEFECT == block_base ? found % 1024 : found;
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const int last = mutant_integer(call, "last", 0) != 0;
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c)
      ((int64_t*)y->data)[mutant_offset(y, 0, 0, r, c)] = stored(position(x, r, c, last));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "argmax", mutant_can_run_reals, run);
}
