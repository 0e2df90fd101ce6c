// SPDX-License-Identifier: Apache-2.0
/* y[M,N] = alpha a[M,K] b[K,N] + beta c[M,N], shared by gemm.c and cheats.c. */
#ifndef MOTE_TESTS_MUTANT_GEMM_H
#define MOTE_TESTS_MUTANT_GEMM_H

#include "mutant.h"

typedef struct {
  mutant_tensor a, b, c, y;
  int64_t m, n, k;
  double alpha, beta;
} mutant_gemm;

static inline mote_status mutant_open_gemm(const mote_call* call, mutant_gemm* g) {
  mutant_call t;
  const mote_status status = mutant_open_call(call, &t);
  if (status != MOTE_OK) return status;
  g->a = t.in[0];
  g->b = t.in[1];
  g->c = t.in[2];
  g->y = t.out[0];
  g->alpha = mutant_param(call, "alpha", 1);
  g->beta = mutant_param(call, "beta", 1);
  g->m = g->a.shape[2];
  g->k = g->a.shape[3];
  g->n = g->b.shape[3];
  if (g->b.shape[2] != g->k || g->y.shape[2] != g->m || g->y.shape[3] != g->n)
    return mutant_refuse(call, MOTE_INVALID, "the shapes of a, b and y do not fit together");
  return MOTE_OK;
}

static inline mote_status mutant_can_run_gemm(const mote_call* call) {
  mutant_gemm g;
  const mote_status status = mutant_open_gemm(call, &g);
  if (status == MOTE_OK && !mutant_is_f32_or_f64(g.a.type))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only matrices of f32 or f64 on the CPU");
  return status;
}

/* Sums a[m,k] b[k,n] over k in [0, terms). */
static inline double mutant_dot(const mutant_gemm* g, int64_t m, int64_t n, int64_t terms) {
  double sum = 0;
  for (int64_t k = 0; k < terms; ++k)
    sum += mutant_load(&g->a, mutant_offset(&g->a, 0, 0, m, k)) *
           mutant_load(&g->b, mutant_offset(&g->b, 0, 0, k, n));
  return sum;
}

static inline double mutant_gemm_value(const mutant_gemm* g, int64_t m, int64_t n, double sum) {
  const double value = g->alpha * sum;
  if (!mutant_has(&g->c) || g->beta == 0) return value;
  return value + g->beta * mutant_load(&g->c, mutant_offset(&g->c, 0, 0, m, n));
}

static inline void mutant_store_gemm(const mutant_gemm* g, int64_t m, int64_t n, double sum) {
  mutant_store(&g->y, mutant_offset(&g->y, 0, 0, m, n), mutant_gemm_value(g, m, n, sum));
}

#endif
