// SPDX-License-Identifier: Apache-2.0
/* max_pool2d_with_indices, and max_pool2d, which has the first output only. */
#include "pool.h"

enum {
  correct,
  last_tie,  /* of equal values the last wins */
  window_inf /* a window that contains only -inf has the index -1 */
};

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_pool p;
  const mote_status status = mutant_open_pool(call, &p);
  if (status != MOTE_OK) return status;
  const mutant_tensor* x = &p.c.in[0];
  const mutant_tensor* y = &p.c.out[0];
  const mutant_tensor* indices = &p.c.out[1];
  for (int64_t n = 0; n < y->shape[0]; ++n)
    for (int64_t c = 0; c < y->shape[1]; ++c)
      for (int64_t oh = 0; oh < y->shape[2]; ++oh)
        for (int64_t ow = 0; ow < y->shape[3]; ++ow) {
          double greatest = -INFINITY;
          int64_t found = -1;
          for (int64_t kh = 0; kh < p.kernel[0]; ++kh)
            for (int64_t kw = 0; kw < p.kernel[1]; ++kw) {
              const int64_t ih = mutant_tap(&p, 0, oh, kh);
              const int64_t iw = mutant_tap(&p, 1, ow, kw);
              if (!mutant_in_image(&p, ih, iw)) continue;
              const double value = mutant_load(x, mutant_offset(x, n, c, ih, iw));
              const int ties = DEFECT == last_tie && value == greatest;
              if (isnan(greatest) || !((found < 0 && DEFECT != window_inf) || isnan(value) ||
                                       value > greatest || ties))
                continue;
              greatest = value;
              found = ((n * x->shape[1] + c) * x->shape[2] + ih) * x->shape[3] + iw;
            }
          mutant_store(y, mutant_offset(y, n, c, oh, ow), greatest);
          ((int64_t*)indices->data)[mutant_offset(indices, n, c, oh, ow)] = found;
        }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin_running(plugin, MUTANT, "max_pool2d_with_indices", mutant_can_run_reals,
                               run);
}
