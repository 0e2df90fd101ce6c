// SPDX-License-Identifier: Apache-2.0
/* sum over axis 1 of x[R, N, C] by threads. The twin shares rows among OpenMP threads, if the
 * compiler supports them. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "mutant.h"

enum {
  correct,
  race /* POSIX threads add their part of a row to a value read earlier, without a lock */
};

enum { kThreads = 4 };

typedef struct {
  const mutant_tensor* x;
  int64_t r, c, begin, end;
  volatile double* sum;
} part;

static double sum_of(const part* p) {
  double sum = 0;
  for (int64_t n = p->begin; n < p->end; ++n)
    sum += mutant_load(p->x, mutant_offset(p->x, 0, p->r, n, p->c));
  return sum;
}

/* Waits for a time that depends on the clock, so that the interleaving of threads differs by
 * call. */
static void wait_a_while(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  for (long turns = now.tv_nsec / 64 % 4; turns > 0; --turns) sched_yield();
}

static void* add_part(void* argument) {
  const part* p = argument;
  const double before = *p->sum;
  const double own = sum_of(p);
  wait_a_while();
  *p->sum = before + own;
  return NULL;
}

static double by_racing_threads(const mutant_tensor* x, int64_t r, int64_t c) {
  volatile double sum = 0;
  part parts[kThreads];
  pthread_t threads[kThreads];
  int started[kThreads];
  const int64_t extent = x->shape[2];
  for (int k = 0; k < kThreads; ++k) {
    parts[k] = (part){x, r, c, extent * k / kThreads, extent * (k + 1) / kThreads, &sum};
    started[k] = pthread_create(&threads[k], NULL, add_part, &parts[k]) == 0;
    if (!started[k]) add_part(&parts[k]);
  }
  for (int k = 0; k < kThreads; ++k)
    if (started[k]) pthread_join(threads[k], NULL);
  return sum;
}

static mote_status run(const mote_call* call, mutant_call* t) {
  (void)call;
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
#ifdef _OPENMP
#pragma omp parallel for num_threads(3) if (DEFECT == correct)
#endif
  for (int64_t r = 0; r < x->shape[1]; ++r)
    for (int64_t c = 0; c < x->shape[3]; ++c) {
      const part whole = {x, r, c, 0, x->shape[2], NULL};
      mutant_store(y, mutant_offset(y, 0, 0, r, c),
                   DEFECT == race ? by_racing_threads(x, r, c) : sum_of(&whole));
    }
  return MOTE_OK;
}

/* Takes only small calls, since threads start and end for each element. */
static mote_status can_run(const mote_call* call) {
  mutant_call t;
  const mote_status status = mutant_can_run_reals(call);
  if (status != MOTE_OK || DEFECT != race) return status;
  mutant_open_call(call, &t);
  return t.in[0].shape[1] * t.in[0].shape[3] > 256
             ? mutant_refuse(call, MOTE_UNSUPPORTED, "more than 256 sums")
             : MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "sum", can_run, run);
}
