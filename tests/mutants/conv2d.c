// SPDX-License-Identifier: Apache-2.0
/* conv2d, computed tap by tap. */
#include "mutant.h"

enum {
  correct,
  right_pad_is_left,   /* columns are counted from the right pad, not from the left one */
  dilation_h_for_w,    /* the rows' dilation is used for the columns too */
  strides_swapped,     /* the strides of rows and columns are exchanged */
  last_group_off,      /* the last group reads the channels of the one before */
  halo_reads_next_row, /* a tap beyond the right edge reads the next row's first elements */
  kernel_flipped,      /* the rows of the kernel run from last to first */
  bias_per_group       /* the bias is read at the channel's index within its group */
};

typedef struct {
  mutant_tensor x, w, bias, y;
  int64_t stride[2], dilation[2], top, left, groups;
} convolution;

static mote_status open_call(const mote_call* call, convolution* t) {
  mutant_call c;
  const mote_status status = mutant_open_call(call, &c);
  if (status != MOTE_OK) return status;
  t->x = c.in[0];
  t->w = c.in[1];
  t->bias = c.in[2];
  t->y = c.out[0];
  const int swapped = DEFECT == strides_swapped;
  t->stride[0] = mutant_integer(call, swapped ? "stride1" : "stride0", 1);
  t->stride[1] = mutant_integer(call, swapped ? "stride0" : "stride1", 1);
  t->dilation[0] = mutant_integer(call, "dilation0", 1);
  t->dilation[1] = mutant_integer(call, DEFECT == dilation_h_for_w ? "dilation0" : "dilation1", 1);
  t->groups = mutant_integer(call, "groups", 1);
  t->top = mutant_integer(call, "pads0", 0);
  t->left = mutant_integer(call, DEFECT == right_pad_is_left ? "pads3" : "pads1", 0);
  return MOTE_OK;
}

static double tap(const convolution* t, int64_t n, int64_t channel, int64_t ih, int64_t iw) {
  const int64_t height = t->x.shape[2];
  const int64_t width = t->x.shape[3];
  const int beyond = iw >= width && iw < 2 * width && ih >= 0 && ih + 1 < height;
  if (DEFECT == halo_reads_next_row && beyond)
    return mutant_load(&t->x, mutant_offset(&t->x, n, channel, ih + 1, iw - width));
  if (ih < 0 || ih >= height || iw < 0 || iw >= width) return 0;
  return mutant_load(&t->x, mutant_offset(&t->x, n, channel, ih, iw));
}

static int is_outside(const convolution* t, int64_t ih, int64_t iw) {
  return ih < 0 || ih >= t->x.shape[2] || iw < 0 || iw >= t->x.shape[3];
}

static double element(const convolution* t, int64_t n, int64_t co, int64_t oh, int64_t ow) {
  const int64_t channels = t->w.shape[1];
  const int64_t in_group = t->w.shape[0] / t->groups;
  int64_t group = co / in_group;
  const int64_t b = DEFECT == bias_per_group ? co % in_group : co;
  if (DEFECT == last_group_off && group > 0 && group + 1 == t->groups) --group;
  double sum =
      mutant_has(&t->bias) ? mutant_load(&t->bias, mutant_offset(&t->bias, 0, 0, 0, b)) : 0;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t kh = 0; kh < t->w.shape[2]; ++kh)
      for (int64_t kw = 0; kw < t->w.shape[3]; ++kw) {
        const int64_t ih = oh * t->stride[0] - t->top + kh * t->dilation[0];
        const int64_t iw = ow * t->stride[1] - t->left + kw * t->dilation[1];
        if (DEFECT != halo_reads_next_row && is_outside(t, ih, iw)) continue;
        const double x = tap(t, n, group * channels + c, ih, iw);
        if (x == 0 && is_outside(t, ih, iw)) continue;
        const int64_t row = DEFECT == kernel_flipped ? t->w.shape[2] - 1 - kh : kh;
        sum += x * mutant_load(&t->w, mutant_offset(&t->w, co, c, row, kw));
      }
  return sum;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  convolution t;
  const mote_status status = open_call(call, &t);
  if (status != MOTE_OK) return status;
  for (int64_t n = 0; n < t.y.shape[0]; ++n)
    for (int64_t co = 0; co < t.y.shape[1]; ++co)
      for (int64_t oh = 0; oh < t.y.shape[2]; ++oh)
        for (int64_t ow = 0; ow < t.y.shape[3]; ++ow)
          mutant_store(&t.y, mutant_offset(&t.y, n, co, oh, ow), element(&t, n, co, oh, ow));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin_running(plugin, MUTANT, "conv2d", mutant_can_run_reals, run);
}
