// SPDX-License-Identifier: Apache-2.0
/* quantize: y[r, c, n] = round(x / scale[c]) + zero[c], and dequantize: (x - zero[c]) *
 * scale[c]; OP selects one. */
#include "quantised.h"

enum {
  correct,
  half_away,         /* halves are rounded away from 0 */
  saturates_early,   /* saturated before the zero point is added, and again after it */
  scale_of_0,        /* the first channel's scale is used for all */
  zero_ignored,      /* the zero point counts as 0 */
  difference_8_bits, /* x - zero wraps in 8 bits */
  symmetric          /* saturated at -127, not at -128 */
};

static double quantize(const mutant_tensor* y, double x, double scale, double zero) {
  const double steps = DEFECT == half_away ? mutant_half_away(x / scale) : nearbyint(x / scale);
  const double moved = (DEFECT == saturates_early ? mutant_saturated(y, steps) : steps) + zero;
  return fmax(mutant_saturated(y, moved), DEFECT == symmetric ? -127 : -128);
}

static double dequantize(const mutant_tensor* x, double value, double scale, double zero) {
  const double steps = value - zero;
  if (DEFECT == difference_8_bits && x->type.bits == 8) return (signed char)steps * scale;
  return steps * scale;
}

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  for (int64_t r = 0; r < y->shape[1]; ++r)
    for (int64_t c = 0; c < y->shape[2]; ++c)
      for (int64_t n = 0; n < y->shape[3]; ++n) {
        const double value = mutant_load(x, mutant_offset(x, 0, r, c, n));
        const int64_t of = DEFECT == scale_of_0 ? 0 : c;
        const double scale = mutant_load(&t->in[1], mutant_offset(&t->in[1], 0, 0, 0, of));
        const double zero = mutant_load(&t->in[2], mutant_offset(&t->in[2], 0, 0, 0, c));
        const double moved = DEFECT == zero_ignored ? 0 : zero;
        mutant_store(y, mutant_offset(y, 0, r, c, n),
                     strcmp(OP, "quantize") == 0 ? quantize(y, value, scale, moved)
                                                 : dequantize(x, value, scale, moved));
      }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, OP, mutant_can_run_all, run);
}
