// SPDX-License-Identifier: Apache-2.0
/* conv_transpose2d, gathered tap by tap. */
#include "mutant.h"

enum {
  correct,
  crops_other_side, /* the rows' padding at the bottom is cropped at the top */
  channels_swapped, /* w is read as [CO, CI] if both have the same extent */
  output_pad_0      /* the rows that output_pad adds are always 0 */
};

typedef struct {
  mutant_call c;
  int64_t stride[2], dilation[2], before[2], groups, rows;
} convolution;

static mote_status open_call(const mote_call* call, convolution* t) {
  t->stride[0] = mutant_integer(call, "stride0", 1);
  t->stride[1] = mutant_integer(call, "stride1", 1);
  t->dilation[0] = mutant_integer(call, "dilation0", 1);
  t->dilation[1] = mutant_integer(call, "dilation1", 1);
  t->before[0] = mutant_integer(call, DEFECT == crops_other_side ? "pads2" : "pads0", 0);
  t->before[1] = mutant_integer(call, "pads1", 0);
  t->groups = mutant_integer(call, "groups", 1);
  const mote_status status = mutant_open_call(call, &t->c);
  t->rows = t->c.out[0].shape[2];
  if (DEFECT == output_pad_0) t->rows -= mutant_integer(call, "output_pad0", 0);
  return status;
}

/* Returns the pixel of x that a tap takes to an output pixel; -1 if there is none. */
static int64_t pixel(const convolution* t, int axis, int64_t out, int64_t tap) {
  const int64_t at = out + t->before[axis] - tap * t->dilation[axis];
  if (at < 0 || at % t->stride[axis] != 0) return -1;
  return at / t->stride[axis] < t->c.in[0].shape[2 + axis] ? at / t->stride[axis] : -1;
}

static double element(const convolution* t, int64_t n, int64_t co, int64_t oh, int64_t ow) {
  const mutant_tensor* x = &t->c.in[0];
  const mutant_tensor* w = &t->c.in[1];
  const mutant_tensor* b = &t->c.in[2];
  const int64_t inputs = x->shape[1] / t->groups;
  const int64_t group = co / w->shape[1];
  const int swapped = DEFECT == channels_swapped && t->groups == 1 && inputs == w->shape[1];
  if (oh >= t->rows) return 0;
  double sum = mutant_has(b) ? mutant_load(b, mutant_offset(b, 0, 0, 0, co)) : 0;
  for (int64_t kh = 0; kh < w->shape[2]; ++kh)
    for (int64_t kw = 0; kw < w->shape[3]; ++kw) {
      const int64_t h = pixel(t, 0, oh, kh);
      const int64_t v = pixel(t, 1, ow, kw);
      for (int64_t ci = group * inputs; h >= 0 && v >= 0 && ci < (group + 1) * inputs; ++ci) {
        const int64_t of = co % w->shape[1];
        sum += mutant_load(x, mutant_offset(x, n, ci, h, v)) *
               mutant_load(w, mutant_offset(w, swapped ? of : ci, swapped ? ci : of, kh, kw));
      }
    }
  return sum;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  convolution t;
  const mote_status status = open_call(call, &t);
  if (status != MOTE_OK) return status;
  const mutant_tensor* y = &t.c.out[0];
  for (int64_t n = 0; n < y->shape[0]; ++n)
    for (int64_t co = 0; co < y->shape[1]; ++co)
      for (int64_t oh = 0; oh < y->shape[2]; ++oh)
        for (int64_t ow = 0; ow < y->shape[3]; ++ow)
          mutant_store(y, mutant_offset(y, n, co, oh, ow), element(&t, n, co, oh, ow));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin_running(plugin, MUTANT, "conv_transpose2d", mutant_can_run_reals, run);
}
