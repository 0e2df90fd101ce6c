// SPDX-License-Identifier: Apache-2.0
/* rms_norm of the rows of x[R, N]. */
#include "mutant.h"

enum {
  correct,
  eps_outside,  /* eps is added to the root */
  gamma_plus_1, /* gamma + 1 is the factor */
  f16_correct,  /* f16, with squares summed in float as promised */
  f16_squares   /* f16, with squares in f16, where they overflow */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* gamma = &t->in[1];
  const mutant_tensor* y = &t->out[0];
  const double eps = mutant_param(call, "eps", 1e-5);
  const int64_t extent = x->shape[3];
  for (int64_t r = 0; r < x->shape[2]; ++r) {
    double squares = 0;
    for (int64_t n = 0; n < extent; ++n) {
      const double value = mutant_load(x, mutant_offset(x, 0, 0, r, n));
      squares += value * value;
      if (DEFECT == f16_correct) squares = (double)(float)squares;
      if (DEFECT == f16_squares) squares = mutant_in_half(squares);
    }
    const double mean = squares / (double)extent;
    const double root = DEFECT == eps_outside ? sqrt(mean) + eps : sqrt(mean + eps);
    for (int64_t n = 0; n < extent; ++n) {
      double factor = mutant_has(gamma) ? mutant_load(gamma, mutant_offset(gamma, 0, 0, 0, n)) : 1;
      if (DEFECT == gamma_plus_1 && mutant_has(gamma)) factor += 1;
      mutant_store(y, mutant_offset(y, 0, 0, r, n),
                   mutant_load(x, mutant_offset(x, 0, 0, r, n)) / root * factor);
    }
  }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  if (DEFECT == f16_correct || DEFECT == f16_squares)
    return mutant_plugin_of_f16(plugin, MUTANT, "rms_norm", run);
  return mutant_plugin(plugin, MUTANT, "rms_norm", mutant_can_run_reals, run);
}
