/* What the planted bugs share: reading a call's tensors and parameters by name, the checks of a
 * legal call, and the tables of a plug-in with one kernel. Each mutant adds only its own loops.
 * Elements are read and written as doubles, sums are doubles: f32 and f64, any strides. */
#ifndef MOTE_TESTS_MUTANT_H
#define MOTE_TESTS_MUTANT_H

#include <stdio.h>
#include <string.h>

#include "mote/base/kernel.h"

enum { kMaxRank = 4 };

/* A tensor at rank 4: missing leading axes have extent 1. */
typedef struct {
  char* data;
  int is_double;
  int64_t shape[kMaxRank];
  int64_t strides[kMaxRank];
} mutant_tensor;

typedef struct {
  mutant_tensor a, b, c, y;
  int has_c;
  int64_t m, n, k;
  double alpha, beta;
} mutant_gemm;

static inline int64_t mutant_offset(const mutant_tensor* t, int64_t i0, int64_t i1, int64_t i2,
                                    int64_t i3) {
  return i0 * t->strides[0] + i1 * t->strides[1] + i2 * t->strides[2] + i3 * t->strides[3];
}

static inline double mutant_load(const mutant_tensor* t, int64_t offset) {
  if (t->is_double) return ((const double*)t->data)[offset];
  return (double)((const float*)t->data)[offset];
}

static inline void mutant_store(const mutant_tensor* t, int64_t offset, double value) {
  if (t->is_double)
    ((double*)t->data)[offset] = value;
  else
    ((float*)t->data)[offset] = (float)value;
}

static inline mote_status mutant_refuse(const mote_call* call, mote_status status,
                                        const char* text) {
  if (call->message != NULL && call->message_bytes > 0)
    snprintf(call->message, call->message_bytes, "%s", text);
  return status;
}

/* 0 where the tensor is one that mutants read: CPU, f32 or f64, rank at most 4. */
static inline int mutant_open(const DLTensor* from, mutant_tensor* to) {
  if (from == NULL || from->ndim > kMaxRank || from->device.device_type != kDLCPU) return 1;
  if (from->dtype.code != kDLFloat || from->dtype.lanes != 1) return 1;
  if (from->dtype.bits != 32 && from->dtype.bits != 64) return 1;
  to->data = from->data == NULL ? NULL : (char*)from->data + from->byte_offset;
  to->is_double = from->dtype.bits == 64;
  int64_t dense = 1;
  for (int axis = kMaxRank - 1; axis >= 0; --axis) {
    const int own = axis - (kMaxRank - from->ndim);
    to->shape[axis] = own < 0 ? 1 : from->shape[own];
    to->strides[axis] = own < 0 ? 0 : from->strides != NULL ? from->strides[own] : dense;
    dense *= to->shape[axis] > 0 ? to->shape[axis] : 1;
  }
  return 0;
}

static inline double mutant_param(const mote_call* call, const char* name, double missing) {
  for (int32_t p = 0; p < call->param_count; ++p)
    if (strcmp(call->params[p].name, name) == 0)
      return call->params[p].is_real ? call->params[p].real : (double)call->params[p].integer;
  return missing;
}

/* Reads and checks y[M,N] = alpha a[M,K] b[K,N] + beta c[M,N]. */
static inline mote_status mutant_open_gemm(const mote_call* call, mutant_gemm* g) {
  if (call->input_count < 2 || call->output_count != 1 || mutant_open(call->inputs[0], &g->a) ||
      mutant_open(call->inputs[1], &g->b) || mutant_open(call->outputs[0], &g->y))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only matrices of f32 or f64 on the CPU");
  g->alpha = mutant_param(call, "alpha", 1);
  g->beta = mutant_param(call, "beta", 1);
  g->has_c = call->input_count > 2 && call->inputs[2] != NULL && g->beta != 0;
  if (g->has_c && mutant_open(call->inputs[2], &g->c))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only c of f32 or f64 on the CPU");
  g->m = g->a.shape[2];
  g->k = g->a.shape[3];
  g->n = g->b.shape[3];
  if (g->b.shape[2] != g->k || g->y.shape[2] != g->m || g->y.shape[3] != g->n)
    return mutant_refuse(call, MOTE_INVALID, "the shapes of a, b and y do not fit together");
  return MOTE_OK;
}

/* a[m,k] b[k,n] summed over k in [0, terms). */
static inline double mutant_dot(const mutant_gemm* g, int64_t m, int64_t n, int64_t terms) {
  double sum = 0;
  for (int64_t k = 0; k < terms; ++k)
    sum += mutant_load(&g->a, mutant_offset(&g->a, 0, 0, m, k)) *
           mutant_load(&g->b, mutant_offset(&g->b, 0, 0, k, n));
  return sum;
}

static inline void mutant_store_gemm(const mutant_gemm* g, int64_t m, int64_t n, double sum) {
  double value = g->alpha * sum;
  if (g->has_c) value += g->beta * mutant_load(&g->c, mutant_offset(&g->c, 0, 0, m, n));
  mutant_store(&g->y, mutant_offset(&g->y, 0, 0, m, n), value);
}

static inline mote_status mutant_can_run_gemm(const mote_call* call) {
  mutant_gemm g;
  return mutant_open_gemm(call, &g);
}

/* Fills the tables of a plug-in whose only backend has one kernel. */
static inline mote_status mutant_plugin(mote_plugin* plugin, const char* name, const char* op,
                                        mote_status (*can_run)(const mote_call*),
                                        mote_status (*run)(const mote_call*, void*)) {
  static mote_contract contract = {.size = sizeof(mote_contract),
                                   .accumulator = MOTE_ACC_F64,
                                   .deterministic = 1,
                                   .form = "direct"};
  static mote_kernel kernel = {.size = sizeof(mote_kernel), .contract = &contract};
  static mote_backend backend = {
      .size = sizeof(mote_backend), .version = "1", .kernel_count = 1, .kernels = &kernel};
  kernel.op = op;
  kernel.can_run = can_run;
  kernel.run = run;
  backend.name = name;
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}

MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin* plugin);

#endif
