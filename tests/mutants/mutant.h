// SPDX-License-Identifier: Apache-2.0
/* The shared part of the planted bugs: reading a call's tensors and parameters by name, and the
 * tables of a plug-in with one kernel. Each file of kernels is compiled once for each defect
 * (mutants.list); DEFECT is one of the names that the file declares and MUTANT is the name of
 * the backend. `correct`, and any name that ends like it, is the twin without a defect. Elements
 * are read and written as doubles, at any strides. */
#ifndef MOTE_TESTS_MUTANT_H
#define MOTE_TESTS_MUTANT_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "mote/base/kernel.h"

enum { kMaxRank = 4, kMaxTensors = 6 };

/* A tensor at rank 4: missing leading axes have extent 1. It is absent if type.bits is 0. */
typedef struct {
  char* data;
  DLDataType type;
  int64_t shape[kMaxRank];
  int64_t strides[kMaxRank];
} mutant_tensor;

typedef struct {
  mutant_tensor in[kMaxTensors];
  mutant_tensor out[kMaxTensors];
} mutant_call;

static inline int mutant_has(const mutant_tensor* t) { return t->type.bits != 0; }

static inline int64_t mutant_offset(const mutant_tensor* t, int64_t i0, int64_t i1, int64_t i2,
                                    int64_t i3) {
  return i0 * t->strides[0] + i1 * t->strides[1] + i2 * t->strides[2] + i3 * t->strides[3];
}

/* These return the offset as narrower types hold it: elements or bytes in 32 bits, floats. */
static inline int64_t mutant_in_int(int64_t offset) { return (int32_t)(uint32_t)offset; }
static inline int64_t mutant_in_bytes(const mutant_tensor* t, int64_t offset) {
  const int64_t size = t->type.bits / 8;
  return (int64_t)(uint32_t)(offset * size) / size;
}
static inline int64_t mutant_in_float(int64_t offset) { return (int64_t)(float)offset; }

/* Rounds to the nearest number with that number of significant bits. */
static inline double mutant_round(double value, int bits) {
  if (value == 0 || isnan(value) || isinf(value)) return value;
  int exponent = 0;
  const double fraction = frexp(value, &exponent);
  return ldexp(nearbyint(ldexp(fraction, bits)), exponent - bits);
}

static inline double mutant_of_half(uint16_t bits) {
  const int exponent = bits >> 10U & 31, digits = bits & 1023;
  double size = exponent == 0 ? ldexp(digits, -24) : ldexp(1024 + digits, exponent - 25);
  if (exponent == 31) size = digits != 0 ? NAN : INFINITY;
  return (bits & 0x8000) != 0 ? -size : size;
}

/* Rounds to f16; below its least normal number all its numbers are multiples of 2^-24. */
static inline uint16_t mutant_half(double value) {
  const unsigned sign = signbit(value) ? 0x8000U : 0U;
  if (isnan(value)) return 0x7e00;
  double size = fabs(value);
  size = size < 0x1p-14 ? nearbyint(size * 0x1p24) * 0x1p-24 : mutant_round(size, 11);
  if (size > 65504) return (uint16_t)(sign | 0x7c00U);
  if (size < 0x1p-14) return (uint16_t)(sign | (unsigned)(size * 0x1p24));
  int exponent = 0;
  const double fraction = frexp(size, &exponent);
  return (uint16_t)(sign |
                    ((unsigned)(exponent + 14) << 10U | (unsigned)((fraction * 2 - 1) * 1024)));
}

/* Returns the value that a variable of f16 keeps. */
static inline double mutant_in_half(double value) { return mutant_of_half(mutant_half(value)); }

/* Rounds to bf16; below its least normal number 2^-126 all its numbers are multiples of 2^-133. */
static inline float mutant_in_bfloat(double value) {
  if (fabs(value) < 0x1p-126) return (float)(nearbyint(value * 0x1p133) * 0x1p-133);
  return (float)mutant_round(value, 8);
}

static inline double mutant_load(const mutant_tensor* t, int64_t offset) {
  const char* at = t->data + offset * (t->type.bits / 8);
  if (t->type.code == kDLFloat && t->type.bits == 16) return mutant_of_half(*(const uint16_t*)at);
  if (t->type.code == kDLFloat)
    return t->type.bits == 64 ? *(const double*)at : (double)*(const float*)at;
  if (t->type.code == kDLBfloat) {
    const uint32_t bits = (uint32_t) * (const uint16_t*)at << 16U;
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
  }
  if (t->type.code != kDLInt) return *(const unsigned char*)at;
  if (t->type.bits == 8) return *(const signed char*)at;
  if (t->type.bits == 32) return *(const int32_t*)at;
  return (double)*(const int64_t*)at;
}

/* Returns an element of an index tensor, with all its 64 bits. */
static inline int64_t mutant_index(const mutant_tensor* t, int64_t offset) {
  return ((const int64_t*)t->data)[offset];
}

/* Returns the upper half of a float's bits: truncated bf16. */
static inline uint16_t mutant_upper_half(float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16U);
}

/* Rounds to the tensor's reals; an integer wraps. */
static inline void mutant_store(const mutant_tensor* t, int64_t offset, double value) {
  char* at = t->data + offset * (t->type.bits / 8);
  if (t->type.code == kDLFloat && t->type.bits == 64)
    *(double*)at = value;
  else if (t->type.code == kDLFloat && t->type.bits == 16)
    *(uint16_t*)at = mutant_half(value);
  else if (t->type.code == kDLFloat)
    *(float*)at = (float)value;
  else if (t->type.code == kDLBfloat)
    *(uint16_t*)at = isnan(value) ? 0x7fc0 : mutant_upper_half(mutant_in_bfloat(value));
  else if (t->type.code == kDLInt && t->type.bits == 64)
    *(int64_t*)at = (int64_t)value;
  else if (t->type.code == kDLInt && t->type.bits == 32)
    *(int32_t*)at = (int32_t)(int64_t)value;
  else
    *(signed char*)at = (signed char)(int64_t)value;
}

static inline mote_status mutant_refuse(const mote_call* call, mote_status status,
                                        const char* text) {
  if (call->message != NULL && call->message_bytes > 0)
    snprintf(call->message, call->message_bytes, "%s", text);
  return status;
}

static inline int mutant_is_f32_or_f64(DLDataType type) {
  return type.code == kDLFloat && (type.bits == 32 || type.bits == 64);
}

/* A file whose kernels read f16 sets this. */
static int mutant_reads_f16;

/* Returns 0 if mutants can read the tensor: on the CPU, of rank 4 at most, f16 only if enabled. */
static inline int mutant_open(const DLTensor* from, mutant_tensor* to) {
  memset(to, 0, sizeof *to);
  if (from == NULL) return 0;
  if (from->ndim > kMaxRank || from->device.device_type != kDLCPU || from->dtype.lanes != 1)
    return 1;
  if (from->dtype.code == kDLFloat && from->dtype.bits == 16 && !mutant_reads_f16) return 1;
  to->data = from->data == NULL ? NULL : (char*)from->data + from->byte_offset;
  to->type = from->dtype;
  int64_t dense = 1;
  for (int axis = kMaxRank - 1; axis >= 0; --axis) {
    const int own = axis - (kMaxRank - from->ndim);
    to->shape[axis] = own < 0 ? 1 : from->shape[own];
    to->strides[axis] = own < 0 ? 0 : from->strides != NULL ? from->strides[own] : dense;
    dense *= to->shape[axis] > 0 ? to->shape[axis] : 1;
  }
  return 0;
}

/* Opens every tensor of the call; those that it leaves out are absent. */
static inline mote_status mutant_open_call(const mote_call* call, mutant_call* c) {
  memset(c, 0, sizeof *c);
  int refused = call->input_count > kMaxTensors || call->output_count > kMaxTensors;
  for (int k = 0; k < call->input_count && !refused; ++k)
    refused = mutant_open(call->inputs[k], &c->in[k]);
  for (int k = 0; k < call->output_count && !refused; ++k)
    refused = mutant_open(call->outputs[k], &c->out[k]);
  return refused ? mutant_refuse(call, MOTE_UNSUPPORTED, "only rank 4 on the CPU, no f16")
                 : MOTE_OK;
}

/* The can_run of most kernels: the first input is f32 or f64. */
static inline mote_status mutant_can_run_reals(const mote_call* call) {
  mutant_call c;
  const mote_status status = mutant_open_call(call, &c);
  if (status == MOTE_OK && !mutant_is_f32_or_f64(c.in[0].type))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only f32 and f64 on the CPU");
  return status;
}

/* The can_run of f16 kernels: the first input is f16. */
static inline mote_status mutant_can_run_f16(const mote_call* call) {
  mutant_call c;
  const mote_status status = mutant_open_call(call, &c);
  const int is_half = c.in[0].type.code == kDLFloat && c.in[0].type.bits == 16;
  if (status == MOTE_OK && !is_half)
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only f16 on the CPU");
  return status;
}

/* The can_run of kernels that take every dtype except f16. */
static inline mote_status mutant_can_run_all(const mote_call* call) {
  mutant_call c;
  return mutant_open_call(call, &c);
}

static inline double mutant_param(const mote_call* call, const char* name, double missing) {
  for (int32_t p = 0; p < call->param_count; ++p)
    if (strcmp(call->params[p].name, name) == 0)
      return call->params[p].is_real ? call->params[p].real : (double)call->params[p].integer;
  return missing;
}

static inline int64_t mutant_integer(const mote_call* call, const char* name, int64_t missing) {
  return (int64_t)mutant_param(call, name, (double)missing);
}

/* The plug-in's one kernel; a file changes its contract or workspace. */
static mote_contract mutant_contract = {.size = sizeof(mote_contract),
                                        .accumulator = MOTE_ACC_F64,
                                        .deterministic = 1,
                                        .form = "direct"};
static mote_kernel mutant_kernel = {.size = sizeof(mote_kernel), .contract = &mutant_contract};

static inline mote_status mutant_plugin_running(mote_plugin* plugin, const char* name,
                                                const char* op,
                                                mote_status (*can_run)(const mote_call*),
                                                mote_status (*run)(const mote_call*, void*)) {
  static mote_backend backend = {
      .size = sizeof(mote_backend), .version = "1", .kernel_count = 1, .kernels = &mutant_kernel};
  backend.name = name;
  mutant_kernel.op = op;
  mutant_kernel.can_run = can_run;
  mutant_kernel.run = run;
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = 1;
  plugin->backends = &backend;
  return MOTE_OK;
}

/* The body of a kernel that works on the opened tensors of its call. */
typedef mote_status (*mutant_body)(const mote_call* call, mutant_call* t);
static mutant_body mutant_own_body;

static inline mote_status mutant_run_body(const mote_call* call, void* stream) {
  (void)stream;
  mutant_call t;
  const mote_status status = mutant_open_call(call, &t);
  return status == MOTE_OK ? mutant_own_body(call, &t) : status;
}

static inline mote_status mutant_plugin(mote_plugin* plugin, const char* name, const char* op,
                                        mote_status (*can_run)(const mote_call*),
                                        mutant_body body) {
  mutant_own_body = body;
  return mutant_plugin_running(plugin, name, op, can_run, mutant_run_body);
}

/* Like mutant_plugin, for a kernel of f16 that promises sums in f32. */
static inline mote_status mutant_plugin_of_f16(mote_plugin* plugin, const char* name,
                                               const char* op, mutant_body body) {
  mutant_reads_f16 = 1;
  mutant_contract.accumulator = MOTE_ACC_F32;
  return mutant_plugin(plugin, name, op, mutant_can_run_f16, body);
}

MOTE_PLUGIN_EXPORT mote_status mote_plugin_init(mote_plugin* plugin);

#endif
