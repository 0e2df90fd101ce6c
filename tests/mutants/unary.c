// SPDX-License-Identifier: Apache-2.0
/* gelu, cast_bf16, softplus, log1p, round, neg and relu of x; OP selects one. */
#include "mutant.h"

enum {
  correct,
  tanh_formula,   /* gelu by the approximation with tanh */
  truncates,      /* the lower half of a float's bits is dropped */
  overflows,      /* softplus as log(1 + exp(x)), in floats */
  cancels,        /* log1p as log(1 + x), in floats */
  half_away,      /* halves are rounded away from 0 */
  offset_32_bits, /* offsets into x are counted in elements, in 32 bits */
  stops_at_nan    /* in a vector of 8, elements after a NaN are copied */
};

static double gelu(double x) {
  const double cubic = sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  if (DEFECT == tanh_formula) return x / 2 * (1 + tanh(cubic));
  return x / 2 * (1 + erf(x / sqrt(2.0)));
}

static double apply(double x) {
  if (strcmp(OP, "gelu") == 0) return gelu(x);
  if (strcmp(OP, "softplus") == 0)
    return DEFECT == overflows ? (double)logf(1 + expf((float)x))
                               : fmax(x, 0) + log1p(exp(-fabs(x)));
  if (strcmp(OP, "log1p") == 0) return DEFECT == cancels ? (double)logf(1 + (float)x) : log1p(x);
  if (strcmp(OP, "round") == 0) return DEFECT == half_away ? round(x) : nearbyint(x);
  if (strcmp(OP, "neg") == 0) return -x;
  if (strcmp(OP, "relu") == 0) return x > 0 || isnan(x) ? x : 0;
  return x;
}

/* True if an element before it in its vector of 8 is a NaN. */
static int follows_nan(const mutant_tensor* x, int64_t i, int64_t j, int64_t k, int64_t l) {
  for (int64_t before = l - l % 8; before < l; ++before)
    if (isnan(mutant_load(x, mutant_offset(x, i, j, k, before)))) return 1;
  return 0;
}

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  for (int64_t i = 0; i < y->shape[0]; ++i)
    for (int64_t j = 0; j < y->shape[1]; ++j)
      for (int64_t k = 0; k < y->shape[2]; ++k)
        for (int64_t l = 0; l < y->shape[3]; ++l) {
          const int64_t from = mutant_offset(x, i, j, k, l);
          const double value =
              mutant_load(x, DEFECT == offset_32_bits ? mutant_in_int(from) : from);
          const int64_t at = mutant_offset(y, i, j, k, l);
          if (DEFECT == stops_at_nan && follows_nan(x, i, j, k, l))
            mutant_store(y, at, value);
          else if (DEFECT == truncates && !isnan(value))
            ((uint16_t*)y->data)[at] = mutant_upper_half((float)value);
          else
            mutant_store(y, at, apply(value));
        }
  return MOTE_OK;
}

/* The defects that compute in floats take only f32. */
static mote_status can_run(const mote_call* call) {
  const int narrow = DEFECT == overflows || DEFECT == cancels;
  if (narrow && (call->inputs[0]->dtype.code != kDLFloat || call->inputs[0]->dtype.bits != 32))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only f32 on the CPU");
  return mutant_can_run_reals(call);
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, OP, can_run, run);
}
