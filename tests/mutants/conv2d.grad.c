// SPDX-License-Identifier: Apache-2.0
/* conv2d.grad: each product of the convolution adds to gx and to gw; gb is the sum of gy. */
#include <stdlib.h>

#include "mutant.h"

enum {
  correct,
  drops_last_image, /* gw leaves out the last image of the batch */
  bias_one_image    /* gb is the sum over the first image only */
};

/* The sums of a gradient, dense. */
typedef struct {
  const mutant_tensor* of;
  double* sums;
} gradient;

static double* at(const gradient* g, int64_t i, int64_t j, int64_t k, int64_t l) {
  const int64_t* s = g->of->shape;
  return &g->sums[((i * s[1] + j) * s[2] + k) * s[3] + l];
}

static int start(gradient* g, const mutant_tensor* of) {
  g->of = of;
  g->sums = NULL;
  if (!mutant_has(of)) return 1;
  const int64_t count = of->shape[0] * of->shape[1] * of->shape[2] * of->shape[3];
  g->sums = calloc((size_t)count + 1, sizeof(double));
  return g->sums != NULL;
}

static void finish(gradient* g) {
  if (g->sums == NULL) return;
  const int64_t* s = g->of->shape;
  for (int64_t i = 0; i < s[0]; ++i)
    for (int64_t j = 0; j < s[1]; ++j)
      for (int64_t k = 0; k < s[2]; ++k)
        for (int64_t l = 0; l < s[3]; ++l)
          mutant_store(g->of, mutant_offset(g->of, i, j, k, l), *at(g, i, j, k, l));
  free(g->sums);
}

typedef struct {
  mutant_call c;
  int64_t stride[2], dilation[2], pads[2], groups;
  gradient gx, gw, gb;
} backward;

/* Adds all taps of one element of gy. */
static void add_taps(const backward* t, int64_t n, int64_t co, int64_t oh, int64_t ow, double gy) {
  const mutant_tensor* x = &t->c.in[1];
  const mutant_tensor* w = &t->c.in[2];
  const int64_t group = co / (w->shape[0] / t->groups);
  const int counts = !(DEFECT == drops_last_image && n > 0 && n + 1 == x->shape[0]);
  for (int64_t c = 0; c < w->shape[1]; ++c)
    for (int64_t kh = 0; kh < w->shape[2]; ++kh)
      for (int64_t kw = 0; kw < w->shape[3]; ++kw) {
        const int64_t ih = oh * t->stride[0] - t->pads[0] + kh * t->dilation[0];
        const int64_t iw = ow * t->stride[1] - t->pads[1] + kw * t->dilation[1];
        if (ih < 0 || ih >= x->shape[2] || iw < 0 || iw >= x->shape[3]) continue;
        const int64_t ci = group * w->shape[1] + c;
        if (t->gx.sums != NULL)
          *at(&t->gx, n, ci, ih, iw) += gy * mutant_load(w, mutant_offset(w, co, c, kh, kw));
        if (t->gw.sums != NULL && counts)
          *at(&t->gw, co, c, kh, kw) += gy * mutant_load(x, mutant_offset(x, n, ci, ih, iw));
      }
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  backward t;
  const mote_status status = mutant_open_call(call, &t.c);
  if (status != MOTE_OK) return status;
  const char* names[2][3] = {{"stride0", "dilation0", "pads0"}, {"stride1", "dilation1", "pads1"}};
  for (int axis = 0; axis < 2; ++axis) {
    t.stride[axis] = mutant_integer(call, names[axis][0], 1);
    t.dilation[axis] = mutant_integer(call, names[axis][1], 1);
    t.pads[axis] = mutant_integer(call, names[axis][2], 0);
  }
  t.groups = mutant_integer(call, "groups", 1);
  const int started =
      start(&t.gx, &t.c.out[0]) & start(&t.gw, &t.c.out[1]) & start(&t.gb, &t.c.out[2]);
  const mutant_tensor* gy = &t.c.in[0];
  for (int64_t n = 0; n < gy->shape[0] && started; ++n)
    for (int64_t co = 0; co < gy->shape[1]; ++co)
      for (int64_t oh = 0; oh < gy->shape[2]; ++oh)
        for (int64_t ow = 0; ow < gy->shape[3]; ++ow) {
          const double g = mutant_load(gy, mutant_offset(gy, n, co, oh, ow));
          if (t.gb.sums != NULL && !(DEFECT == bias_one_image && n > 0)) t.gb.sums[co] += g;
          if (t.gx.sums != NULL || t.gw.sums != NULL) add_taps(&t, n, co, oh, ow, g);
        }
  finish(&t.gx);
  finish(&t.gw);
  finish(&t.gb);
  return started ? MOTE_OK : MOTE_OUT_OF_MEMORY;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin_running(plugin, MUTANT, "conv2d.grad", mutant_can_run_reals, run);
}
