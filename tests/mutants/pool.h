// SPDX-License-Identifier: Apache-2.0
/* Windows over the last two axes, as the pooling ops define them. */
#ifndef MOTE_TESTS_MUTANT_POOL_H
#define MOTE_TESTS_MUTANT_POOL_H

#include "mutant.h"

typedef struct {
  mutant_call c;
  int64_t kernel[2], stride[2], dilation[2], before[2], after[2];
} mutant_pool;

static inline mote_status mutant_open_pool(const mote_call* call, mutant_pool* p) {
  static const char* const names[2][5] = {{"kernel0", "stride0", "dilation0", "pads0", "pads2"},
                                          {"kernel1", "stride1", "dilation1", "pads1", "pads3"}};
  for (int axis = 0; axis < 2; ++axis) {
    p->kernel[axis] = mutant_integer(call, names[axis][0], 1);
    p->stride[axis] = mutant_integer(call, names[axis][1], 1);
    p->dilation[axis] = mutant_integer(call, names[axis][2], 1);
    p->before[axis] = mutant_integer(call, names[axis][3], 0);
    p->after[axis] = mutant_integer(call, names[axis][4], 0);
  }
  return mutant_open_call(call, &p->c);
}

/* Returns the index in x of a window's tap, along one spatial axis. */
static inline int64_t mutant_tap(const mutant_pool* p, int axis, int64_t window, int64_t tap) {
  return window * p->stride[axis] - p->before[axis] + tap * p->dilation[axis];
}

static inline int mutant_in_image(const mutant_pool* p, int64_t ih, int64_t iw) {
  const mutant_tensor* x = &p->c.in[0];
  return ih >= 0 && ih < x->shape[2] && iw >= 0 && iw < x->shape[3];
}

#endif
