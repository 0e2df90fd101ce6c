// SPDX-License-Identifier: Apache-2.0
/* add, mul, max and mod of a and b, whose axes of extent 1 repeat; OP selects one. */
#include "mutant.h"

enum {
  correct,
  wrong_side,   /* an operand that repeats along the last axis repeats along the one before, if
                   both have the same extent */
  saturates,    /* integers of 8 bits saturate */
  tail_twice,   /* the last vector of 8 is moved back into the row, over elements that are already
                   done */
  nan_dropped,  /* the other operand wins over NaN */
  sign_of_a,    /* mod has the sign of the dividend, as fmod has */
  bytes_32_bits /* offsets into b are counted in bytes, in 32 unsigned bits */
};

static double modulo(double a, double b) {
  const double rest = fmod(a, b);
  const int moves = rest != 0 && (rest < 0) != (b < 0) && DEFECT != sign_of_a;
  return moves ? rest + b : rest;
}

static double apply(double a, double b) {
  if (strcmp(OP, "add") == 0) return a + b;
  if (strcmp(OP, "mul") == 0) return a * b;
  if (strcmp(OP, "mod") == 0) return modulo(a, b);
  if (DEFECT == nan_dropped) return fmax(a, b);
  return isnan(a) || a > b ? a : b;
}

static void repeat(mutant_tensor* t, const mutant_tensor* y) {
  for (int axis = 0; axis < kMaxRank; ++axis)
    if (t->shape[axis] == 1 && y->shape[axis] != 1) t->strides[axis] = 0;
  const int column = t->shape[3] == 1 && t->shape[2] > 1 && t->shape[2] == y->shape[3];
  if (DEFECT != wrong_side || !column) return;
  t->strides[3] = t->strides[2];
  t->strides[2] = 0;
}

static void run_row(const mutant_tensor* a, const mutant_tensor* b, const mutant_tensor* y,
                    int64_t i, int64_t j, int64_t k, int64_t from) {
  for (int64_t l = from; l < y->shape[3]; ++l) {
    int64_t from_b = mutant_offset(b, i, j, k, l);
    if (DEFECT == bytes_32_bits) from_b = mutant_in_bytes(b, from_b);
    double value = apply(mutant_load(a, mutant_offset(a, i, j, k, l)), mutant_load(b, from_b));
    if (DEFECT == saturates && y->type.code == kDLInt && y->type.bits == 8)
      value = fmin(fmax(value, -128), 127);
    mutant_store(y, mutant_offset(y, i, j, k, l), value);
  }
}

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  mutant_tensor* a = &t->in[0];
  mutant_tensor* b = &t->in[1];
  mutant_tensor* y = &t->out[0];
  repeat(a, y);
  repeat(b, y);
  const int64_t extent = y->shape[3];
  const int64_t done = extent - extent % 8;
  for (int64_t i = 0; i < y->shape[0]; ++i)
    for (int64_t j = 0; j < y->shape[1]; ++j)
      for (int64_t k = 0; k < y->shape[2]; ++k) {
        run_row(a, b, y, i, j, k, 0);
        if (DEFECT != tail_twice || extent <= 8 || done == extent) continue;
        mutant_tensor overlap = *y; /* the lanes of the last vector that were done before */
        overlap.shape[3] = done;
        run_row(a, b, &overlap, i, j, k, extent - 8);
      }
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  mutant_call t;
  if (DEFECT != saturates) return mutant_can_run_reals(call);
  const mote_status status = mutant_open_call(call, &t);
  if (status == MOTE_OK && (t.in[0].type.code != kDLInt || t.in[0].type.bits != 8))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only i8 on the CPU");
  return status;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  mutant_contract.in_place_count = MOTE_IN_PLACE_ALL;
  return mutant_plugin(plugin, MUTANT, OP, can_run, run);
}
