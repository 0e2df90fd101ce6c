// SPDX-License-Identifier: Apache-2.0
/* conv2d of 3x3 kernels at stride and dilation 1 by Winograd's F(2x2, 3x3), in floats: y = A'
 * [(G w G') * (B' x B)] A for each tile of 2x2 outputs, summed over channels. */
#include "mutant.h"

enum {
  correct,
  constant_off /* a 1/2 of G is 1e-4 too large */
};

typedef struct {
  mutant_tensor x, w, bias, y;
  int64_t top, left, groups;
} convolution;

static mote_status open_call(const mote_call* call, convolution* t) {
  mutant_call c;
  const mote_status status = mutant_open_call(call, &c);
  if (status != MOTE_OK) return status;
  t->x = c.in[0];
  t->w = c.in[1];
  t->bias = c.in[2];
  t->y = c.out[0];
  t->groups = mutant_integer(call, "groups", 1);
  t->top = mutant_integer(call, "pads0", 0);
  t->left = mutant_integer(call, "pads1", 0);
  const int64_t steps = mutant_integer(call, "stride0", 1) * mutant_integer(call, "stride1", 1) *
                        mutant_integer(call, "dilation0", 1) * mutant_integer(call, "dilation1", 1);
  if (steps != 1 || t->w.shape[2] != 3 || t->w.shape[3] != 3 || t->x.type.code != kDLFloat ||
      t->x.type.bits != 32)
    return mutant_refuse(call, MOTE_UNSUPPORTED, "only 3x3 of f32 with stride and dilation 1");
  return MOTE_OK;
}

static mote_status can_run(const mote_call* call) {
  convolution t;
  return open_call(call, &t);
}

static void transform_kernel(float from[3][3], float to[4][4]) {
  const float half = DEFECT == constant_off ? 0.5F + 1e-4F : 0.5F;
  float rows[4][3];
  for (int j = 0; j < 3; ++j) {
    const float sum = from[0][j] + from[2][j];
    rows[0][j] = from[0][j];
    rows[1][j] = half * (sum + from[1][j]);
    rows[2][j] = 0.5F * (sum - from[1][j]);
    rows[3][j] = from[2][j];
  }
  for (int i = 0; i < 4; ++i) {
    const float sum = rows[i][0] + rows[i][2];
    to[i][0] = rows[i][0];
    to[i][1] = 0.5F * (sum + rows[i][1]);
    to[i][2] = 0.5F * (sum - rows[i][1]);
    to[i][3] = rows[i][2];
  }
}

static void transform_patch(float from[4][4], float to[4][4]) {
  float rows[4][4];
  for (int j = 0; j < 4; ++j) {
    rows[0][j] = from[0][j] - from[2][j];
    rows[1][j] = from[1][j] + from[2][j];
    rows[2][j] = from[2][j] - from[1][j];
    rows[3][j] = from[1][j] - from[3][j];
  }
  for (int i = 0; i < 4; ++i) {
    to[i][0] = rows[i][0] - rows[i][2];
    to[i][1] = rows[i][1] + rows[i][2];
    to[i][2] = rows[i][2] - rows[i][1];
    to[i][3] = rows[i][1] - rows[i][3];
  }
}

/* Adds the products of one channel to those of a tile. */
static void add_channel(const convolution* t, int64_t n, int64_t co, int64_t c, int64_t oh,
                        int64_t ow, float products[4][4]) {
  float w[3][3];
  float x[4][4];
  float u[4][4];
  float v[4][4];
  const int64_t channel = co / (t->w.shape[0] / t->groups) * t->w.shape[1] + c;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      w[i][j] = (float)mutant_load(&t->w, mutant_offset(&t->w, co, c, i, j));
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int64_t ih = oh - t->top + i;
      const int64_t iw = ow - t->left + j;
      const int inside = ih >= 0 && ih < t->x.shape[2] && iw >= 0 && iw < t->x.shape[3];
      x[i][j] = inside ? (float)mutant_load(&t->x, mutant_offset(&t->x, n, channel, ih, iw)) : 0.0F;
    }
  transform_kernel(w, u);
  transform_patch(x, v);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) products[i][j] += u[i][j] * v[i][j];
}

static void store_tile(const convolution* t, int64_t n, int64_t co, int64_t oh, int64_t ow,
                       float products[4][4]) {
  float rows[2][4];
  for (int j = 0; j < 4; ++j) {
    rows[0][j] = products[0][j] + products[1][j] + products[2][j];
    rows[1][j] = products[1][j] - products[2][j] - products[3][j];
  }
  const float bias =
      mutant_has(&t->bias) ? (float)mutant_load(&t->bias, mutant_offset(&t->bias, 0, 0, 0, co)) : 0;
  for (int i = 0; i < 2 && oh + i < t->y.shape[2]; ++i)
    for (int j = 0; j < 2 && ow + j < t->y.shape[3]; ++j) {
      const float value =
          j == 0 ? rows[i][0] + rows[i][1] + rows[i][2] : rows[i][1] - rows[i][2] - rows[i][3];
      mutant_store(&t->y, mutant_offset(&t->y, n, co, oh + i, ow + j), (double)(value + bias));
    }
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  convolution t;
  const mote_status status = open_call(call, &t);
  if (status != MOTE_OK) return status;
  for (int64_t n = 0; n < t.y.shape[0]; ++n)
    for (int64_t co = 0; co < t.y.shape[1]; ++co)
      for (int64_t oh = 0; oh < t.y.shape[2]; oh += 2)
        for (int64_t ow = 0; ow < t.y.shape[3]; ow += 2) {
          float products[4][4] = {{0}};
          for (int64_t c = 0; c < t.w.shape[1]; ++c) add_channel(&t, n, co, c, oh, ow, products);
          store_tile(&t, n, co, oh, ow, products);
        }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  mutant_contract.accumulator = MOTE_ACC_NATIVE;
  mutant_contract.form = "winograd_f2";
  return mutant_plugin_running(plugin, MUTANT, "conv2d", can_run, run);
}
