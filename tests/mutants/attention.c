// SPDX-License-Identifier: Apache-2.0
/* attention, computed one query at a time. */
#include "mutant.h"

enum {
  correct,
  kv_tail_scored_0, /* keys beyond S, up to a multiple of 8, score 0 instead of -inf */
  masked_row_nan,   /* a query that sees no key gives 0/0 */
  causal_off_by_1,  /* a query also sees the key after its own */
  heads_by_mod,     /* head h reads the keys of head h % HK, not h / G */
  scale_missing,    /* the default scale is 1 */
  hidden_correct,   /* v of hidden keys is multiplied by 0, and the contract says so */
  hidden_leaks      /* v of hidden keys is multiplied by 0, and the contract does not say so */
};

enum { multiplies_hidden = DEFECT == hidden_correct || DEFECT == hidden_leaks };

typedef struct {
  mutant_tensor q, k, v, mask, y;
  double scale;
  int64_t causal, anchor, before, after;
} attention;

static mote_status open_call(const mote_call* call, attention* t) {
  mutant_call c;
  const mote_status status = mutant_open_call(call, &c);
  if (status != MOTE_OK) return status;
  t->q = c.in[0];
  t->k = c.in[1];
  t->v = c.in[2];
  t->mask = c.in[3];
  t->y = c.out[0];
  for (int axis = 0; axis < kMaxRank; ++axis)
    if (t->mask.shape[axis] == 1) t->mask.strides[axis] = 0;
  t->scale = mutant_param(call, "scale", 0);
  if (t->scale == 0) t->scale = DEFECT == scale_missing ? 1 : 1 / sqrt((double)t->q.shape[3]);
  t->causal = mutant_integer(call, "causal", 0);
  t->anchor = mutant_integer(call, "anchor", 0);
  t->before = mutant_integer(call, "window0", -1);
  t->after = mutant_integer(call, "window1", -1);
  return MOTE_OK;
}

static int sees(const attention* t, int64_t query, int64_t key) {
  const int64_t own = query + (t->anchor != 0 ? t->k.shape[2] - t->q.shape[2] : 0);
  const int64_t last = DEFECT == causal_off_by_1 ? own + 1 : own;
  if (t->causal != 0 && key > last) return 0;
  if (t->before >= 0 && key < own - t->before) return 0;
  return t->after < 0 || key <= own + t->after;
}

static int64_t head_of_keys(const attention* t, int64_t h) {
  const int64_t heads = t->k.shape[1];
  return DEFECT == heads_by_mod ? h % heads : h / (t->q.shape[1] / heads);
}

static double score(const attention* t, int64_t b, int64_t h, int64_t query, int64_t key) {
  double sum = 0;
  for (int64_t d = 0; d < t->q.shape[3]; ++d)
    sum += mutant_load(&t->q, mutant_offset(&t->q, b, h, query, d)) *
           mutant_load(&t->k, mutant_offset(&t->k, b, head_of_keys(t, h), key, d));
  sum *= t->scale;
  if (mutant_has(&t->mask)) sum += mutant_load(&t->mask, mutant_offset(&t->mask, b, h, query, key));
  return sum;
}

static double greatest_score(const attention* t, int64_t b, int64_t h, int64_t query) {
  double greatest = -INFINITY;
  for (int64_t s = 0; s < t->k.shape[2]; ++s) {
    if (!sees(t, query, s)) continue;
    const double value = score(t, b, h, query, s);
    if (isnan(value)) return value;
    if (value > greatest) greatest = value;
  }
  return greatest == -INFINITY ? 0 : greatest;
}

static void attend(const attention* t, int64_t b, int64_t h, int64_t query) {
  const int64_t keys = t->k.shape[2];
  const double greatest = greatest_score(t, b, h, query);
  double sum = 0;
  for (int64_t s = 0; s < keys; ++s)
    if (sees(t, query, s)) sum += exp(score(t, b, h, query, s) - greatest);
  if (DEFECT == kv_tail_scored_0 && keys % 8 != 0) sum += (double)(8 - keys % 8) * exp(-greatest);
  for (int64_t e = 0; e < t->v.shape[3]; ++e) {
    double mixed = 0;
    for (int64_t s = 0; s < keys; ++s)
      if (multiplies_hidden || sees(t, query, s))
        mixed += (sees(t, query, s) ? exp(score(t, b, h, query, s) - greatest) : 0) *
                 mutant_load(&t->v, mutant_offset(&t->v, b, head_of_keys(t, h), s, e));
    const int hidden = sum == 0 && DEFECT != masked_row_nan;
    mutant_store(&t->y, mutant_offset(&t->y, b, h, query, e), hidden ? 0 : mixed / sum);
  }
}

static mote_status run(const mote_call* call, void* stream) {
  (void)stream;
  attention t;
  const mote_status status = open_call(call, &t);
  if (status != MOTE_OK) return status;
  for (int64_t b = 0; b < t.q.shape[0]; ++b)
    for (int64_t h = 0; h < t.q.shape[1]; ++h)
      for (int64_t query = 0; query < t.q.shape[2]; ++query) attend(&t, b, h, query);
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  if (DEFECT == hidden_correct) mutant_contract.form = "hidden_multiplied";
  return mutant_plugin_running(plugin, MUTANT, "attention", mutant_can_run_reals, run);
}
