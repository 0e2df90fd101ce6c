// SPDX-License-Identifier: Apache-2.0
/* max_pool2d, computed window by window. */
#include "pool.h"

enum {
  correct,
  pads_with_0,  /* taps in the pads count as 0 */
  nan_dropped,  /* a comparison that is false for NaN skips it */
  ceil_reads_on /* the last window of a row is moved back into the image if it extends beyond it */
};

static double greatest_of(const mutant_pool* p, int64_t n, int64_t c, int64_t oh, int64_t ow) {
  const mutant_tensor* x = &p->c.in[0];
  double greatest = -INFINITY;
  int64_t back = 0;
  const int64_t last = mutant_tap(p, 1, ow, p->kernel[1] - 1);
  if (DEFECT == ceil_reads_on && last >= x->shape[3] + p->after[1])
    back = last - (x->shape[3] + p->after[1] - 1);
  for (int64_t kh = 0; kh < p->kernel[0]; ++kh)
    for (int64_t kw = 0; kw < p->kernel[1]; ++kw) {
      const int64_t ih = mutant_tap(p, 0, oh, kh);
      const int64_t iw = mutant_tap(p, 1, ow, kw) - back;
      const int inside = mutant_in_image(p, ih, iw);
      if (!inside && DEFECT != pads_with_0) continue;
      const double value = inside ? mutant_load(x, mutant_offset(x, n, c, ih, iw)) : 0;
      if (value > greatest || (isnan(value) && DEFECT != nan_dropped)) greatest = value;
      if (isnan(greatest)) return greatest;
    }
  return greatest;
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_pool p;
  const mote_status status = mutant_open_pool(call, &p);
  if (status != MOTE_OK) return status;
  const mutant_tensor* y = &p.c.out[0];
  for (int64_t n = 0; n < y->shape[0]; ++n)
    for (int64_t c = 0; c < y->shape[1]; ++c)
      for (int64_t oh = 0; oh < y->shape[2]; ++oh)
        for (int64_t ow = 0; ow < y->shape[3]; ++ow)
          mutant_store(y, mutant_offset(y, n, c, oh, ow), greatest_of(&p, n, c, oh, ow));
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin_running(plugin, MUTANT, "max_pool2d", mutant_can_run_reals, run);
}
