// SPDX-License-Identifier: Apache-2.0
/* qconv2d: round(scale[co] * (sum of (x - x_zero) * w + b[co])) + y_zero, tap by tap. */
#include "quantised.h"

enum {
  correct,
  pads_with_0,      /* a tap outside x counts as x = 0, not as x_zero */
  bias_after_scale, /* the bias is added after scaling */
  scale_of_0        /* the first channel's scale is used for all */
};

typedef struct {
  mutant_call c;
  int64_t stride[2], dilation[2], before[2], groups;
  double x_zero, y_zero;
} convolution;

static mote_status open_call(const mote_call* call, convolution* t) {
  t->stride[0] = mutant_integer(call, "stride0", 1);
  t->stride[1] = mutant_integer(call, "stride1", 1);
  t->dilation[0] = mutant_integer(call, "dilation0", 1);
  t->dilation[1] = mutant_integer(call, "dilation1", 1);
  t->before[0] = mutant_integer(call, "pads0", 0);
  t->before[1] = mutant_integer(call, "pads1", 0);
  t->groups = mutant_integer(call, "groups", 1);
  t->x_zero = mutant_param(call, "x_zero", 0);
  t->y_zero = mutant_param(call, "y_zero", 0);
  return mutant_open_call(call, &t->c);
}

static double sum(const convolution* t, int64_t n, int64_t co, int64_t oh, int64_t ow) {
  const mutant_tensor* x = &t->c.in[0];
  const mutant_tensor* w = &t->c.in[1];
  const int64_t group = co / (w->shape[0] / t->groups);
  double sum = 0;
  for (int64_t ci = 0; ci < w->shape[1]; ++ci)
    for (int64_t kh = 0; kh < w->shape[2]; ++kh)
      for (int64_t kw = 0; kw < w->shape[3]; ++kw) {
        const int64_t ih = oh * t->stride[0] - t->before[0] + kh * t->dilation[0];
        const int64_t iw = ow * t->stride[1] - t->before[1] + kw * t->dilation[1];
        const int inside = ih >= 0 && ih < x->shape[2] && iw >= 0 && iw < x->shape[3];
        if (!inside && DEFECT != pads_with_0) continue;
        const int64_t channel = group * w->shape[1] + ci;
        const double value = inside ? mutant_load(x, mutant_offset(x, n, channel, ih, iw)) : 0;
        sum += (value - t->x_zero) * mutant_load(w, mutant_offset(w, co, ci, kh, kw));
      }
  return sum;
}

static double element(const convolution* t, int64_t n, int64_t co, int64_t oh, int64_t ow) {
  const mutant_tensor* scale = &t->c.in[2];
  const mutant_tensor* b = &t->c.in[3];
  const double bias = mutant_has(b) ? mutant_load(b, mutant_offset(b, 0, 0, 0, co)) : 0;
  const double factor =
      mutant_load(scale, mutant_offset(scale, 0, 0, 0, DEFECT == scale_of_0 ? 0 : co));
  const double total = sum(t, n, co, oh, ow);
  if (DEFECT == bias_after_scale) return nearbyint(factor * total) + bias + t->y_zero;
  return nearbyint(factor * (total + bias)) + t->y_zero;
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
          mutant_store(y, mutant_offset(y, n, co, oh, ow),
                       mutant_saturated(y, element(&t, n, co, oh, ow)));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin_running(plugin, MUTANT, "qconv2d", mutant_can_run_all, run);
}
