// SPDX-License-Identifier: Apache-2.0
/* matmul: y[p,q,m,n] = sum_k a[p,q,m,k] b[p,q,k,n]; batch axes of extent 1 repeat. */
#include "mutant.h"

enum {
  correct,
  batch_stale, /* b is read at batch 0 for every batch, as if its pointer were never advanced */
  batch_wraps, /* the batch is counted in 16 bits */
  last_k,      /* the last term of each sum is never added */
  f16_correct, /* f16 is summed in float, as promised */
  f16_sums,    /* f16 is summed in f16 */
  rank_3_left  /* the batch axis of an operand of rank 3 is taken as the first of two */
};

static double element(const mutant_tensor* a, const mutant_tensor* b, int64_t p, int64_t q,
                      int64_t m, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < a->shape[3] - (DEFECT == last_k); ++k) {
    sum +=
        mutant_load(a, mutant_offset(a, p, q, m, k)) * mutant_load(b, mutant_offset(b, p, q, k, n));
    if (DEFECT == f16_correct) sum = (double)(float)sum;
    if (DEFECT == f16_sums) sum = mutant_in_half(sum);
  }
  return sum;
}

/* Exchanges the batch axes if the result has equal extents; otherwise the shapes would not fit. */
static void exchange_batches(mutant_tensor* t, const mutant_tensor* y) {
  if (y->shape[0] != y->shape[1]) return;
  const int64_t stride = t->strides[0];
  t->strides[0] = t->strides[1];
  t->strides[1] = stride;
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* y = &t->out[0];
  for (int k = 0; k < 2; ++k)
    for (int axis = 0; axis < 2; ++axis)
      if (t->in[k].shape[axis] == 1 || (DEFECT == batch_stale && k == 1))
        t->in[k].strides[axis] = 0;
  for (int k = 0; k < 2 && DEFECT == rank_3_left; ++k)
    if (call->inputs[k]->ndim == 3) exchange_batches(&t->in[k], y);
  const int64_t batches = y->shape[0] * y->shape[1];
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t read = DEFECT == batch_wraps ? batch % 65536 : batch;
    for (int64_t m = 0; m < y->shape[2]; ++m)
      for (int64_t n = 0; n < y->shape[3]; ++n)
        mutant_store(y, mutant_offset(y, batch / y->shape[1], batch % y->shape[1], m, n),
                     element(&t->in[0], &t->in[1], read / y->shape[1], read % y->shape[1], m, n));
  }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  if (DEFECT == f16_correct || DEFECT == f16_sums)
    return mutant_plugin_of_f16(plugin, MUTANT, "matmul", run);
  return mutant_plugin(plugin, MUTANT, "matmul", mutant_can_run_reals, run);
}
