/* gelu and cast_bf16 of x; OP says which. */
#include "mutant.h"

enum {
  correct,
  tanh_formula, /* gelu by the approximation with tanh */
  truncates     /* the lower half of a float's bits is dropped */
};

static double gelu(double x) {
  const double cubic = sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  if (DEFECT == tanh_formula) return x / 2 * (1 + tanh(cubic));
  return x / 2 * (1 + erf(x / sqrt(2.0)));
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  mutant_call t;
  const mote_status status = mutant_open_call(call, &t);
  if (status != MOTE_OK) return status;
  const mutant_tensor* x = &t.in[0];
  const mutant_tensor* y = &t.out[0];
  for (int64_t i = 0; i < y->shape[0]; ++i)
    for (int64_t j = 0; j < y->shape[1]; ++j)
      for (int64_t k = 0; k < y->shape[2]; ++k)
        for (int64_t l = 0; l < y->shape[3]; ++l) {
          const double value = mutant_load(x, mutant_offset(x, i, j, k, l));
          const int64_t at = mutant_offset(y, i, j, k, l);
          if (DEFECT == truncates && !isnan(value))
            ((uint16_t*)y->data)[at] = mutant_upper_half((float)value);
          else
            mutant_store(y, at, strcmp(OP, "gelu") == 0 ? gelu(value) : value);
        }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, OP, mutant_can_run_reals, run);
}
