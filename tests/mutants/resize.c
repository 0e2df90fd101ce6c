// SPDX-License-Identifier: Apache-2.0
/* resize_linear2d and resize_nearest2d; OP selects one. The position of a pixel is a quotient of
 * whole numbers. */
#include "mutant.h"

enum {
  correct,
  aligns_corners,     /* linear: the centres of the outermost pixels coincide */
  asymmetric,         /* linear: positions are i * H / output, without the half pixels */
  truncates,          /* linear: a position before the first pixel is truncated towards 0 */
  half_pixel_ignored, /* nearest: half_pixel counts as 1 */
  rounds_down         /* nearest: the earlier of two equally near pixels is taken */
};

typedef struct {
  int64_t numerator, denominator;
} quotient;

static quotient position(int64_t i, int64_t from, int64_t to) {
  if (DEFECT == aligns_corners) return (quotient){i * (from - 1), to > 1 ? to - 1 : 1};
  if (DEFECT == asymmetric) return (quotient){i * from, to};
  return (quotient){(2 * i + 1) * from - to, 2 * to};
}

static int64_t floor_of(quotient q) {
  const int64_t whole = q.numerator / q.denominator;
  const int below = q.numerator % q.denominator < 0 && DEFECT != truncates;
  return below ? whole - 1 : whole;
}

static int64_t clamp(int64_t at, int64_t extent) {
  return at < 0 ? 0 : at >= extent ? extent - 1 : at;
}

static double linear(const mutant_tensor* x, const mutant_tensor* y, const int64_t* at) {
  const quotient q[2] = {position(at[2], x->shape[2], y->shape[2]),
                         position(at[3], x->shape[3], y->shape[3])};
  double sum = 0;
  for (int64_t tap = 0; tap < 4; ++tap) {
    const int64_t k[2] = {tap / 2, tap % 2};
    double weight = 1;
    int64_t pixel[2];
    for (int axis = 0; axis < 2; ++axis) {
      const int64_t first = floor_of(q[axis]);
      const double beyond =
          (double)(q[axis].numerator - first * q[axis].denominator) / (double)q[axis].denominator;
      weight *= k[axis] != 0 ? beyond : 1 - beyond;
      pixel[axis] = clamp(first + k[axis], x->shape[2 + axis]);
    }
    sum += weight * mutant_load(x, mutant_offset(x, at[0], at[1], pixel[0], pixel[1]));
  }
  return sum;
}

static int64_t nearest(int64_t i, int64_t half, int64_t from, int64_t to) {
  const int64_t numerator = (2 * i + half) * from;
  const int tied = DEFECT == rounds_down && half != 0 && numerator % (2 * to) == 0;
  return clamp(numerator / (2 * to) - (tied ? 1 : 0), from);
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const mutant_tensor* x = &t->in[0];
  const mutant_tensor* y = &t->out[0];
  const int empty = x->shape[2] == 0 || x->shape[3] == 0;
  const int64_t half = DEFECT == half_pixel_ignored ? 1 : mutant_integer(call, "half_pixel", 1);
  for (int64_t n = 0; n < y->shape[0]; ++n)
    for (int64_t c = 0; c < y->shape[1]; ++c)
      for (int64_t i = 0; i < y->shape[2]; ++i)
        for (int64_t j = 0; j < y->shape[3]; ++j) {
          const int64_t at[4] = {n, c, i, j};
          const int64_t to = mutant_offset(y, n, c, i, j);
          if (empty || strcmp(OP, "resize_linear2d") == 0) {
            mutant_store(y, to, empty ? 0 : linear(x, y, at));
            continue;
          }
          const int64_t row = nearest(i, half, x->shape[2], y->shape[2]);
          const int64_t column = nearest(j, half, x->shape[3], y->shape[3]);
          mutant_store(y, to, mutant_load(x, mutant_offset(x, n, c, row, column)));
        }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, OP, mutant_can_run_reals, run);
}
