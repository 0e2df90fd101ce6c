// SPDX-License-Identifier: Apache-2.0
/* adam: one step of w with the states m and v. */
#include "mutant.h"

enum {
  correct,
  bias_uncorrected, /* v is not divided by 1 - beta2^step */
  decay_decoupled,  /* weight_decay shrinks w instead of adding to the gradient */
  eps_corrected     /* eps is added before the root is corrected for its bias */
};

static mote_status run(const mote_call* call, mutant_call* t) {
  const double step = mutant_param(call, "step", 1);
  const double lr = mutant_param(call, "lr", 1e-3);
  const double beta1 = mutant_param(call, "beta1", 0.9);
  const double beta2 = mutant_param(call, "beta2", 0.999);
  const double eps = mutant_param(call, "eps", 1e-8);
  const double decay = mutant_param(call, "weight_decay", 0);
  for (int64_t n = 0; n < t->in[0].shape[3]; ++n) {
    double value[4];
    for (int k = 0; k < 4; ++k)
      value[k] = mutant_load(&t->in[k], mutant_offset(&t->in[k], 0, 0, 0, n));
    const double w = DEFECT == decay_decoupled ? value[0] * (1 - lr * decay) : value[0];
    const double g = DEFECT == decay_decoupled ? value[1] : value[1] + decay * value[0];
    const double m = beta1 * value[2] + (1 - beta1) * g;
    const double v = beta2 * value[3] + (1 - beta2) * g * g;
    const double corrected = DEFECT == bias_uncorrected ? v : v / (1 - pow(beta2, step));
    const double divisor = DEFECT == eps_corrected ? (sqrt(v) + eps) / sqrt(1 - pow(beta2, step))
                                                   : sqrt(corrected) + eps;
    const double next[3] = {w - lr * (m / (1 - pow(beta1, step))) / divisor, m, v};
    for (int k = 0; k < 3; ++k)
      if (mutant_has(&t->out[k]))
        mutant_store(&t->out[k], mutant_offset(&t->out[k], 0, 0, 0, n), next[k]);
  }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "adam", mutant_can_run_reals, run);
}
