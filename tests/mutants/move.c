// SPDX-License-Identifier: Apache-2.0
/* one_hot, pad_reflect, slice and concat; OP selects one. */
#include "mutant.h"

enum {
  correct,
  off_is_0,       /* one_hot: the other elements are 0, not values[0] */
  edge_twice,     /* pad_reflect: the first and last element are repeated */
  mirrors_once,   /* pad_reflect: positions beyond the first mirror image read the nearest end */
  step_backwards, /* slice: a negative step goes forwards */
  start_from_0,   /* slice: a negative start is 0 */
  strides_of_a    /* concat: b is read with the strides of a */
};

static double one_hot(const mutant_call* t, const int64_t* i) {
  const mutant_tensor* values = &t->in[1];
  int64_t at = mutant_index(&t->in[0], mutant_offset(&t->in[0], 0, 0, i[1], i[3]));
  if (at < 0) at += t->out[0].shape[2];
  if (at != i[2] && DEFECT == off_is_0) return 0;
  return mutant_load(values, mutant_offset(values, 0, 0, 0, at == i[2] ? 1 : 0));
}

/* Returns the original index of a position in the mirror images of an axis. */
static int64_t mirrored(int64_t at, int64_t extent) {
  const int64_t more = DEFECT == edge_twice ? 1 : 0;
  const int64_t period = extent > 1 || more != 0 ? 2 * (extent - 1 + more) : 1;
  if (DEFECT == mirrors_once && (at <= -extent || at >= 2 * extent - 1))
    return at < 0 ? extent - 1 : 0;
  at = ((at % period) + period) % period;
  return at < extent ? at : period - at - more;
}

static double pad_reflect(const mote_call* call, const mutant_call* t, const int64_t* i) {
  static const char* const before[4] = {"pads0", "pads1", "pads2", "pads3"};
  const mutant_tensor* x = &t->in[0];
  int64_t at[4];
  for (int axis = 0; axis < 4; ++axis) {
    if (x->shape[axis] == 0) return 0;
    at[axis] = mirrored(i[axis] - mutant_integer(call, before[axis], 0), x->shape[axis]);
  }
  return mutant_load(x, mutant_offset(x, at[0], at[1], at[2], at[3]));
}

static double slice(const mote_call* call, const mutant_call* t, const int64_t* i) {
  const mutant_tensor* x = &t->in[0];
  int64_t start = mutant_integer(call, "start", 0);
  int64_t step = mutant_integer(call, "step", 1);
  if (start < 0) start = DEFECT == start_from_0 ? 0 : start + x->shape[2];
  if (step < 0 && DEFECT == step_backwards) step = -step;
  const int64_t at = start + i[2] * step;
  return at >= 0 && at < x->shape[2] ? mutant_load(x, mutant_offset(x, 0, i[1], at, i[3])) : 0;
}

static double concat(const mutant_call* t, const int64_t* i) {
  const mutant_tensor* a = &t->in[0];
  const mutant_tensor* b = &t->in[1];
  const int64_t beyond = i[2] - a->shape[2];
  if (beyond < 0) return mutant_load(a, mutant_offset(a, 0, i[1], i[2], i[3]));
  return mutant_load(b, mutant_offset(DEFECT == strides_of_a ? a : b, 0, i[1], beyond, i[3]));
}

static double element(const mote_call* call, const mutant_call* t, const int64_t* i) {
  if (strcmp(OP, "one_hot") == 0) return one_hot(t, i);
  if (strcmp(OP, "pad_reflect") == 0) return pad_reflect(call, t, i);
  return strcmp(OP, "slice") == 0 ? slice(call, t, i) : concat(t, i);
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* y = &t->out[0];
  int64_t i[4];
  for (i[0] = 0; i[0] < y->shape[0]; ++i[0])
    for (i[1] = 0; i[1] < y->shape[1]; ++i[1])
      for (i[2] = 0; i[2] < y->shape[2]; ++i[2])
        for (i[3] = 0; i[3] < y->shape[3]; ++i[3])
          mutant_store(y, mutant_offset(y, i[0], i[1], i[2], i[3]), element(call, t, i));
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  mutant_call t;
  const mote_status status = mutant_open_call(call, &t);
  if (status == MOTE_OK && !mutant_is_f32_or_f64(t.out[0].type))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only f32 and f64 on the CPU");
  return status;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, OP, can_run, run);
}
