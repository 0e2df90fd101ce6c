// SPDX-License-Identifier: Apache-2.0
/* cross_entropy of x[R, K, C] and the classes target[R, C]. */
#include "mutant.h"

enum {
  correct,
  smooths_others,  /* smoothing is distributed over the K - 1 classes that are not the target */
  mean_over_all,   /* the mean counts ignored targets too */
  mean_unweighted, /* the mean divides by the number of targets, not by their weights */
  empty_0          /* the mean of no target is 0, not NaN */
};

/* Returns the weight of a class: 1 if there are no weights, 0 for an invalid class. */
static double weight_of(const mutant_call* t, int64_t k) {
  const mutant_tensor* weight = &t->in[2];
  if (!mutant_has(weight)) return 1;
  return k >= 0 && k < weight->shape[3] ? mutant_load(weight, mutant_offset(weight, 0, 0, 0, k))
                                        : 0;
}

/* Computes greatest and rest: log p[k] = x[k] - greatest - log of the sum of exp(x - greatest). */
static void log_softmax(const mutant_tensor* x, int64_t r, int64_t c, double* greatest,
                        double* rest) {
  *greatest = -INFINITY;
  *rest = 0;
  for (int64_t k = 0; k < x->shape[2]; ++k) {
    const double value = mutant_load(x, mutant_offset(x, 0, r, k, c));
    if (value > *greatest || isnan(value)) *greatest = value;
    if (isnan(*greatest)) break;
  }
  for (int64_t k = 0; k < x->shape[2]; ++k)
    *rest += exp(mutant_load(x, mutant_offset(x, 0, r, k, c)) - *greatest);
  *rest = log(*rest);
}

static double loss(const mutant_call* t, int64_t r, int64_t c, int64_t target, double smoothing) {
  const mutant_tensor* x = &t->in[0];
  const int64_t classes = x->shape[2];
  double greatest;
  double rest;
  log_softmax(x, r, c, &greatest, &rest);
  double own = 0;
  double even = 0;
  for (int64_t k = 0; k < classes; ++k) {
    const double log_p = mutant_load(x, mutant_offset(x, 0, r, k, c)) - greatest - rest;
    if (k == target) own = weight_of(t, k) * log_p;
    if (k != target || DEFECT != smooths_others) even += weight_of(t, k) * log_p;
  }
  if (smoothing == 0) return -own;
  const double shared = (double)(DEFECT == smooths_others ? classes - 1 : classes);
  return -(1 - smoothing) * own - smoothing * (even / shared);
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const int64_t ignored = mutant_integer(call, "ignore_index", -100);
  const double smoothing = mutant_param(call, "smoothing", 0);
  double sum = 0;
  double counts = 0;
  for (int64_t r = 0; r < t->in[0].shape[1]; ++r)
    for (int64_t c = 0; c < t->in[0].shape[3]; ++c) {
      const int64_t target = mutant_index(&t->in[1], mutant_offset(&t->in[1], 0, 0, r, c));
      if (target == ignored) {
        if (DEFECT == mean_over_all) counts += 1;
        continue;
      }
      sum += loss(t, r, c, target, smoothing);
      counts += DEFECT == mean_unweighted ? 1 : weight_of(t, target);
    }
  const double divisor = mutant_integer(call, "mean", 1) != 0 ? counts : 1;
  mutant_store(&t->out[0], 0, DEFECT == empty_0 && divisor == 0 ? 0 : sum / divisor);
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "cross_entropy", mutant_can_run_reals, run);
}
