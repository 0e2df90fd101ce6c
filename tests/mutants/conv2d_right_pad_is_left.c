/* Defect: the right pad stands where the left pad should: columns are counted from pads3 instead of
 * pads1. Right wherever the two are equal. */
#include "mutant.h"

typedef struct {
  mutant_tensor x, w, bias, y;
  int has_bias;
  int64_t stride[2], dilation[2], top, left, groups;
} convolution;

static int64_t integer(const mote_call* call, const char* name, int64_t missing) {
  return (int64_t)mutant_param(call, name, (double)missing);
}

static mote_status open_call(const mote_call* call, convolution* t) {
  if (call->input_count < 2 || call->output_count != 1 || mutant_open(call->inputs[0], &t->x) ||
      mutant_open(call->inputs[1], &t->w) || mutant_open(call->outputs[0], &t->y))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only images of f32 or f64 on the CPU");
  t->has_bias = call->input_count > 2 && call->inputs[2] != NULL;
  if (t->has_bias && mutant_open(call->inputs[2], &t->bias))
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only a bias of f32 or f64 on the CPU");
  t->stride[0] = integer(call, "stride0", 1);
  t->stride[1] = integer(call, "stride1", 1);
  t->dilation[0] = integer(call, "dilation0", 1);
  t->dilation[1] = integer(call, "dilation1", 1);
  t->groups = integer(call, "groups", 1);
  t->top = integer(call, "pads0", 0);
  t->left = integer(call, "pads3", 0);
  if (t->groups < 1 || t->w.shape[1] * t->groups != t->x.shape[1] || t->w.shape[0] % t->groups != 0)
    return mutant_refuse(call, MOTE_INVALID, "the channels do not fit the groups");
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  convolution t;
  return open_call(call, &t);
}

static double element(const convolution* t, int64_t n, int64_t co, int64_t oh, int64_t ow) {
  const int64_t channels = t->w.shape[1];
  const int64_t group = co / (t->w.shape[0] / t->groups);
  double sum = t->has_bias ? mutant_load(&t->bias, mutant_offset(&t->bias, 0, 0, 0, co)) : 0;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t kh = 0; kh < t->w.shape[2]; ++kh)
      for (int64_t kw = 0; kw < t->w.shape[3]; ++kw) {
        const int64_t ih = oh * t->stride[0] - t->top + kh * t->dilation[0];
        const int64_t iw = ow * t->stride[1] - t->left + kw * t->dilation[1];
        if (ih < 0 || ih >= t->x.shape[2] || iw < 0 || iw >= t->x.shape[3]) continue;
        sum += mutant_load(&t->x, mutant_offset(&t->x, n, group * channels + c, ih, iw)) *
               mutant_load(&t->w, mutant_offset(&t->w, co, c, kh, kw));
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
  return mutant_plugin(plugin, "conv2d_right_pad_is_left", "conv2d", can_run, run);
}
