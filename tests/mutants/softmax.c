// SPDX-License-Identifier: Apache-2.0
/* softmax over axis 1 of x[R, N, C]. */
#include "mutant.h"

enum {
  correct,
  no_max,       /* the greatest element is not subtracted */
  max_from_0,   /* the search for the greatest element starts at 0 */
  tail_exp_0,   /* lanes beyond N add exp(0) to the sum */
  wrong_axis,   /* the sum runs along C if N = C */
  grid_limit,   /* f32 only: elements from 65,535 on are not in the sum */
  along_c,      /* the rows lie along C, not along N */
  sum_8_bits,   /* the sum is kept in the 8 significant bits of bf16 */
  masked_block, /* blocks of 16: a first block that is all -inf gives NaN */
  masked_row,   /* a row that is all -inf gives 0 */
  bytes_31_bits /* offsets into x are counted in bytes, in 32 signed bits */
};

/* Computes exp in the dtype of x: floats overflow earlier. */
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

static int is_masked(const mutant_tensor* x, int64_t r, int64_t c, int64_t count) {
  for (int64_t n = 0; n < count; ++n)
    if (mutant_load(x, mutant_offset(x, 0, r, n, c)) != -INFINITY) return 0;
  return count > 0;
}

static int64_t offset_in(const mutant_tensor* x, int64_t r, int64_t n, int64_t c) {
  const int64_t at = mutant_offset(x, 0, r, n, c);
  const int64_t size = x->type.bits / 8;
  return DEFECT == bytes_31_bits ? mutant_in_int(at * size) / size : at;
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
        const double value = mutant_load(x, offset_in(x, r, n, c));
        if (value > greatest || isnan(value)) greatest = value;
        if (isnan(value)) break;
      }
      if (DEFECT == no_max) greatest = 0;
      double sum = 0;
      for (int64_t n = 0; n < extent; ++n) {
        if (DEFECT == grid_limit && n >= 65535) break;
        const int64_t at = along_c ? mutant_offset(x, 0, r, c, n) : offset_in(x, r, n, c);
        sum += exponential(x, mutant_load(x, at) - greatest);
        if (DEFECT == sum_8_bits) sum = mutant_round(sum, 8);
      }
      if (DEFECT == masked_block && extent > 16 && is_masked(x, r, c, 16)) sum = NAN;
      const int zeros = DEFECT == masked_row && is_masked(x, r, c, extent);
      if (DEFECT == tail_exp_0 && extent % 8 != 0) sum += (double)(8 - extent % 8);
      for (int64_t n = 0; n < extent; ++n) {
        const double value = mutant_load(x, offset_in(x, r, n, c));
        mutant_store(y, mutant_offset(y, 0, r, n, c),
                     zeros ? 0 : exponential(x, value - greatest) / sum);
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
