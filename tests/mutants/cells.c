// SPDX-License-Identifier: Apache-2.0
/* lstm_cell and gru_cell; OP selects one. */
#include "mutant.h"

enum {
  correct,
  gates_of_onnx,   /* lstm: gates are in the order input, output, forget, cell */
  tanh_missing,    /* lstm: h is gated from c itself, without tanh */
  forget_bias_1,   /* lstm: 1 is added to the forget gate's bias */
  gates_of_cudnn,  /* gru: gates are in the order reset, update, new */
  reset_before,    /* gru: the reset gate multiplies h before the product with r */
  bias_outside,    /* gru: the new gate's second bias is not reset */
  update_exchanged /* gru: the update gate is the share of the new state */
};

typedef struct {
  mutant_tensor x, h, c, w, r, b;
} cell;

static double sigmoid(double v) { return 1 / (1 + exp(-v)); }

static double at(const mutant_tensor* t, int64_t i, int64_t j) {
  return mutant_load(t, mutant_offset(t, 0, 0, i, j));
}

static double from_input(const cell* t, int64_t g, int64_t n, int64_t k) {
  double sum = 0;
  for (int64_t i = 0; i < t->x.shape[3]; ++i)
    sum += at(&t->x, n, i) * mutant_load(&t->w, mutant_offset(&t->w, 0, g, k, i));
  return sum;
}

static double from_state(const cell* t, int64_t g, int64_t n, int64_t k) {
  double sum = 0;
  for (int64_t j = 0; j < t->h.shape[3]; ++j)
    sum += at(&t->h, n, j) * mutant_load(&t->r, mutant_offset(&t->r, 0, g, k, j));
  return sum;
}

static double gate(const cell* t, int64_t g, int64_t n, int64_t k) {
  return from_input(t, g, n, k) + from_state(t, g, n, k) + at(&t->b, g, k);
}

static void lstm(const cell* t, const mutant_call* call, int64_t n, int64_t k) {
  static const int64_t ours[4] = {0, 1, 2, 3};
  static const int64_t onnx[4] = {0, 2, 3, 1};
  const int64_t* order = DEFECT == gates_of_onnx ? onnx : ours;
  const double forget = gate(t, order[1], n, k) + (DEFECT == forget_bias_1 ? 1 : 0);
  const double c = sigmoid(forget) * at(&t->c, n, k) +
                   sigmoid(gate(t, order[0], n, k)) * tanh(gate(t, order[2], n, k));
  const double h = sigmoid(gate(t, order[3], n, k)) * (DEFECT == tanh_missing ? c : tanh(c));
  const double values[2] = {h, c};
  for (int o = 0; o < 2; ++o)
    if (mutant_has(&call->out[o]))
      mutant_store(&call->out[o], mutant_offset(&call->out[o], 0, 0, n, k), values[o]);
}

/* Computes sum_j s[n, j] * h[n, j] * r[2, k, j], which replaces s[n, k] * (the sum) in
 * reset_before. */
static double reset_state(const cell* t, int64_t n, int64_t k) {
  double sum = 0;
  for (int64_t j = 0; j < t->h.shape[3]; ++j)
    sum += sigmoid(gate(t, 1, n, j)) * at(&t->h, n, j) *
           mutant_load(&t->r, mutant_offset(&t->r, 0, 2, k, j));
  return sum;
}

static double gru(const cell* t, int64_t n, int64_t k) {
  const int swapped = DEFECT == gates_of_cudnn;
  const double update = sigmoid(gate(t, swapped ? 1 : 0, n, k));
  const double reset = sigmoid(gate(t, swapped ? 0 : 1, n, k));
  const double bias = at(&t->b, 3, k);
  double state = reset * (from_state(t, 2, n, k) + bias);
  if (DEFECT == bias_outside) state = reset * from_state(t, 2, n, k) + bias;
  if (DEFECT == reset_before) state = reset_state(t, n, k) + bias;
  const double fresh = tanh(from_input(t, 2, n, k) + at(&t->b, 2, k) + state);
  const double old = at(&t->h, n, k);
  return DEFECT == update_exchanged ? update * fresh + (1 - update) * old
                                    : (1 - update) * fresh + update * old;
}

static mote_status run(const mote_call* call, mutant_call* c) {
  (void)call;
  const int is_lstm = strcmp(OP, "lstm_cell") == 0;
  const mutant_tensor* rest = &c->in[is_lstm ? 3 : 2];
  const cell t = {c->in[0], c->in[1], c->in[2], rest[0], rest[1], rest[2]};
  for (int64_t n = 0; n < t.h.shape[2]; ++n)
    for (int64_t k = 0; k < t.h.shape[3]; ++k) {
      if (is_lstm)
        lstm(&t, c, n, k);
      else
        mutant_store(&c->out[0], mutant_offset(&c->out[0], 0, 0, n, k), gru(&t, n, k));
    }
  return MOTE_OK;
}

mote_status mote_plugin_init(mote_plugin* plugin) {
  return mutant_plugin(plugin, MUTANT, OP, mutant_can_run_reals, run);
}
