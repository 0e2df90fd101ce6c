// SPDX-License-Identifier: Apache-2.0
/* sum over axis 1 of x[R, N, C]. */
#include "mutant.h"

enum {
  correct,
  last_block,    /* the last N % 16 elements are skipped if N > 16 */
  stagnates,     /* bf16 is summed in bf16, so that the sum stops growing at 256 times the term */
  empty_leaves,  /* nothing is written if N = 0 */
  int16_sums,    /* integers are summed in 16 bits that saturate */
  float_sums,    /* integers are summed in a float */
  declines_data, /* run declines if an element is negative, after can_run accepted */
  output_32_bits /* i32 only: offsets into y are counted in elements, in 32 bits */
};

static int has_negative(const mutant_tensor* x) {
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t n = 0; n < x->shape[2]; ++n)
      for (int64_t c = 0; c < x->shape[3]; ++c)
        if (mutant_load(x, mutant_offset(x, 0, r, n, c)) < 0) return 1;
  return 0;
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  int64_t extent = x->shape[2];
  if (DEFECT == last_block && extent > 16) extent -= extent % 16;
  if (DEFECT == empty_leaves && extent == 0) return MOTE_OK;
  if (DEFECT == declines_data && has_negative(x))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "negative elements are not summed");
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c) {
      double sum = 0;
      for (int64_t n = 0; n < extent; ++n) {
        sum += mutant_load(x, mutant_offset(x, 0, r, n, c));
        if (DEFECT == stagnates) sum = mutant_round(sum, 8);
        if (DEFECT == float_sums) sum = mutant_round(sum, 24);
        if (DEFECT == int16_sums) sum = fmin(fmax(sum, -32768), 32767);
      }
      const int64_t at = mutant_offset(y, 0, 0, r, c);
      mutant_store(y, DEFECT == output_32_bits ? mutant_in_int(at) : at, sum);
    }
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  mutant_call t;
  if (DEFECT != int16_sums && DEFECT != output_32_bits && DEFECT != stagnates &&
      DEFECT != float_sums)
    return mutant_can_run_reals(call);
  const mote_status status = mutant_open_call(call, &t);
  if (status == MOTE_OK && DEFECT == stagnates && t.in[0].type.code != kDLBfloat)
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only bf16 on the CPU");
  if (DEFECT == stagnates) return status;
  if (status == MOTE_OK && (t.in[0].type.code != kDLInt || t.in[0].type.bits != 32))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only i32 on the CPU");
  return status;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "sum", can_run, run);
}
