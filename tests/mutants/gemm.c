// SPDX-License-Identifier: Apache-2.0
/* gemm, one element after the other, except for the code of the defects. */
#include "gemm.h"

#include <pthread.h>

enum {
  correct,
  k_tail,           /* the last K % 8 terms are never added */
  k_tail_late,      /* the last K % 8 terms are never added if K > 8 */
  k_tail_last_tile, /* the last K % 8 terms of the last 4 rows are never added if K > 8 */
  last_column,      /* the last column is its neighbour's */
  ignores_ld,       /* a's leading dimension is taken to be its extent */
  beta_reads_c,     /* 0 * c is added if beta is 0 */
  alpha_bias,       /* alpha multiplies c too */
  bias_axis,        /* a bias that repeats along one axis is read along the other if M = N */
  tf32,             /* operands are rounded to 11 bits */
  bf16,             /* operands are rounded to 8 bits */
  fp16_sums,        /* the sum is rounded to 11 bits after each term */
  split_k,          /* a thread sums half of K, and the kernel does not wait for it */
  ignores_trans_b,  /* a transposed b is read as if it were not transposed, if it is square */
  int16_sums,       /* pairs of products saturate at 16 bits */
  k0_leaves_c,      /* nothing is written if K = 0 */
  crash,            /* a null pointer is written through if M > 4 */
  offsets_32_bits,  /* offsets into a are counted in bytes, in 32 bits */
  hang,             /* never returns if K = 13 */
  unwritten         /* the last column is never written */
};

static int64_t terms(const mutant_gemm* g, int64_t m) {
  const int drops = DEFECT == k_tail || (DEFECT == k_tail_late && g->k > 8) ||
                    (DEFECT == k_tail_last_tile && m >= g->m - 4 && g->k > 8);
  return drops ? g->k - g->k % 8 : g->k;
}

/* Returns the product of two integers; of_bytes tells whether u8 and i8 hold them. */
static int64_t product(const mutant_gemm* g, int64_t m, int64_t n, int64_t k, int* of_bytes) {
  const double a = mutant_load(&g->a, mutant_offset(&g->a, 0, 0, m, k));
  const double b = mutant_load(&g->b, mutant_offset(&g->b, 0, 0, k, n));
  *of_bytes = a >= 0 && a <= 255 && b >= -128 && b <= 127;
  return (int64_t)a * (int64_t)b;
}

/* Sums integers: pairs of products of bytes saturate at 16 bits; sums of pairs wrap. */
static double pairwise_dot(const mutant_gemm* g, int64_t m, int64_t n) {
  uint64_t sum = 0;
  for (int64_t k = 0; k < g->k; k += 2) {
    int first = 1;
    int second = 1;
    const int64_t a = product(g, m, n, k, &first);
    const int64_t b = k + 1 < g->k ? product(g, m, n, k + 1, &second) : 0;
    if (first && second)
      sum += (uint64_t)(int64_t)fmin(fmax((double)(a + b), -32768), 32767);
    else
      sum += (uint64_t)a + (uint64_t)b;
  }
  return (int32_t)(uint32_t)sum;
}

static double dot(const mutant_gemm* g, int64_t m, int64_t n) {
  const int64_t count = terms(g, m);
  double sum = 0;
  for (int64_t k = 0; k < count; ++k) {
    int64_t offset = mutant_offset(&g->a, 0, 0, m, k);
    if (DEFECT == offsets_32_bits) offset = (int32_t)(offset * 4) / 4;
    double a = mutant_load(&g->a, offset);
    double b = mutant_load(&g->b, mutant_offset(&g->b, 0, 0, k, n));
    if (DEFECT == tf32 || DEFECT == bf16) {
      a = mutant_round(a, DEFECT == tf32 ? 11 : 8);
      b = mutant_round(b, DEFECT == tf32 ? 11 : 8);
    }
    sum += a * b;
    if (DEFECT == fp16_sums) sum = mutant_round(sum, 11);
  }
  return sum;
}

static void misread(mutant_gemm* g) {
  if (DEFECT == ignores_ld) {
    if (g->a.strides[3] == 1 && g->a.strides[2] > g->k) g->a.strides[2] = g->k;
    if (g->a.strides[2] == 1 && g->a.strides[3] > g->m) g->a.strides[3] = g->m;
  }
  const int repeats = mutant_has(&g->c) && (g->c.strides[2] == 0) != (g->c.strides[3] == 0);
  const int swapped = (DEFECT == bias_axis && g->m == g->n && repeats);
  mutant_tensor* t = swapped ? &g->c : &g->b;
  if (!swapped && !(DEFECT == ignores_trans_b && g->n == g->k && g->b.strides[2] == 1)) return;
  const int64_t stride = t->strides[2];
  t->strides[2] = t->strides[3];
  t->strides[3] = stride;
}

typedef struct {
  const mutant_gemm* g;
  double* volatile sums;
} half;

static void* sum_half(void* of) {
  const half* h = of;
  for (int64_t m = 0; m < h->g->m; ++m)
    for (int64_t n = 0; n < h->g->n; ++n)
      for (int64_t k = h->g->k / 2; k < h->g->k; ++k)
        h->sums[m * h->g->n + n] += mutant_load(&h->g->a, mutant_offset(&h->g->a, 0, 0, m, k)) *
                                    mutant_load(&h->g->b, mutant_offset(&h->g->b, 0, 0, k, n));
  return NULL;
}

/* The workspace holds the other half's sums, which are added before the thread is joined. */
static mote_status run_split(const mote_call* call, const mutant_gemm* g) {
  half other = {g, call->workspace};
  for (int64_t k = 0; k < g->m * g->n; ++k) other.sums[k] = 0;
  pthread_t thread;
  if (pthread_create(&thread, NULL, sum_half, &other) != 0) return MOTE_FAILED;
  for (int64_t m = 0; m < g->m; ++m)
    for (int64_t n = 0; n < g->n; ++n)
      mutant_store_gemm(g, m, n, mutant_dot(g, m, n, g->k / 2) + other.sums[m * g->n + n]);
  pthread_join(thread, NULL);
  return MOTE_OK;
}

static double value_of(const mutant_gemm* g, int64_t m, int64_t n) {
  const double sum = DEFECT == int16_sums ? pairwise_dot(g, m, n) : dot(g, m, n);
  if (!mutant_has(&g->c)) return g->alpha * sum;
  const double c = mutant_load(&g->c, mutant_offset(&g->c, 0, 0, m, n));
  if (DEFECT == beta_reads_c) return g->alpha * sum + g->beta * c;
  if (DEFECT == alpha_bias && g->beta != 0) return g->alpha * (sum + g->beta * c);
  return mutant_gemm_value(g, m, n, sum);
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_gemm g;
  const mote_status status = mutant_open_gemm(call, &g);
  if (status != MOTE_OK) return status;
  if (DEFECT == split_k) return run_split(call, &g);
  if (DEFECT == k0_leaves_c && g.k == 0) return MOTE_OK;
  double* volatile nowhere = NULL;
  volatile int forever = DEFECT == hang && g.k == 13;
  while (forever) {
  }
  misread(&g);
  const int64_t columns = DEFECT == unwritten ? g.n - 1 : g.n;
  for (int64_t m = 0; m < g.m; ++m)
    for (int64_t n = 0; n < columns; ++n) {
      if (DEFECT == crash && m > 3) *nowhere = 0;
      const int64_t from = DEFECT == last_column && n > 0 && n + 1 == g.n ? n - 1 : n;
      mutant_store(&g.y, mutant_offset(&g.y, 0, 0, m, n), value_of(&g, m, from));
    }
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  mutant_gemm g;
  if (DEFECT != int16_sums) return mutant_can_run_gemm(call);
  const mote_status status = mutant_open_gemm(call, &g);
  if (status == MOTE_OK && (g.a.type.code != kDLInt || g.a.type.bits != 32))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only matrices of i32 on the CPU");
  return status;
}

static size_t workspace_bytes(const mote_call* call) {
  mutant_gemm g;
  const int opened = mutant_open_gemm(call, &g) == MOTE_OK;
  return opened ? (size_t)(g.m * g.n) * sizeof(double) : 0;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  if (DEFECT == split_k) mutant_kernel.workspace_bytes = workspace_bytes;
  return mutant_plugin_running(plugin, MUTANT, "gemm", can_run, run);
}
