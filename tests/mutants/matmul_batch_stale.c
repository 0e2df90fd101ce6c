/* Defect: b is read at batch 0 for every batch, as if its pointer were never advanced. */
#include "mutant.h"

typedef struct {
  mutant_tensor a, b, y;
} batched;

static mote_status open_call(const mote_call* call, batched* t) {
  if (call->input_count != 2 || call->output_count != 1 || mutant_open(call->inputs[0], &t->a) ||
      mutant_open(call->inputs[1], &t->b) || mutant_open(call->outputs[0], &t->y))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only stacks of f32 or f64 on the CPU");
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t a = t->a.shape[axis];
    const int64_t b = t->b.shape[axis];
    if ((a != b && a != 1 && b != 1) || t->y.shape[axis] != (a == 1 ? b : a))
      return mutant_refuse(call, MOTE_INVALID, "the batch axes do not fit together");
    if (a == 1) t->a.strides[axis] = 0;
  }
  if (t->a.shape[3] != t->b.shape[2] || t->y.shape[2] != t->a.shape[2] ||
      t->y.shape[3] != t->b.shape[3])
    return mutant_refuse(call, MOTE_INVALID, "the matrices do not fit together");
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  batched t;
  return open_call(call, &t);
}

static double element(const batched* t, int64_t p, int64_t q, int64_t m, int64_t n) {
  double sum = 0;
  for (int64_t k = 0; k < t->a.shape[3]; ++k)
    sum += mutant_load(&t->a, mutant_offset(&t->a, p, q, m, k)) *
           mutant_load(&t->b, mutant_offset(&t->b, 0, 0, k, n));
  return sum;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  batched t;
  const mote_status status = open_call(call, &t);
  if (status != MOTE_OK) return status;
  for (int64_t p = 0; p < t.y.shape[0]; ++p)
    for (int64_t q = 0; q < t.y.shape[1]; ++q)
      for (int64_t m = 0; m < t.y.shape[2]; ++m)
        for (int64_t n = 0; n < t.y.shape[3]; ++n)
          mutant_store(&t.y, mutant_offset(&t.y, p, q, m, n), element(&t, p, q, m, n));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, "matmul_batch_stale", "matmul", can_run, run);
}
