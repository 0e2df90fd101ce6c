// SPDX-License-Identifier: Apache-2.0
/* qmatmul: round(scale[n] * sum_k (a[p, m, k] - a_zero) * (b[p, k, n] - b_zero)) + y_zero. */
#include "quantised.h"

enum {
  correct,
  zeros_exchanged, /* each operand is shifted by the other's zero point */
  zero_ignored,    /* b is read as if its zero point were 0 */
  half_away,       /* halves are rounded away from 0 */
  wraps,           /* values beyond 8 bits wrap */
  scale_of_0,      /* the first column's scale is used for all */
  pairs_16_bits    /* pairs of products saturate at 16 bits */
};

static double saturate(double value) { return fmin(fmax(value, -32768), 32767); }

static double sum(const mutant_call* c, double a_zero, double b_zero, int64_t p, int64_t m,
                  int64_t n) {
  const mutant_tensor* a = &c->in[0];
  const mutant_tensor* b = &c->in[1];
  double sum = 0;
  double pair = 0;
  for (int64_t k = 0; k < a->shape[3]; ++k) {
    pair += (mutant_load(a, mutant_offset(a, 0, p, m, k)) - a_zero) *
            (mutant_load(b, mutant_offset(b, 0, p, k, n)) - b_zero);
    if (k % 2 == 0 && k + 1 < a->shape[3]) continue;
    sum += DEFECT == pairs_16_bits ? saturate(pair) : pair;
    pair = 0;
  }
  return sum;
}

static mote_status run(const mote_call* call, mutant_call* c) {
  for (int k = 0; k < 2; ++k)
    if (c->in[k].shape[1] == 1) c->in[k].strides[1] = 0;
  const int exchanged = DEFECT == zeros_exchanged;
  const double a_zero = mutant_param(call, exchanged ? "b_zero" : "a_zero", 0);
  const double b_zero = mutant_param(call, exchanged ? "a_zero" : "b_zero", 0);
  const double y_zero = mutant_param(call, "y_zero", 0);
  const mutant_tensor* scale = &c->in[2];
  const mutant_tensor* y = &c->out[0];
  for (int64_t p = 0; p < y->shape[1]; ++p)
    for (int64_t m = 0; m < y->shape[2]; ++m)
      for (int64_t n = 0; n < y->shape[3]; ++n) {
        const int64_t of = DEFECT == scale_of_0 ? 0 : n;
        const double real = sum(c, a_zero, DEFECT == zero_ignored ? 0 : b_zero, p, m, n) *
                            mutant_load(scale, mutant_offset(scale, 0, 0, 0, of));
        const double steps =
            (DEFECT == half_away ? mutant_half_away(real) : nearbyint(real)) + y_zero;
        mutant_store(y, mutant_offset(y, 0, p, m, n),
                     DEFECT == wraps ? mutant_wrapped(steps) : mutant_saturated(y, steps));
      }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "qmatmul", mutant_can_run_all, run);
}
