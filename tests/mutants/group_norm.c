// SPDX-License-Identifier: Apache-2.0
/* group_norm of x[N, G*CG, S]: each group of channels of an image has its mean and variance. */
#include "mutant.h"

enum {
  correct,
  gamma_in_group /* gamma is read at the channel's index within its group */
};

static double optional(const mutant_tensor* t, int64_t at, double missing) {
  return mutant_has(t) ? mutant_load(t, mutant_offset(t, 0, 0, 0, at)) : missing;
}

static void normalise(const mutant_call* t, int64_t n, int64_t first, int64_t channels,
                      double eps) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const double count = (double)(channels * x->shape[3]);
  double mean = 0;
  double var = 0;
  for (int pass = 0; pass < 2; ++pass)
    for (int64_t c = first; c < first + channels; ++c)
      for (int64_t s = 0; s < x->shape[3]; ++s) {
        const double value = mutant_load(x, mutant_offset(x, 0, n, c, s));
        if (pass == 0)
          mean += value / count;
        else
          var += (value - mean) * (value - mean) / count;
      }
  for (int64_t c = first; c < first + channels; ++c)
    for (int64_t s = 0; s < x->shape[3]; ++s) {
      const double value = mutant_load(x, mutant_offset(x, 0, n, c, s));
      const int64_t g = DEFECT == gamma_in_group ? c - first : c;
      mutant_store(
          y, mutant_offset(y, 0, n, c, s),
          (value - mean) / sqrt(var + eps) * optional(&t->in[1], g, 1) + optional(&t->in[2], c, 0));
    }
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const int64_t groups = mutant_integer(call, "groups", 1);
  const int64_t channels = t->in[0].shape[2] / groups;
  for (int64_t n = 0; n < t->in[0].shape[1]; ++n)
    for (int64_t g = 0; g < groups; ++g)
      normalise(t, n, g * channels, channels, mutant_param(call, "eps", 1e-5));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "group_norm", mutant_can_run_reals, run);
}
