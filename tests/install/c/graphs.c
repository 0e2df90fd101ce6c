// SPDX-License-Identifier: Apache-2.0
/* Uses graphs from C99: a symbolic graph with its gradient, an executable, a graph of operations on
 * tensors with a loop in a branch, a plan of memory. */
#include <stdio.h>
#include <string.h>

#include "mote/mote_graphs.h"

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("failed: %s (%s)\n", what, mote_last_error());
  ++failures;
}

static double first(const mote_tensor* tensor) {
  const int64_t index[1] = {0};
  double value = -77;
  expect(mote_tensor_real_at(tensor, index, &value) == MOTE_OK, "an element");
  return value;
}

/* The gradient of x*x is 2x. */
static void square(mote_context* context, DLDataType f32, const mote_tensor* three) {
  const int64_t shape[1] = {1};
  mote_symbolic* graph = NULL;
  mote_executable* run = NULL;
  mote_compile_options options;
  mote_symbol x = MOTE_NO_SYMBOL, y = MOTE_NO_SYMBOL, slope = MOTE_NO_SYMBOL, pair[2];
  mote_tensor* output = NULL;
  const char* text = NULL;
  size_t bytes = 0;

  expect(mote_symbolic_create("square", &graph) == MOTE_OK, "a graph");
  expect(mote_symbolic_input(graph, "x", f32, 1, shape, &x) == MOTE_OK, "an input");
  pair[0] = x;
  pair[1] = x;
  expect(mote_symbolic_apply(graph, "mul", pair, 2, &y, 1) == MOTE_OK, "a node");
  expect(mote_symbolic_gradient(graph, &y, 1, &x, 1, NULL, &slope) == MOTE_OK, "a gradient");
  expect(mote_symbolic_text(graph, &text) == MOTE_OK && strstr(text, "mul(x, x)") != NULL, "text");
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.outputs = &slope;
  options.output_count = 1;
  expect(mote_symbolic_compile(graph, &options, context, &run) == MOTE_OK, "an executable");
  expect(mote_symbolic_plan(graph, &options, context, MOTE_REPORT_TEXT, &text, &bytes, NULL) ==
                 MOTE_OK &&
             *text != 0 && bytes > 0,
         "plan");
  mote_symbolic_free(graph);
  expect(mote_executable_bind(run, x, three) == MOTE_OK, "bind");
  expect(mote_executable_run(run) == MOTE_OK, "run");
  expect(mote_executable_output(run, slope, &output) == MOTE_OK && first(output) == 6, "2 * 3");
  expect(mote_executable_report(run, MOTE_REPORT_JSON, &text) == MOTE_OK && *text == '{', "report");
  expect(mote_executable_bytes(run, &bytes, NULL) == MOTE_OK && bytes > 0, "bytes");
  mote_tensor_free(output);
  mote_executable_free(run);
}

static mote_status thrice(void* argument, const int64_t* counters, size_t count,
                          int64_t* decision) {
  (void)argument;
  *decision = count == 1 && counters[0] < 3;
  return MOTE_OK;
}

/* y becomes -y in each of three iterations, unless a branch of none is chosen. */
static void control(mote_tensor* y) {
  mote_graph *graph = NULL, *body = NULL, *branch = NULL;
  mote_command* neg = NULL;
  const mote_tensor* reads[1];
  mote_graph_branch branches[1];
  mote_loop_options loop;
  mote_choice_options choice;
  mote_graph_node node = 0;

  reads[0] = y;
  memset(&loop, 0, sizeof(loop));
  loop.size = sizeof(loop);
  loop.decide = thrice;
  memset(&choice, 0, sizeof(choice));
  choice.size = sizeof(choice);
  choice.decide = thrice; /* outside of loops it says 0: the first branch */
  expect(mote_command_parse("neg", &neg) == MOTE_OK, "a command");
  expect(mote_graph_create(NULL, 1, &graph) == MOTE_OK, "a graph");
  expect(mote_graph_create(NULL, 1, &body) == MOTE_OK, "a body");
  expect(mote_graph_create(NULL, 1, &branch) == MOTE_OK, "a branch");
  expect(mote_graph_add(body, neg, reads, 1, &y, 1, NULL) == MOTE_OK, "the body's node");
  expect(mote_graph_add_while(branch, body, NULL, 0, &loop, &node) == MOTE_OK, "a loop");
  branches[0].graph = branch;
  branches[0].tensors = NULL;
  branches[0].tensor_count = 0;
  expect(mote_graph_add_case_of(graph, branches, 1, &choice, &node) == MOTE_OK, "a case..of");
  mote_graph_free(body);
  mote_graph_free(branch);
  expect(mote_tensor_fill_real(y, 5) == MOTE_OK, "fill y");
  expect(mote_graph_run(graph) == MOTE_OK && first(y) == -5, "three iterations");
  mote_graph_free(graph);
  mote_command_free(neg);
}

static mote_status add_one(void* value) {
  *(int*)value += 1;
  return MOTE_OK;
}

static void operations(mote_tensor* x, mote_tensor* y) {
  mote_graph* graph = NULL;
  mote_command* neg = NULL;
  const mote_tensor* reads[1];
  int calls = 0;
  mote_graph_node last = 0;
  const mote_memory_block blocks[2] = {{64, 64, 0, 1}, {64, 64, 1, 2}};
  uint64_t offsets[2], total = 0;

  reads[0] = x;
  expect(mote_command_parse("neg", &neg) == MOTE_OK, "a command");
  expect(mote_graph_create(NULL, 1, &graph) == MOTE_OK, "a graph of operations");
  expect(mote_graph_fill(graph, x, 4, NULL) == MOTE_OK, "fill");
  expect(mote_graph_add(graph, neg, reads, 1, &y, 1, NULL) == MOTE_OK, "a command's node");
  reads[0] = y;
  expect(mote_graph_call(graph, add_one, &calls, reads, 1, NULL, 0, &last) == MOTE_OK, "a call");
  expect((last & 0xffffff) == 2 && mote_graph_find_order(graph) == MOTE_OK, "edges");
  expect(mote_graph_run(graph) == MOTE_OK && first(y) == -4 && calls == 1, "the graph's run");
  expect(mote_plan_memory(blocks, 2, offsets, &total, NULL) == MOTE_OK && total == 64, "a plan");
  expect(mote_graph_order(graph, 0, 9) == MOTE_INVALID, "a node that is not there");
  mote_graph_free(graph);
  mote_command_free(neg);
}

int main(void) {
  const int64_t shape[1] = {1};
  DLDataType f32;
  mote_context* context = NULL;
  mote_tensor *x = NULL, *y = NULL;

  expect(mote_dtype("f32", &f32) == MOTE_OK, "f32");
  expect(mote_context_create(NULL, &context) == MOTE_OK, "a context");
  expect(mote_tensor_create(f32, 1, shape, &x) == MOTE_OK, "create x");
  expect(mote_tensor_create(f32, 1, shape, &y) == MOTE_OK, "create y");
  expect(mote_tensor_fill_real(x, 3) == MOTE_OK, "fill x");
  square(context, f32, x);
  operations(x, y);
  control(y);
  mote_tensor_free(y);
  mote_tensor_free(x);
  mote_context_free(context);
  if (failures == 0) printf("graphs: all of it works\n");
  return failures == 0 ? 0 : 1;
}
