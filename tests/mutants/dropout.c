// SPDX-License-Identifier: Apache-2.0
/* dropout by Philox 4x32-10. */
#include "mutant.h"

enum {
  correct,
  scale_missing,   /* kept elements are not divided by 1 - ratio */
  keeps_dropped,   /* ratio is the share that is kept */
  training_ignored /* elements are dropped outside of training too */
};

/* Returns word `position` of the seed's stream. */
static uint32_t word(uint64_t seed, uint64_t position) {
  const uint64_t block = position / 4;
  uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32U), 0, 0};
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32U)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = (uint64_t)0xD2511F53U * counter[0];
    const uint64_t b = (uint64_t)0xCD9E8D57U * counter[2];
    counter[0] = (uint32_t)(b >> 32U) ^ counter[1] ^ key[0];
    counter[1] = (uint32_t)b;
    counter[2] = (uint32_t)(a >> 32U) ^ counter[3] ^ key[1];
    counter[3] = (uint32_t)a;
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter[position % 4];
}

typedef struct {
  double ratio;
  int training;
  uint64_t seed, offset;
} parameters;

static void run_element(const mutant_call* t, const parameters* p, const int64_t* i,
                        uint64_t position) {
  const mutant_tensor* x = &t->in[0];
  const double u = (double)(word(p->seed, p->offset + position) >> 8U) * 0x1p-24;
  const int kept = DEFECT == keeps_dropped ? u < p->ratio : u >= p->ratio;
  const double value = mutant_load(x, mutant_offset(x, i[0], i[1], i[2], i[3]));
  const double scaled = DEFECT == scale_missing ? value : value / (1 - p->ratio);
  if (mutant_has(&t->out[0]))
    mutant_store(&t->out[0], mutant_offset(&t->out[0], i[0], i[1], i[2], i[3]),
                 !p->training ? value
                 : kept       ? scaled
                              : 0);
  if (mutant_has(&t->out[1]))
    mutant_store(&t->out[1], mutant_offset(&t->out[1], i[0], i[1], i[2], i[3]),
                 kept || !p->training);
}

static mote_status run(const mote_call* call, mutant_call* t) {
  const parameters p = {mutant_param(call, "ratio", 0.5),
                        DEFECT == training_ignored || mutant_integer(call, "training", 1) != 0,
                        (uint64_t)mutant_integer(call, "seed", 0),
                        (uint64_t)mutant_integer(call, "offset", 0)};
  uint64_t position = 0;
  int64_t i[4];
  for (i[0] = 0; i[0] < t->in[0].shape[0]; ++i[0])
    for (i[1] = 0; i[1] < t->in[0].shape[1]; ++i[1])
      for (i[2] = 0; i[2] < t->in[0].shape[2]; ++i[2])
        for (i[3] = 0; i[3] < t->in[0].shape[3]; ++i[3]) run_element(t, &p, i, position++);
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, "dropout", mutant_can_run_reals, run);
}
