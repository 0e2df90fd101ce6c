// SPDX-License-Identifier: Apache-2.0
/* The part of the C interface (mote/mote_graphs.h, which includes this) that has graphs of
 * operations on tensors, as mote/graph/graph.h does. The rules of mote/mote.h hold. */
#ifndef MOTE_MOTE_CONCRETE_H
#define MOTE_MOTE_CONCRETE_H

#include "mote/mote.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mote_graph mote_graph;
/* A node of such a graph, and of no other: the low 24 bits are its number, from 0 as nodes are
 * added, the high ones a mark of the graph. */
typedef uint32_t mote_graph_node;

/* Creates a graph on at most `streams` streams. context may be NULL for one stream. */
MOTE_API mote_status mote_graph_create(mote_context* context, int32_t streams, mote_graph** graph);
MOTE_API void mote_graph_free(mote_graph* graph);
/* Makes the tensor one whose memory mote_graph_bind() replaces. Nodes that are added later with a
 * tensor of the same first element and form use what is bound to it; at first that is its own
 * memory. */
MOTE_API mote_status mote_graph_placeholder(mote_graph* graph, const mote_tensor* tensor);
/* Gives such a tensor other memory of the same form, for later runs: nodes stay prepared. */
MOTE_API mote_status mote_graph_bind(mote_graph* graph, const mote_tensor* placeholder,
                                     const mote_tensor* memory);
/* Adds a command on tensors, whose memory is kept. node may be NULL. */
MOTE_API mote_status mote_graph_add(mote_graph* graph, const mote_command* command,
                                    const mote_tensor* const* inputs, size_t input_count,
                                    mote_tensor* const* outputs, size_t output_count,
                                    mote_graph_node* node);
MOTE_API mote_status mote_graph_copy(mote_graph* graph, const mote_tensor* x, mote_tensor* y,
                                     mote_graph_node* node);
MOTE_API mote_status mote_graph_fill(mote_graph* graph, mote_tensor* y, double value,
                                     mote_graph_node* node);
/* Adds work of the caller's, which reads and writes the tensors. The status that it returns is the
 * node's error. */
MOTE_API mote_status mote_graph_call(mote_graph* graph, mote_status (*work)(void* argument),
                                     void* argument, const mote_tensor* const* reads,
                                     size_t read_count, mote_tensor* const* writes,
                                     size_t write_count, mote_graph_node* node);
/* Makes `after` begin when `before` is done. */
MOTE_API mote_status mote_graph_order(mote_graph* graph, mote_graph_node before,
                                      mote_graph_node after);
/* Adds the edges that follow from memory that nodes share and the order in which they were added.
 */
MOTE_API mote_status mote_graph_find_order(mote_graph* graph);
/* Removes a node and its edges. The numbers of others stay. */
MOTE_API mote_status mote_graph_remove(mote_graph* graph, mote_graph_node node);
/* Runs all nodes and waits; prepares what was not prepared. */
MOTE_API mote_status mote_graph_run(mote_graph* graph);
/* Runs the nodes that lie between the sources and the destinations, these included. No sources, or
 * no destinations, stand for all nodes. */
MOTE_API mote_status mote_graph_run_part(mote_graph* graph, const mote_graph_node* sources,
                                         size_t source_count, const mote_graph_node* destinations,
                                         size_t destination_count);
/* Gives a run of all nodes to a stream; mote_stream_synchronize reports a node's error. The graph
 * must outlive the run. */
MOTE_API mote_status mote_graph_run_on(mote_graph* graph, mote_stream* stream);
MOTE_API mote_status mote_graph_cancel(mote_graph* graph);
/* Returns the graph in Graphviz's language, valid until the next call for this graph. */
MOTE_API mote_status mote_graph_dot(mote_graph* graph, const char** text);
/* Does for a graph what mote_executable_trace() does. */
MOTE_API mote_status mote_graph_trace(mote_graph* graph, int32_t on);
/* Returns the runs since then in the Trace Event Format, valid until the next call for this graph.
 */
MOTE_API mote_status mote_graph_trace_text(mote_graph* graph, const char** text);
/* Does for a graph, which must have a context, what mote_executable_autotune() does. */
MOTE_API mote_status mote_graph_autotune(mote_graph* graph, const mote_tuning_options* options,
                                         size_t* commands);
/* Does for a graph what mote_executable_untuned() does. */
MOTE_API mote_status mote_graph_untuned(mote_graph* graph, const char** text);
typedef struct mote_graph_statistics {
  size_t size; /* sizeof(mote_graph_statistics), set by the caller */
  size_t nodes;
  size_t edges;
  size_t waits; /* of streams for each other */
  size_t events;
  size_t streams;
  size_t workspace_bytes; /* the most that a node needs */
} mote_graph_statistics;
/* Fills the struct up to the size that it states, after preparing what was not prepared. */
MOTE_API mote_status mote_graph_get_statistics(mote_graph* graph,
                                               mote_graph_statistics* statistics);

/* A placeholder of a graph that a loop or a branch runs, and the tensor of the graph around whose
 * memory it has. Both have one form. Other tensors of the two graphs share memory by their
 * addresses. */
typedef struct mote_outer_tensor {
  const mote_tensor* outer;
  const mote_tensor* inner;
} mote_outer_tensor;
/* Code of the caller's that decides: whether a loop goes on (0: it ends), or which branch runs (a
 * negative number: none). It gets the numbers of the iterations of all loops around it, the
 * outermost first, and in a loop last that loop's own. The status that it returns is the node's
 * error. */
typedef mote_status (*mote_graph_decision)(void* argument, const int64_t* counters,
                                           size_t counter_count, int64_t* decision);
/* In each iteration of a loop the evaluated nodes of the body run, and those before them; then it
 * is asked whether to go on; then the other nodes run. The nodes that write `condition` are
 * evaluated too. */
typedef struct mote_loop_options {
  size_t size; /* sizeof(mote_loop_options), set by the caller */
  /* A bool or an integer of one element that nodes of the body use: the loop ends when it is 0.
   * NULL: `decide` says so, after it was given `argument`. */
  const mote_tensor* condition;
  mote_graph_decision decide;
  void* argument;
  const mote_graph_node* evaluated; /* of the body */
  size_t evaluated_count;
  /* An i64[] that nodes of the body use, which gets the number of each iteration; may be NULL. */
  const mote_tensor* counter;
  int32_t has_limit;
  int64_t limit; /* of iterations, if has_limit; one more is an error */
} mote_loop_options;
/* Adds a loop. The body stays the caller's: the loop has a copy of its nodes and edges. What is
 * carried over from one iteration to the next is what the body writes where it reads it again. */
MOTE_API mote_status mote_graph_add_while(mote_graph* graph, const mote_graph* body,
                                          const mote_outer_tensor* tensors, size_t tensor_count,
                                          const mote_loop_options* options, mote_graph_node* node);
/* A branch of a case..of. */
typedef struct mote_graph_branch {
  const mote_graph* graph;
  const mote_outer_tensor* tensors;
  size_t tensor_count;
} mote_graph_branch;
typedef struct mote_choice_options {
  size_t size; /* sizeof(mote_choice_options), set by the caller */
  /* An integer of one element of the graph around, or a bool: the number of the branch. NULL:
   * `decide` says it, after it was given `argument`; it may look at the tensors `reads`. */
  const mote_tensor* index;
  mote_graph_decision decide;
  void* argument;
  const mote_tensor* const* reads;
  size_t read_count;
  int32_t must_run; /* a negative number is an error */
} mote_choice_options;
/* Adds a node that runs one of the branches, or none. A number that is no branch's is an error,
 * unless it is negative. The branches stay the caller's. */
MOTE_API mote_status mote_graph_add_case_of(mote_graph* graph, const mote_graph_branch* branches,
                                            size_t branch_count, const mote_choice_options* options,
                                            mote_graph_node* node);

#ifdef __cplusplus
}
#endif

#endif
