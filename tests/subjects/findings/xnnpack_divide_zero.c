// SPDX-License-Identifier: Apache-2.0
/* XNNPACK (2022-02-16): 0 / 0 is -inf.
 * cc xnnpack_divide_zero.c -lXNNPACK && ./a.out
 * According to xnnpack.h (xnn_define_divide) output_min is the lower bound for clipping output
 * values; from -inf to inf no value is clipped, and IEEE 754 gives NaN. */
#include <math.h>
#include <stdio.h>
#include <xnnpack.h>

int main(void) {
  float a[8] = {0}, b[8] = {0}, y = 0;
  const size_t shape[1] = {1};
  xnn_operator_t op = NULL;
  xnn_initialize(NULL);
  xnn_create_divide_nd_f32(-INFINITY, INFINITY, 0, &op);
  xnn_setup_divide_nd_f32(op, 1, shape, 1, shape, a, b, &y, NULL);
  xnn_run_operator(op, NULL);
  printf("0 / 0 is %g, expected nan\n", y);
  return !isnan(y);
}
