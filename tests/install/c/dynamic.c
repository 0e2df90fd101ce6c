// SPDX-License-Identifier: Apache-2.0
/* Uses dynamic graphs from C99: a loop whose length depends on values, and its gradient. */
#include <stdio.h>

#include "mote/mote_dynamic.h"

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("failed: %s (%s)\n", what, mote_last_error());
  ++failures;
}

/* y = x·w·w·... until it is at least 100: the derivative with respect to w is n·x·w^(n-1). */
static void loop(mote_dynamic* graph, DLDataType f64) {
  mote_command* mul = NULL;
  mote_tensor* three = NULL;
  mote_variable *x = NULL, *w = NULL, *y = NULL, *slope = NULL;
  const mote_variable* pair[2];
  double value = 0;
  int steps = 0;

  expect(mote_command_parse("mul", &mul) == MOTE_OK, "a command");
  expect(mote_tensor_create(f64, 0, NULL, &three) == MOTE_OK, "a tensor");
  expect(mote_tensor_fill_real(three, 3) == MOTE_OK, "its element");
  expect(mote_dynamic_variable(graph, three, &w) == MOTE_OK, "a variable");
  mote_tensor_free(three);
  expect(mote_dynamic_scalar(graph, f64, 2, &x) == MOTE_OK, "a number");
  expect(mote_variable_detach(x, &y) == MOTE_OK, "a copy");
  while (mote_variable_item(y, &value) == MOTE_OK && value < 100) {
    pair[0] = y;
    pair[1] = w;
    expect(mote_dynamic_run_to(graph, y, mul, pair, 2) == MOTE_OK, "a step");
    ++steps;
  }
  expect(steps == 4 && value == 162, "2 * 3^4");
  pair[0] = y;
  pair[1] = w;
  expect(mote_dynamic_backward(graph, pair, 1, pair + 1, 1, NULL, &slope) == MOTE_OK, "a gradient");
  expect(mote_variable_item(slope, &value) == MOTE_OK && value == 216, "4 * 2 * 3^3");
  mote_variable_free(slope);
  mote_variable_free(y);
  mote_variable_free(x);
  mote_variable_free(w);
  mote_command_free(mul);
}

int main(void) {
  DLDataType f64;
  mote_context* context = NULL;
  mote_dynamic* graph = NULL;
  mote_dynamic_statistics statistics;

  expect(mote_dtype("f64", &f64) == MOTE_OK, "f64");
  expect(mote_context_create(NULL, &context) == MOTE_OK, "a context");
  expect(mote_dynamic_create(context, NULL, &graph) == MOTE_OK, "a graph");
  loop(graph, f64);
  statistics.size = sizeof(statistics);
  expect(mote_dynamic_get_statistics(graph, &statistics) == MOTE_OK, "statistics");
  expect(statistics.variables == 0 && statistics.steps == 0, "nothing is left");
  mote_dynamic_free(graph);
  mote_context_free(context);
  if (failures == 0) printf("dynamic graphs: all of it works\n");
  return failures == 0 ? 0 : 1;
}
