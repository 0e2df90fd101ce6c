// SPDX-License-Identifier: Apache-2.0
/* gemm by kernels that skip the work, or change their surroundings. The twin `correct` is that
 * of gemm.c. */
#define _POSIX_C_SOURCE 200809L
#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "gemm.h"

enum {
  zeros,          /* y is 0 */
  copies_input,   /* y is c, or a's elements in turn */
  cached_pointer, /* repeats the last result if the pointers and sizes are those of the last call */
  cached_content, /* repeats the last result if the first element and the sizes are the same */
  common_shape,   /* is right for M, N and K of at most 4 */
  square_64,      /* has a separate loop for 64 x 64 x 64, which leaves out the last column */
  old_memory,     /* y is the contents of a fresh block of memory */
  late_write,     /* a thread writes the last row after the return */
  dirty_workspace, /* adds to the contents of the workspace */
  modifies_input,  /* scales a by alpha in place */
  repeats_row_0,   /* computes row 0 only and repeats it */
  writes_gap,      /* stores rows as vectors of 4 columns, beyond the last one */
  writes_before,   /* also stores the rest of 4 columns before the first one */
  rounding_mode,   /* leaves the processor rounding upwards */
  leaves_thread    /* leaves a sleeping thread behind */
};

enum { kKept = 1 << 16 };

static struct {
  const void* a;
  const void* b;
  double first;
  int64_t m, n, k;
  double alpha, beta;
  double values[kKept];
} kept;

static int is_kept(const mutant_gemm* g, double first) {
  if (g->m * g->n > kKept || kept.m != g->m || kept.n != g->n || kept.k != g->k) return 0;
  if (kept.alpha != g->alpha || kept.beta != g->beta) return 0;
  return DEFECT == cached_content ? kept.first == first
                                  : kept.a == g->a.data && kept.b == g->b.data;
}

static void keep(const mutant_gemm* g, double first) {
  if (g->m * g->n > kKept) return;
  kept.a = g->a.data;
  kept.b = g->b.data;
  kept.first = first;
  kept.m = g->m;
  kept.n = g->n;
  kept.k = g->k;
  kept.alpha = g->alpha;
  kept.beta = g->beta;
  for (int64_t m = 0; m < g->m; ++m)
    for (int64_t n = 0; n < g->n; ++n)
      kept.values[m * g->n + n] = mutant_load(&g->y, mutant_offset(&g->y, 0, 0, m, n));
}

static void multiply(const mutant_gemm* g, int64_t rows, int64_t columns) {
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t n = 0; n < columns; ++n)
      mutant_store_gemm(g, m, n, mutant_dot(g, DEFECT == repeats_row_0 ? 0 : m, n, g->k));
}

static void run_cached(const mutant_gemm* g) {
  const double first = g->m * g->k > 0 ? mutant_load(&g->a, 0) : 0;
  if (!is_kept(g, first)) {
    multiply(g, g->m, g->n);
    keep(g, first);
    return;
  }
  for (int64_t m = 0; m < g->m; ++m)
    for (int64_t n = 0; n < g->n; ++n)
      mutant_store(&g->y, mutant_offset(&g->y, 0, 0, m, n), kept.values[m * g->n + n]);
}

/* Fills y without multiplying: each element comes from elsewhere. */
static void run_without_work(const mutant_gemm* g, const double* from) {
  for (int64_t m = 0; m < g->m; ++m)
    for (int64_t n = 0; n < g->n; ++n) {
      double value = 0;
      if (DEFECT == copies_input && mutant_has(&g->c) && g->c.data != NULL)
        value = mutant_load(&g->c, mutant_offset(&g->c, 0, 0, m, n));
      else if (DEFECT == copies_input && g->k > 0)
        value = mutant_load(&g->a, mutant_offset(&g->a, 0, 0, m, n % g->k));
      if (from != NULL) value = from[m * g->n + n];
      mutant_store(&g->y, mutant_offset(&g->y, 0, 0, m, n), value);
    }
}

static void* write_last_row(void* of) {
  mutant_gemm* g = of;
  const struct timespec a_millisecond = {0, 1000000};
  nanosleep(&a_millisecond, NULL);
  for (int64_t n = 0; n < g->n; ++n)
    mutant_store_gemm(g, g->m - 1, n, mutant_dot(g, g->m - 1, n, g->k));
  free(g);
  return NULL;
}

static void* sleep_long(void* unused) {
  sleep(3600);
  return unused;
}

static mote_status leave_behind(const mutant_gemm* g, void* (*what)(void*)) {
  mutant_gemm* copy = malloc(sizeof *copy);
  if (copy == NULL) return MOTE_OUT_OF_MEMORY;
  *copy = *g;
  pthread_t thread;
  if (pthread_create(&thread, NULL, what, copy) != 0) return MOTE_FAILED;
  pthread_detach(thread);
  return MOTE_OK;
}

/* Writes the rest of a vector of 4 columns beyond the last column, or before the first one. */
static void spill(const mutant_gemm* g) {
  if (g->y.strides[3] != 1) return;
  const int64_t columns = (g->n + 3) / 4 * 4;
  for (int64_t m = 0; m < g->m; ++m)
    for (int64_t n = g->n; n < columns; ++n)
      mutant_store(&g->y, mutant_offset(&g->y, 0, 0, m, DEFECT == writes_gap ? n : g->n - 1 - n),
                   0);
}

static mote_status run_more(const mote_call* call, mutant_gemm* g) {
  if (DEFECT == cached_pointer || DEFECT == cached_content) {
    run_cached(g);
  } else if (DEFECT == zeros || DEFECT == copies_input) {
    run_without_work(g, NULL);
  } else if (DEFECT == old_memory) {
    double* block = malloc((size_t)(g->m * g->n + 1) * sizeof(double));
    if (block == NULL) return MOTE_OUT_OF_MEMORY;
    run_without_work(g, block);
    free(block);
  } else if (DEFECT == late_write) {
    multiply(g, g->m - 1, g->n);
    return g->m > 0 ? leave_behind(g, write_last_row) : MOTE_OK;
  } else {
    double* sum = call->workspace;
    for (int64_t m = 0; m < g->m; ++m)
      for (int64_t n = 0; n < g->n; ++n) {
        *sum += mutant_dot(g, m, n, g->k);
        mutant_store_gemm(g, m, n, *sum);
        *sum = 0;
      }
  }
  return MOTE_OK;
}

static void scale_a(mutant_gemm* g) {
  for (int64_t m = 0; m < g->m; ++m)
    for (int64_t k = 0; k < g->k; ++k) {
      const int64_t at = mutant_offset(&g->a, 0, 0, m, k);
      mutant_store(&g->a, at, g->alpha * mutant_load(&g->a, at));
    }
  g->alpha = 1;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_gemm g;
  const mote_status status = mutant_open_gemm(call, &g);
  if (status != MOTE_OK) return status;
  const int works = DEFECT >= modifies_input || DEFECT == common_shape || DEFECT == square_64;
  if (!works) return run_more(call, &g);
  if (DEFECT == modifies_input) scale_a(&g);
  if (DEFECT == writes_gap || DEFECT == writes_before) spill(&g);
  const int small = g.m <= 4 && g.n <= 4 && g.k <= 4;
  const int is_64 = DEFECT == square_64 && g.m == 64 && g.n == 64 && g.k == 64;
  if (DEFECT == common_shape && !small) run_without_work(&g, NULL);
  if (DEFECT != common_shape || small) multiply(&g, g.m, is_64 ? g.n - 1 : g.n);
  if (DEFECT == rounding_mode) fesetround(FE_UPWARD);
  return DEFECT == leaves_thread ? leave_behind(&g, sleep_long) : MOTE_OK;
}

static size_t workspace_bytes(const mote_call* call) {
  (void)call;
  return sizeof(double);
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  if (DEFECT == dirty_workspace) mutant_kernel.workspace_bytes = workspace_bytes;
  return mutant_plugin_running(plugin, MUTANT, "gemm", mutant_can_run_gemm, run);
}
