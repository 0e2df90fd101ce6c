// SPDX-License-Identifier: Apache-2.0
/* index_add: y = x, then y[r, index[i], c] += alpha * updates[r, i, c]; sums are doubles. */
#include "mutant.h"

enum {
  correct,
  duplicates_race, /* 4 updates are loaded before the first of them is stored */
  last_stays       /* of updates to one element only the last is added */
};

enum { kLanes = 4 };

static int64_t target(const mutant_tensor* index, int64_t i, int64_t extent) {
  const int64_t at = mutant_index(index, mutant_offset(index, 0, 0, 0, i));
  const int64_t from_end = at < 0 ? at + extent : at;
  return from_end >= 0 && from_end < extent ? from_end : -1;
}

static double total(const mutant_call* t, double alpha, int64_t r, int64_t n, int64_t c) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* updates = &t->in[2];
  double sum = mutant_load(x, mutant_offset(x, 0, r, n, c));
  double loaded = sum;
  for (int64_t i = 0; i < updates->shape[2]; ++i) {
    if (i % kLanes == 0 && DEFECT == duplicates_race) loaded = sum;
    if (target(&t->in[1], i, x->shape[2]) != n) continue;
    const double update = alpha * mutant_load(updates, mutant_offset(updates, 0, r, i, c));
    sum = (DEFECT == correct ? sum : loaded) + update;
  }
  return sum;
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* y = &t->out[0];
  const double alpha = mutant_param(call, "alpha", 1);
  for (int64_t r = 0; r < y->shape[1]; ++r)
    for (int64_t n = 0; n < y->shape[2]; ++n)
      for (int64_t c = 0; c < y->shape[3]; ++c)
        mutant_store(y, mutant_offset(y, 0, r, n, c), total(t, alpha, r, n, c));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "index_add", mutant_can_run_reals, run);
}
