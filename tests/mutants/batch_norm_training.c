// SPDX-License-Identifier: Apache-2.0
/* batch_norm_training of x[N, C, S], computed one channel at a time. */
#include "mutant.h"

enum {
  correct,
  running_unbiased, /* running_var always uses the divisor N*S - 1 */
  running_biased,   /* running_var always uses the divisor N*S */
  momentum_side,    /* momentum is the share of the new value */
  uses_running      /* x is normalised by the given running statistics */
};

typedef struct {
  double mean, var, count;
} statistics;

static statistics of_channel(const mutant_tensor* x, int64_t c) {
  statistics s = {0, 0, (double)(x->shape[1] * x->shape[3])};
  for (int64_t n = 0; n < x->shape[1]; ++n)
    for (int64_t k = 0; k < x->shape[3]; ++k)
      s.mean += mutant_load(x, mutant_offset(x, 0, n, c, k));
  s.mean /= s.count;
  for (int64_t n = 0; n < x->shape[1]; ++n)
    for (int64_t k = 0; k < x->shape[3]; ++k) {
      const double d = mutant_load(x, mutant_offset(x, 0, n, c, k)) - s.mean;
      s.var += d * d;
    }
  s.var /= s.count;
  return s;
}

/* Returns 0 if only the shape is given, when no wanted output needs the value. */
static double at(const mutant_tensor* t, int64_t c) {
  return t->data != NULL ? mutant_load(t, mutant_offset(t, 0, 0, 0, c)) : 0;
}

static void run_channel(const mote_call* call, const mutant_call* t, int64_t c) {
  const mutant_tensor* x = &t->in[0];
  const statistics s = of_channel(x, c);
  const double inverse = 1 / sqrt(s.var + mutant_param(call, "eps", 1e-5));
  const double given = mutant_param(call, "momentum", 0.9);
  const double kept = DEFECT == momentum_side ? 1 - given : given;
  const int unbiased = DEFECT == running_unbiased ||
                       (DEFECT != running_biased && mutant_integer(call, "unbiased", 0) != 0);
  const double moved = unbiased && s.count > 1 ? s.var * s.count / (s.count - 1) : s.var;
  const double values[4] = {at(&t->in[3], c) * kept + s.mean * (1 - kept),
                            at(&t->in[4], c) * kept + moved * (1 - kept), s.mean, inverse};
  for (int k = 0; k < 4; ++k)
    if (mutant_has(&t->out[1 + k]))
      mutant_store(&t->out[1 + k], mutant_offset(&t->out[1 + k], 0, 0, 0, c), values[k]);
  const mutant_tensor* y = &t->out[0];
  if (!mutant_has(y)) return;
  const double mean = DEFECT == uses_running ? at(&t->in[3], c) : s.mean;
  for (int64_t n = 0; n < x->shape[1]; ++n)
    for (int64_t k = 0; k < x->shape[3]; ++k) {
      const double d = mutant_load(x, mutant_offset(x, 0, n, c, k)) - mean;
      mutant_store(y, mutant_offset(y, 0, n, c, k),
                   d * inverse * at(&t->in[1], c) + at(&t->in[2], c));
    }
}

static mote_status run(const mote_call* call, mutant_call* t) {
  for (int64_t c = 0; c < t->in[0].shape[2]; ++c) run_channel(call, t, c);
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "batch_norm_training", mutant_can_run_reals, run);
}
