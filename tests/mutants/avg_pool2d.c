// SPDX-License-Identifier: Apache-2.0
/* avg_pool2d: taps inside x are summed; the divisor counts taps in x, or in its pads too. */
#include "pool.h"

enum {
  correct,
  ceil_divisor,    /* taps beyond the pads, which ceil_mode adds, count */
  pads_never_count /* count_include_pad is ignored */
};

/* True if a tap lies in the pads or in x, along one axis. */
static int in_pads(const mutant_pool* p, int axis, int64_t at) {
  return at >= -p->before[axis] && at < p->c.in[0].shape[2 + axis] + p->after[axis];
}

static double mean_of(const mutant_pool* p, int include, int64_t n, int64_t c, int64_t oh,
                      int64_t ow) {
  const mutant_tensor* x = &p->c.in[0];
  double sum = 0;
  double count = 0;
  for (int64_t kh = 0; kh < p->kernel[0]; ++kh)
    for (int64_t kw = 0; kw < p->kernel[1]; ++kw) {
      const int64_t ih = mutant_tap(p, 0, oh, kh);
      const int64_t iw = mutant_tap(p, 1, ow, kw);
      const int inside = mutant_in_image(p, ih, iw);
      const int padded = include && in_pads(p, 0, ih) && in_pads(p, 1, iw);
      if (inside) sum += mutant_load(x, mutant_offset(x, n, c, ih, iw));
      if (inside || padded || (DEFECT == ceil_divisor && include)) count += 1;
    }
  return sum / count;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_pool p;
  const mote_status status = mutant_open_pool(call, &p);
  if (status != MOTE_OK) return status;
  const int include =
      DEFECT != pads_never_count && mutant_integer(call, "count_include_pad", 0) != 0;
  const mutant_tensor* y = &p.c.out[0];
  for (int64_t n = 0; n < y->shape[0]; ++n)
    for (int64_t c = 0; c < y->shape[1]; ++c)
      for (int64_t oh = 0; oh < y->shape[2]; ++oh)
        for (int64_t ow = 0; ow < y->shape[3]; ++ow)
          mutant_store(y, mutant_offset(y, n, c, oh, ow), mean_of(&p, include, n, c, oh, ow));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin_running(plugin, MUTANT, "avg_pool2d", mutant_can_run_reals, run);
}
