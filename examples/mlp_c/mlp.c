/* SPDX-License-Identifier: Apache-2.0 */
/* A network of two layers in C: its text is read, its gradient is added, it is compiled to planned
 * memory, and its weights go down the gradient. Prints the loss of "exclusive or" as it falls. */
#include <stdio.h>
#include <stdlib.h>

#include "mote/mote.h"

static const char text[] =
    "graph mlp(w1 f32[3,8], w2 f32[8,2]) -> (loss)\n"
    "  x = constant f32[4,3] [-1, -1, 1, -1, 1, 1, 1, -1, 1, 1, 1, 1]\n"
    "  t = constant i64[4] [0, 1, 1, 0]\n"
    "  h = matmul(x, w1)\n"
    "  a = tanh(h)\n"
    "  z = matmul(a, w2)\n"
    "  loss = cross_entropy(z, t)\n";

static void check(mote_status status) {
  if (status != MOTE_OK) exit(fprintf(stderr, "%s\n", mote_last_error()));
}

int main(void) {
  const DLDataType f32 = {kDLFloat, 32, 1};
  const char* names[] = {"loss", "w1", "w2"};
  mote_context* context;
  mote_symbolic* graph;
  mote_executable* step;
  mote_command* descent;
  mote_symbol symbols[3], outputs[3];
  mote_tensor *weights[3], *momenta[3]; /* of w1 and w2, at 1 and 2 */
  check(mote_context_create(NULL, &context));
  check(mote_symbolic_parse(text, &graph));
  for (int k = 0; k < 3; k++) check(mote_symbolic_find(graph, names[k], &symbols[k]));
  outputs[0] = symbols[0];
  check(mote_symbolic_gradient(graph, symbols, 1, symbols + 1, 2, NULL, outputs + 1));
  mote_compile_options options = {.size = sizeof options, .outputs = outputs, .output_count = 3};
  check(mote_symbolic_compile(graph, &options, context, &step));
  check(mote_command_parse("sgd step=1 lr=0.5", &descent));
  for (int k = 1; k < 3; k++) {
    const int64_t shape[] = {k == 1 ? 3 : 8, k == 1 ? 8 : 2};
    check(mote_tensor_create(f32, 2, shape, &weights[k]));
    check(mote_tensor_create(f32, 2, shape, &momenta[k]));
    for (int i = 0; i < shape[0] * shape[1]; i++)
      ((float*)weights[k]->dl.data)[i] = (float)(i * 37 % 11 - 5) / 8;
    check(mote_executable_bind(step, symbols[k], weights[k]));
  }
  for (int round = 0; round <= 200; round++) {
    double loss;
    mote_tensor* results[3]; /* views of the loss and of the gradients */
    check(mote_executable_run(step));
    for (int k = 0; k < 3; k++) check(mote_executable_output(step, outputs[k], &results[k]));
    check(mote_tensor_real_at(results[0], NULL, &loss));
    if (round % 50 == 0) printf("step %3d  loss %.4f\n", round, loss);
    for (int k = 1; k < 3; k++)
      check(mote_run(descent, (const mote_tensor*[]){weights[k], results[k], momenta[k]}, 3,
                     (mote_tensor*[]){weights[k], momenta[k]}, 2, NULL, NULL));
    for (int k = 0; k < 3; k++) mote_tensor_free(results[k]);
  }
}
