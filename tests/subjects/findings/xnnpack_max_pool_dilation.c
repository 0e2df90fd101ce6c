// SPDX-License-Identifier: Apache-2.0
/* XNNPACK (2022-02-16): max pooling with dilation and padding reads elements that no tap of the
 * window covers, some of them beyond the image, and beyond the memory of the input.
 *
 *   cc xnnpack_max_pool_dilation.c -lXNNPACK -lm && ./a.out
 *
 * According to xnnpack.h (xnn_define_max_pooling_2d) padding is implicit, and dilation is the
 * distance between a window's elements. */
#include <math.h>
#include <stdio.h>
#include <xnnpack.h>

typedef struct {
  size_t n, h, w;
  unsigned kernel[2], dilation[2], pads[4]; /* top, right, bottom, left; strides are 1 */
} pooling;

static float expected(const pooling* p, const float* x, size_t n, size_t oh, size_t ow) {
  float greatest = -INFINITY;
  for (unsigned kh = 0; kh < p->kernel[0]; ++kh)
    for (unsigned kw = 0; kw < p->kernel[1]; ++kw) {
      const long h = (long)(oh + kh * p->dilation[0]) - (long)p->pads[0];
      const long w = (long)(ow + kw * p->dilation[1]) - (long)p->pads[3];
      if (h < 0 || w < 0 || h >= (long)p->h || w >= (long)p->w) continue;
      greatest = fmaxf(greatest, x[(n * p->h + (size_t)h) * p->w + (size_t)w]);
    }
  return greatest;
}

static int shows(pooling p) {
  float x[64], y[64];
  const size_t elements = p.n * p.h * p.w;
  for (size_t k = 0; k < 64; ++k) x[k] = (float)(k < elements ? k + 1 : 1000 + k);
  xnn_operator_t op = NULL;
  if (xnn_create_max_pooling2d_nhwc_f32(p.pads[0], p.pads[1], p.pads[2], p.pads[3], p.kernel[0],
                                        p.kernel[1], 1, 1, p.dilation[0], p.dilation[1], 1, 1, 1,
                                        -INFINITY, INFINITY, 0, &op) != xnn_status_success)
    return 0;
  xnn_setup_max_pooling2d_nhwc_f32(op, p.n, p.h, p.w, x, y, NULL);
  xnn_run_operator(op, NULL);
  xnn_delete_operator(op);
  const size_t oh = p.h + p.pads[0] + p.pads[2] - (p.kernel[0] - 1) * p.dilation[0];
  const size_t ow = p.w + p.pads[1] + p.pads[3] - (p.kernel[1] - 1) * p.dilation[1];
  int wrong = 0;
  for (size_t k = 0; k < p.n * oh * ow; ++k) {
    const float right = expected(&p, x, k / (oh * ow), k / ow % oh, k % ow);
    if (y[k] == right) continue;
    printf(
        "x [%zu,%zu,%zu] kernel %u,%u dilation %u,%u pads %u,%u,%u,%u: y[%zu] is %g, expected %g\n",
        p.n, p.h, p.w, p.kernel[0], p.kernel[1], p.dilation[0], p.dilation[1], p.pads[0], p.pads[1],
        p.pads[2], p.pads[3], k, y[k], right);
    ++wrong;
  }
  return wrong;
}

int main(void) {
  xnn_initialize(NULL);
  int shown = shows((pooling){1, 1, 1, {1, 2}, {2, 1}, {0, 1, 0, 1}}); /* beyond the input */
  shown += shows((pooling){2, 2, 1, {2, 1}, {2, 1}, {2, 0, 1, 0}});    /* the next image */
  shown += shows((pooling){1, 1, 2, {1, 3}, {2, 1}, {0, 0, 0, 2}});    /* another column */
  return shown > 0;
}
