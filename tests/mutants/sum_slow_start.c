// SPDX-License-Identifier: Apache-2.0
/* sum over axis 1 of x[R, N, C] by a library that takes two seconds before its first result in a
 * process, like one that loads an interpreter. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "mutant.h"

enum {
  correct,
  last_term /* the last term of a sum is not added if there are more than 5 */
};

static void start(void) {
  static int is_started = 0;
  const struct timespec time = {2, 0};
  if (!is_started) nanosleep(&time, NULL);
  is_started = 1;
}

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const int64_t extent = x->shape[2] - (DEFECT == last_term && x->shape[2] > 5 ? 1 : 0);
  start();
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c) {
      double sum = 0;
      for (int64_t n = 0; n < extent; ++n) sum += mutant_load(x, mutant_offset(x, 0, r, n, c));
      mutant_store(y, mutant_offset(y, 0, 0, r, c), sum);
    }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "sum", mutant_can_run_reals, run);
}
