// SPDX-License-Identifier: Apache-2.0
/* gather: y[r, i, c] = x[r, index[i], c]; a negative index counts from the end, others out of
 * range give 0. */
#include "mutant.h"

enum {
  correct,
  index_32_bits,    /* the index is truncated to 32 bits */
  negative_wraps,   /* a negative index reads the previous r */
  range_unchecked,  /* an index beyond the end reads the last row */
  negative_clamped, /* a negative index reads the first row */
  negative_taken,   /* a negative index is not counted from the end: it reads the memory before */
  row_32_bits,      /* the offset of a row is counted in elements, in 32 bits */
  valid_correct,    /* takes valid indices only, and checks none */
  valid_last,       /* like valid_correct, but reads the last but one row instead of the last */
  valid_negative,   /* like valid_correct, but a negative index counts from the last but one row */
  positive_correct, /* takes valid indices only that are not negative */
  positive_last     /* like positive_correct, but reads the last but one row instead of the last */
};

enum {
  is_for_valid = DEFECT >= valid_correct,
  is_for_positive = DEFECT >= positive_correct,
  skips_last = DEFECT == valid_last || DEFECT == positive_last
};

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* index = &t->in[1];
  const mutant_tensor* y = &t->out[0];
  const int64_t extent = x->shape[2];
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t i = 0; i < y->shape[2]; ++i) {
      int64_t row = r;
      int64_t at = mutant_index(index, mutant_offset(index, 0, 0, 0, i));
      if (DEFECT == index_32_bits) at = (int32_t)at;
      if (at < 0 && DEFECT == negative_clamped) at = 0;
      if (at < 0 && DEFECT == negative_taken) {
        const int64_t flat = at >= -r * extent ? r * extent + at : -1;
        row = flat >= 0 ? flat / extent : r;
        at = flat >= 0 ? flat % extent : extent;
      } else if (at < 0 && !is_for_positive) {
        at += extent - (DEFECT == valid_negative);
        if (DEFECT == negative_wraps && r > 0) --row;
      }
      if (DEFECT == range_unchecked && at >= extent) at = extent - 1;
      if (skips_last && at == extent - 1 && extent > 1) --at;
      const int inside = is_for_valid || (at >= 0 && at < extent);
      int64_t begin = mutant_offset(x, 0, row, at, 0);
      if (DEFECT == row_32_bits) begin = mutant_in_int(begin);
      for (int64_t c = 0; c < y->shape[3]; ++c)
        mutant_store(y, mutant_offset(y, 0, r, i, c),
                     inside ? mutant_load(x, begin + c * x->strides[3]) : 0);
    }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  if (is_for_valid)
    mutant_contract.indices =
        is_for_positive ? MOTE_INDICES_VALID | MOTE_INDICES_NOT_NEGATIVE : MOTE_INDICES_VALID;
  return mutant_plugin(plugin, MUTANT, "gather", mutant_can_run_reals, run);
}
