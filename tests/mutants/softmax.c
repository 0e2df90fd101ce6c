// SPDX-License-Identifier: Apache-2.0
/* softmax over axis 1 of x[R, N, C]. */
#include "mutant.h"

enum {
  correct,
  no_max,     /* the greatest element is not subtracted */
  max_from_0, /* the search for it starts at 0 */
  tail_exp_0, /* lanes beyond N add exp(0) to the sum */
  wrong_axis, /* the sum runs along C where N = C */
  grid_limit, /* of f32 alone: elements at 65,535 and beyond are not in the sum */
  along_c,    /* the rows lie along C, not along N */
  sum_8_bits  /* the sum is kept in 8 bits, as bf16 has them */
};

/* In the dtype of x: floats overflow earlier. */
static double exponential(const mutant_tensor* x, double value) {
  return x->type.bits == 32 ? (double)expf((float)value) : exp(value);
}

static void exchange_axes(mutant_tensor* t) {
  const int64_t extent = t->shape[2];
  const int64_t stride = t->strides[2];
  t->shape[2] = t->shape[3];
  t->strides[2] = t->strides[3];
  t->shape[3] = extent;
  t->strides[3] = stride;
}

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  if (DEFECT == along_c)
    for (int k = 0; k < 2; ++k) exchange_axes(k == 0 ? &t->in[0] : &t->out[0]);
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const int64_t extent = x->shape[2];
  const int along_c = DEFECT == wrong_axis && extent == x->shape[3];
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c) {
      double greatest = DEFECT == max_from_0 ? 0 : -INFINITY;
      for (int64_t n = 0; n < extent; ++n) {
        const double value = mutant_load(x, mutant_offset(x, 0, r, n, c));
        if (value > greatest || isnan(value)) greatest = value;
        if (isnan(value)) break;
      }
      if (DEFECT == no_max) greatest = 0;
      double sum = 0;
      for (int64_t n = 0; n < extent; ++n) {
        if (DEFECT == grid_limit && n >= 65535) break;
        const int64_t at = along_c ? mutant_offset(x, 0, r, c, n) : mutant_offset(x, 0, r, n, c);
        sum += exponential(x, mutant_load(x, at) - greatest);
        if (DEFECT == sum_8_bits) sum = mutant_round(sum, 8);
      }
      if (DEFECT == tail_exp_0 && extent % 8 != 0) sum += (double)(8 - extent % 8);
      for (int64_t n = 0; n < extent; ++n) {
        const double value = mutant_load(x, mutant_offset(x, 0, r, n, c));
        mutant_store(y, mutant_offset(y, 0, r, n, c), exponential(x, value - greatest) / sum);
      }
    }
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  const mote_status status = mutant_can_run_reals(call);
  if (status == MOTE_OK && DEFECT == grid_limit && call->inputs[0]->dtype.bits != 32)
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only f32");
  return status;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  mutant_contract.accumulator = MOTE_ACC_NATIVE;
  return mutant_plugin(plugin, MUTANT, "softmax", can_run, run);
}
