// SPDX-License-Identifier: Apache-2.0
/* layer_norm of the rows of x[R, N]. */
#include "mutant.h"

enum {
  correct,
  one_pass,    /* the variance is mean(x^2) - mean(x)^2, in floats */
  eps_outside, /* eps is added to the root */
  n_minus_1,   /* the variance is divided by N - 1 */
  gamma_axis   /* gamma is read by the row if R = N */
};

static double optional(const mutant_tensor* t, int64_t at, double missing) {
  return mutant_has(t) ? mutant_load(t, mutant_offset(t, 0, 0, 0, at)) : missing;
}

static double variance(const mutant_tensor* x, int64_t r, double mean) {
  const int64_t extent = x->shape[3];
  double sum = 0;
  float squares = 0;
  float sums = 0;
  for (int64_t n = 0; n < extent; ++n) {
    const double value = mutant_load(x, mutant_offset(x, 0, 0, r, n));
    sum += (value - mean) * (value - mean);
    squares += (float)value * (float)value;
    sums += (float)value;
  }
  if (DEFECT == one_pass && x->type.bits == 32) {
    const float m = sums / (float)extent;
    return (double)fmaxf(squares / (float)extent - m * m, 0);
  }
  return sum / (double)(DEFECT == n_minus_1 ? extent - 1 : extent);
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const double eps = mutant_param(call, "eps", 1e-5);
  const int64_t rows = x->shape[2];
  const int64_t extent = x->shape[3];
  for (int64_t r = 0; r < rows; ++r) {
    double mean = 0;
    for (int64_t n = 0; n < extent; ++n) mean += mutant_load(x, mutant_offset(x, 0, 0, r, n));
    mean /= (double)extent;
    const double var = variance(x, r, mean);
    const double root = DEFECT == eps_outside ? sqrt(var) + eps : sqrt(var + eps);
    for (int64_t n = 0; n < extent; ++n) {
      const double value = mutant_load(x, mutant_offset(x, 0, 0, r, n));
      const int64_t g = DEFECT == gamma_axis && rows == extent ? r : n;
      mutant_store(y, mutant_offset(y, 0, 0, r, n),
                   (value - mean) / root * optional(&t->in[1], g, 1) + optional(&t->in[2], n, 0));
    }
  }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "layer_norm", mutant_can_run_reals, run);
}
