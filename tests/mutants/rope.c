// SPDX-License-Identifier: Apache-2.0
/* rope: turns the pairs of x[B, H, T, 2, P] by angles that grow with the position. */
#include "mutant.h"

enum {
  correct,
  other_pairs,    /* elements 2p and 2p + 1 of a row are a pair, not p and p + P */
  offset_ignored, /* positions begin at 0 */
  half_exponent   /* frequencies are base^(-p / 2P) */
};

/* Opens batch b of a tensor of rank 5 as a tensor of rank 4. */
static int open_batch(const DLTensor* t, int64_t b, mutant_tensor* to) {
  DLTensor batch = *t;
  int64_t elements = 1;
  for (int axis = 1; axis < 5; ++axis) elements *= t->shape[axis];
  const int64_t stride = t->strides != NULL ? t->strides[0] : elements;
  batch.ndim = 4;
  batch.shape = t->shape + 1;
  batch.strides = t->strides != NULL ? t->strides + 1 : NULL;
  if (batch.data != NULL) batch.data = (char*)batch.data + b * stride * (t->dtype.bits / 8);
  return mutant_open(&batch, to);
}

/* Returns the offset of element e of [0, 2P) of a row. */
static int64_t offset(const mutant_tensor* t, int64_t h, int64_t row, int64_t e) {
  return mutant_offset(t, h, row, e / t->shape[3], e % t->shape[3]);
}

static void turn(const mote_call* call, const mutant_tensor* x, const mutant_tensor* y, int64_t h,
                 int64_t row) {
  const int64_t pairs = x->shape[3];
  const double base = mutant_param(call, "base", 10000);
  const double at = (double)row + (DEFECT == offset_ignored ? 0 : mutant_param(call, "offset", 0));
  for (int64_t p = 0; p < pairs; ++p) {
    const int64_t width = DEFECT == half_exponent ? 2 * pairs : pairs;
    const double angle = at * pow(base, -(double)p / (double)width);
    const int64_t first = DEFECT == other_pairs ? 2 * p : p;
    const int64_t second = DEFECT == other_pairs ? 2 * p + 1 : p + pairs;
    const double a = mutant_load(x, offset(x, h, row, first));
    const double b = mutant_load(x, offset(x, h, row, second));
    mutant_store(y, offset(y, h, row, first), a * cos(angle) - b * sin(angle));
    mutant_store(y, offset(y, h, row, second), b * cos(angle) + a * sin(angle));
  }
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  for (int64_t b = 0; b < call->inputs[0]->shape[0]; ++b) {
    mutant_tensor x;
    mutant_tensor y;
    if (open_batch(call->inputs[0], b, &x) != 0 || open_batch(call->outputs[0], b, &y) != 0)
      return MOTE_UNSUPPORTED;
    for (int64_t h = 0; h < x.shape[0]; ++h)
      for (int64_t row = 0; row < x.shape[1]; ++row) turn(call, &x, &y, h, row);
  }
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  mutant_tensor x;
  const int refused = open_batch(call->inputs[0], 0, &x) != 0 || !mutant_is_f32_or_f64(x.type);
  return refused ? mutant_refuse(call, MOTE_UNSUPPORTED, "only f32 and f64 on the CPU") : MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin_running(plugin, MUTANT, "rope", can_run, run);
}
