// SPDX-License-Identifier: Apache-2.0
/* One backend for each rule that a kernel of y = -x (f32) may break, and one, keeps_rules, that
 * breaks none. They need POSIX threads. */
#define _POSIX_C_SOURCE 200809L
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "mote/base/kernel.h"

static float* at(const DLTensor* t) { return (float*)((char*)t->data + t->byte_offset); }

static int64_t count(const DLTensor* t) {
  int64_t n = 1;
  for (int k = 0; k < t->ndim; ++k) n *= t->shape[k];
  return n;
}

/* Returns the number of elements from the first to the last, gaps included. */
static int64_t extent(const DLTensor* t) {
  int64_t last = 0;
  for (int k = 0; k < t->ndim; ++k) last += (t->shape[k] - 1) * t->strides[k];
  return count(t) == 0 ? 0 : last + 1;
}

static int64_t place(const DLTensor* t, int64_t linear) {
  int64_t where = 0;
  for (int k = t->ndim; k-- > 0;) {
    where += linear % t->shape[k] * t->strides[k];
    linear /= t->shape[k];
  }
  return where;
}

static void negate(const mote_call* call) {
  const DLTensor* x = call->inputs[0];
  const DLTensor* y = call->outputs[0];
  for (int64_t k = 0; k < count(x); ++k) at(y)[place(y, k)] = -at(x)[place(x, k)];
}

static mote_status can_run(const mote_call* call) {
  const DLDataType type = call->inputs[0]->dtype;
  return type.code == kDLFloat && type.bits == 32 ? MOTE_OK : MOTE_UNSUPPORTED;
}

static size_t workspace_bytes(const mote_call* call) {
  (void)call;
  return 100;
}

static volatile float sink;

static mote_status keeps_rules(const mote_call* call, void* stream) {
  (void)stream;
  memset(call->workspace, 7, call->workspace_bytes);
  negate(call);
  return MOTE_OK;
}

static mote_status crashes(const mote_call* call, void* stream) {
  volatile float* volatile nowhere = NULL;
  if (count(call->inputs[0]) > 3) *nowhere = 0;
  return keeps_rules(call, stream);
}

static mote_status aborts(const mote_call* call, void* stream) {
  (void)call, (void)stream;
  abort();
}

static mote_status exits(const mote_call* call, void* stream) {
  (void)call, (void)stream;
  _exit(9);
}

static mote_status hangs(const mote_call* call, void* stream) {
  if (count(call->inputs[0]) > 3)
    for (;;) sink = 1;
  return keeps_rules(call, stream);
}

static mote_status reads_after_x(const mote_call* call, void* stream) {
  sink = at(call->inputs[0])[extent(call->inputs[0]) + 1023];
  return keeps_rules(call, stream);
}

static mote_status reads_before_x(const mote_call* call, void* stream) {
  sink = at(call->inputs[0])[-1024];
  return keeps_rules(call, stream);
}

static mote_status writes_after_y(const mote_call* call, void* stream) {
  at(call->outputs[0])[extent(call->outputs[0])] = 1;
  return keeps_rules(call, stream);
}

static mote_status writes_before_y(const mote_call* call, void* stream) {
  at(call->outputs[0])[-1] = 1;
  return keeps_rules(call, stream);
}

static mote_status writes_after_workspace(const mote_call* call, void* stream) {
  ((char*)call->workspace)[call->workspace_bytes] = 1;
  return keeps_rules(call, stream);
}

static mote_status skips_last(const mote_call* call, void* stream) {
  const DLTensor* y = call->outputs[0];
  float* last = at(y) + place(y, count(y) - 1);
  const float keep = *last;
  const mote_status status = keeps_rules(call, stream);
  *last = keep;
  return status;
}

static mote_status writes_gaps(const mote_call* call, void* stream) {
  const DLTensor* y = call->outputs[0];
  memset(at(y), 0, (size_t)extent(y) * sizeof(float));
  return keeps_rules(call, stream);
}

static mote_status changes_x(const mote_call* call, void* stream) {
  const mote_status status = keeps_rules(call, stream);
  at(call->inputs[0])[0] += 1;
  return status;
}

/* Writes the same value: the change is not visible afterwards, but a concurrent reader of x may
 * see it. */
static mote_status writes_x_back(const mote_call* call, void* stream) {
  volatile float* x = at(call->inputs[0]);
  *x = *x;
  return keeps_rules(call, stream);
}

static mote_status rounds_upward(const mote_call* call, void* stream) {
  fesetround(FE_UPWARD);
  return keeps_rules(call, stream);
}

static mote_status flushes_denormals(const mote_call* call, void* stream) {
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040U);
#endif
  return keeps_rules(call, stream);
}

static void* wait_forever(void* nothing) {
  for (;;) pause();
  return nothing;
}

static void wait_ms(long ms) {
  const struct timespec time = {0, ms * 1000000};
  nanosleep(&time, NULL);
}

static void* wait_a_little(void* nothing) {
  wait_ms(2);
  return nothing;
}

static void start(void* (*body)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, body, argument) == 0) pthread_detach(thread);
}

static mote_status leaves_a_thread(const mote_call* call, void* stream) {
  start(wait_forever, NULL);
  return keeps_rules(call, stream);
}

/* Starts the threads of a pool once, which is no leak. */
static mote_status keeps_a_pool(const mote_call* call, void* stream) {
  static int threads = 0;
  for (; threads < 3; ++threads) start(wait_forever, NULL);
  return keeps_rules(call, stream);
}

static mote_status threads_that_end(const mote_call* call, void* stream) {
  start(wait_a_little, NULL);
  return keeps_rules(call, stream);
}

static void* write_later(void* y) {
  wait_a_little(NULL);
  *(volatile float*)y = 3;
  return NULL;
}

static mote_status writes_later(const mote_call* call, void* stream) {
  const mote_status status = keeps_rules(call, stream);
  start(write_later, at(call->outputs[0]));
  return status;
}

static void* write_much_later(void* y) {
  wait_ms(60);
  *(volatile float*)y = 3;
  return NULL;
}

/* Starts one thread of a pool, which is busy with the first call. */
static mote_status writes_much_later(const mote_call* call, void* stream) {
  static int started = 0;
  const mote_status status = keeps_rules(call, stream);
  if (!started) start(write_much_later, at(call->outputs[0]));
  started = 1;
  return status;
}

static mote_status takes_memory(const mote_call* call, void* stream) {
  const size_t bytes = (size_t)64 << 20;
  char* taken = malloc(bytes);
  if (taken == NULL) return MOTE_OUT_OF_MEMORY;
  for (size_t k = 0; k < bytes; k += 512) ((volatile char*)taken)[k] = 1;
  return keeps_rules(call, stream);
}

static mote_status differs(const mote_call* call, void* stream) {
  static float calls = 0;
  const mote_status status = keeps_rules(call, stream);
  at(call->outputs[0])[0] += ++calls * 0x1p20F;
  return status;
}

/* Caches the result by the address and size of x. */
static mote_status caches_by_pointer(const mote_call* call, void* stream) {
  static const void* seen = NULL;
  static int64_t size = 0;
  static float* kept = NULL;
  const DLTensor* x = call->inputs[0];
  const DLTensor* y = call->outputs[0];
  if (seen != at(x) || size != count(x)) {
    seen = at(x);
    size = count(x);
    free(kept);
    kept = malloc((size_t)size * sizeof(float) + 1);
    for (int64_t k = 0; k < size; ++k) kept[k] = -at(x)[place(x, k)];
  }
  (void)stream;
  for (int64_t k = 0; k < size; ++k) at(y)[place(y, k)] = kept[k];
  return MOTE_OK;
}

/* Caches the result by the first element and size of x. */
static mote_status caches_by_content(const mote_call* call, void* stream) {
  static float first = NAN;
  static int64_t size = 0;
  static float* kept = NULL;
  const DLTensor* x = call->inputs[0];
  const DLTensor* y = call->outputs[0];
  if (first != at(x)[0] || size != count(x)) {
    first = at(x)[0];
    size = count(x);
    free(kept);
    kept = malloc((size_t)size * sizeof(float) + 1);
    for (int64_t k = 0; k < size; ++k) kept[k] = -at(x)[place(x, k)];
  }
  (void)stream;
  for (int64_t k = 0; k < size; ++k) at(y)[place(y, k)] = kept[k];
  return MOTE_OK;
}

/* Copies the y of an earlier call if x is unchanged. */
static mote_status answers_from_old_memory(const mote_call* call, void* stream) {
  static const float* old = NULL;
  static float sum = NAN;
  const DLTensor* x = call->inputs[0];
  const DLTensor* y = call->outputs[0];
  float now = 0;
  for (int64_t k = 0; k < count(x); ++k) now += (float)(k + 1) * at(x)[place(x, k)];
  if (now == sum && old != at(y)) {
    for (int64_t k = 0; k < count(y); ++k) at(y)[place(y, k)] = old[place(y, k)];
    return MOTE_OK;
  }
  old = at(y);
  sum = now;
  return keeps_rules(call, stream);
}

/* Waits half a second before the first result of a process. */
static mote_status starts_slowly(const mote_call* call, void* stream) {
  static int is_started = 0;
  if (!is_started) wait_ms(500);
  is_started = 1;
  return keeps_rules(call, stream);
}

/* Computes for 200 ms of a processor's time. */
static mote_status computes(const mote_call* call, void* stream) {
  const clock_t start = clock();
  while (clock() - start < CLOCKS_PER_SEC / 5) sink = 1;
  return keeps_rules(call, stream);
}

/* Is wrong from the 30th call of a process on. */
static mote_status wrong_later(const mote_call* call, void* stream) {
  static int calls = 0;
  const mote_status status = keeps_rules(call, stream);
  if (++calls >= 30 && count(call->outputs[0]) > 0) at(call->outputs[0])[0] += 1;
  return status;
}

/* Is wrong then, and always if the last axis has more than 6 elements. */
static mote_status wrong_later_or_long(const mote_call* call, void* stream) {
  const mote_status status = wrong_later(call, stream);
  const DLTensor* y = call->outputs[0];
  if (count(y) > 0 && y->shape[y->ndim - 1] > 6) at(y)[0] += 2;
  return status;
}

#define RULES(X)                                                                                   \
  X(keeps_rules)                                                                                   \
  X(crashes)                                                                                       \
  X(aborts)                                                                                        \
  X(exits)                                                                                         \
  X(hangs)                                                                                         \
  X(reads_after_x)                                                                                 \
  X(reads_before_x)                                                                                \
  X(writes_after_y) X(writes_before_y) X(writes_after_workspace) X(skips_last) X(writes_gaps)      \
      X(changes_x) X(writes_x_back) X(rounds_upward) X(flushes_denormals) X(leaves_a_thread)       \
          X(keeps_a_pool) X(threads_that_end) X(writes_later) X(writes_much_later) X(takes_memory) \
              X(differs) X(starts_slowly) X(computes) X(wrong_later) X(wrong_later_or_long)                    \
                  X(caches_by_pointer) X(caches_by_content) X(answers_from_old_memory)

typedef struct rule {
  const char* name;
  mote_status (*run)(const mote_call* call, void* stream);
} rule;

#define RULE(f) {#f, f},
static const rule rules[] = {RULES(RULE)};
enum { kRules = sizeof rules / sizeof *rules };

mote_status mote_plugin_init(mote_plugin* plugin) {
  static mote_contract contract;
  static mote_kernel kernels[kRules];
  static mote_backend backends[kRules];
  contract.size = sizeof contract;
  contract.deterministic = 1;
  contract.form = "direct";
  for (int k = 0; k < kRules; ++k) {
    kernels[k] = (mote_kernel){sizeof(mote_kernel), "neg",        &contract, can_run,
                               workspace_bytes,     rules[k].run, NULL};
    backends[k] = (mote_backend){sizeof(mote_backend), rules[k].name, "1", 1, 0, &kernels[k]};
  }
  plugin->abi_version = MOTE_ABI_VERSION;
  plugin->backend_count = kRules;
  plugin->backends = backends;
  return MOTE_OK;
}
