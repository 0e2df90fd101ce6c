// SPDX-License-Identifier: Apache-2.0
/* reduce_max, logsumexp, var, norm2 and mean over axis 1 of x[R, N, C]; OP selects one. */
#include <float.h>

#include "mutant.h"

enum {
  correct,
  starts_lowest,   /* a maximum starts at the least finite float, not at -inf */
  maximum_missing, /* the maximum is not subtracted before exp, in floats */
  masked_nan,      /* the maximum is subtracted even if it is -inf */
  block_rescaled,  /* blocks of 1,024: the partial sum is not rescaled when the maximum grows */
  block_counts,    /* blocks of 1,024 are merged as if each were full */
  count_16_bits,   /* N is kept in 16 bits */
  f16_correct,     /* f16, with squares summed in float as promised */
  f16_squares      /* f16, with squares in f16, where they overflow */
};

enum { kBlock = 1024 };

typedef struct {
  const mutant_tensor* x;
  int64_t r, c, extent;
} mutant_row;

static double element(const mutant_row* row, int64_t n) {
  return mutant_load(row->x, mutant_offset(row->x, 0, row->r, n, row->c));
}

static double maximum(const mutant_row* row, int64_t from, int64_t to) {
  double greatest = DEFECT == starts_lowest ? -FLT_MAX : -INFINITY;
  for (int64_t n = from; n < to; ++n) {
    const double value = element(row, n);
    if (value > greatest || isnan(value)) greatest = value;
    if (isnan(value)) break;
  }
  return greatest;
}

static double logsumexp(const mutant_row* row) {
  double greatest = -INFINITY;
  double sum = 0;
  const int64_t block = DEFECT == block_rescaled ? kBlock : row->extent + 1;
  for (int64_t from = 0; from < row->extent; from += block) {
    const int64_t to = from + block < row->extent ? from + block : row->extent;
    const double here = maximum(row, from, to);
    if (here > greatest || isnan(here)) greatest = here;
    const int subtracts = DEFECT != maximum_missing && (!isinf(greatest) || DEFECT == masked_nan);
    const double less = subtracts ? greatest : 0;
    for (int64_t n = from; n < to; ++n) {
      const double value = element(row, n) - less;
      sum += DEFECT == maximum_missing ? (double)expf((float)value) : exp(value);
    }
  }
  const int adds = DEFECT != maximum_missing && !isinf(greatest);
  return (adds ? greatest : 0) + log(sum);
}

static double sum_of(const mutant_row* row, int64_t from, int64_t to, double less, int squared) {
  double sum = 0;
  for (int64_t n = from; n < to; ++n) {
    const double value = element(row, n) - less;
    const double term = squared ? value * value : value;
    sum += DEFECT == f16_squares ? mutant_in_half(term) : term;
  }
  return sum;
}

/* Merges each block's mean and squares into those before it. */
static double variance(const mutant_row* row, double correction) {
  double mean = 0;
  double squares = 0;
  double count = 0;
  for (int64_t from = 0; from < row->extent; from += kBlock) {
    const int64_t to = from + kBlock < row->extent ? from + kBlock : row->extent;
    const double own = (double)(to - from);
    const double own_mean = sum_of(row, from, to, 0, 0) / own;
    const double taken = DEFECT == block_counts && from > 0 ? kBlock : own;
    const double apart = own_mean - mean;
    squares += sum_of(row, from, to, own_mean, 1);
    if (count > 0) squares += apart * apart * (count * (taken / (count + taken)));
    mean += apart * taken / (count + taken);
    count += taken;
  }
  return squares / fmax((double)row->extent - correction, 0);
}

static double reduced(const mote_call* call, const mutant_row* row) {
  const int64_t n = row->extent;
  if (strcmp(OP, "reduce_max") == 0) return maximum(row, 0, n);
  if (strcmp(OP, "logsumexp") == 0) return logsumexp(row);
  if (strcmp(OP, "var") == 0) return variance(row, mutant_param(call, "correction", 1));
  if (strcmp(OP, "norm2") == 0) return sqrt(sum_of(row, 0, n, 0, 1));
  return sum_of(row, 0, n, 0, 0) / (double)(DEFECT == count_16_bits ? (uint16_t)n : n);
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c) {
      const mutant_row row = {x, r, c, x->shape[2]};
      mutant_store(y, mutant_offset(y, 0, 0, r, c), reduced(call, &row));
    }
  return MOTE_OK;
}

/* The defects that compute in floats take only f32. */
static mote_status can_run(const mote_call* call) {
  if (DEFECT == maximum_missing &&
      (call->inputs[0]->dtype.code != kDLFloat || call->inputs[0]->dtype.bits != 32))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only f32 on the CPU");
  return mutant_can_run_reals(call);
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  if (DEFECT == f16_correct || DEFECT == f16_squares)
    return mutant_plugin_of_f16(plugin, MUTANT, OP, run);
  return mutant_plugin(plugin, MUTANT, OP, can_run, run);
}
