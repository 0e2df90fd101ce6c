// SPDX-License-Identifier: Apache-2.0
/* The part of the C interface (mote/mote.h, which includes this) that has graphs: symbolic ones,
 * with their gradients and text; and executables, which are compiled from them. It includes the
 * parts for rewriting symbolic graphs, for graphs of operations on tensors, for memory and for
 * dynamic graphs. The rules of mote/mote.h hold.
 *
 *   mote_symbolic* g;
 *   mote_symbol x, w, y;
 *   mote_symbolic_create("net", &g);
 *   mote_symbolic_input(g, "x", f32, 2, (int64_t[]){32, 784}, &x);
 *   mote_symbolic_input(g, "w", f32, 2, (int64_t[]){784, 10}, &w);
 *   mote_symbolic_apply(g, "matmul", (mote_symbol[]){x, w}, 2, &y, 1);
 *
 * In arrays of symbols, MOTE_NO_SYMBOL stands for an optional input or output that is left out. */
#ifndef MOTE_MOTE_GRAPHS_H
#define MOTE_MOTE_GRAPHS_H

#include "mote/mote.h"
#include "mote/mote_concrete.h"
#include "mote/mote_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- symbolic graphs (mote/symbolic/symbolic_graph.h) ---- */

typedef struct mote_symbolic mote_symbolic;
/* A tensor of a symbolic graph: a value, valid as long as the graph. */
typedef struct mote_symbol {
  uint32_t graph;
  uint32_t index;
} mote_symbol;
#ifdef __cplusplus
#define MOTE_NO_SYMBOL (mote_symbol{0, 0xFFFFFFFFU})
#else
#define MOTE_NO_SYMBOL ((mote_symbol){0, 0xFFFFFFFFU})
#endif

MOTE_API mote_status mote_symbolic_create(const char* name, mote_symbolic** graph);
/* Reads the text of a graph. Code of the caller's that it names is an error. */
MOTE_API mote_status mote_symbolic_parse(const char* text, mote_symbolic** graph);
MOTE_API mote_status mote_symbolic_copy(const mote_symbolic* graph, mote_symbolic** copy);
MOTE_API void mote_symbolic_free(mote_symbolic* graph);
/* Returns the graph as text, which is valid until the next call for this graph or until it is
 * freed. */
MOTE_API mote_status mote_symbolic_text(mote_symbolic* graph, const char** text);
/* Checks the rules of a graph: each element is written once and before it is read, forms fit, there
 * is no cycle. */
MOTE_API mote_status mote_symbolic_verify(const mote_symbolic* graph);

MOTE_API mote_status mote_symbolic_input(mote_symbolic* graph, const char* name, DLDataType dtype,
                                         int32_t rank, const int64_t* shape, mote_symbol* symbol);
/* Adds an input whose shape mote_symbolic_set_shape() gives later; what depends on it is inferred
 * then. */
MOTE_API mote_status mote_symbolic_open_input(mote_symbolic* graph, const char* name,
                                              DLDataType dtype, mote_symbol* symbol);
MOTE_API mote_status mote_symbolic_set_shape(mote_symbolic* graph, mote_symbol input, int32_t rank,
                                             const int64_t* shape);
/* Adds an input with the form of the symbol `like` of the graph `of`, strides and device included,
 * or with its dtype if its shape is not known yet: an input of a body or a branch. */
MOTE_API mote_status mote_symbolic_input_like(mote_symbolic* graph, const char* name,
                                              const mote_symbolic* of, mote_symbol like,
                                              mote_symbol* symbol);
/* Adds a tensor with a value, whose memory is kept and must not change. */
MOTE_API mote_status mote_symbolic_constant(mote_symbolic* graph, const char* name,
                                            const mote_tensor* value, mote_symbol* symbol);
/* Adds a tensor for nodes to write, whole or by disjoint views. With `zeros` not 0, elements that
 * no node writes are 0. name may be NULL. */
MOTE_API mote_status mote_symbolic_tensor(mote_symbolic* graph, const char* name, DLDataType dtype,
                                          int32_t rank, const int64_t* shape, int zeros,
                                          mote_symbol* symbol);
MOTE_API mote_status mote_symbolic_slice(mote_symbolic* graph, mote_symbol x, int32_t axis,
                                         int64_t begin, int64_t count, int64_t step,
                                         mote_symbol* view);
MOTE_API mote_status mote_symbolic_select(mote_symbolic* graph, mote_symbol x, int32_t axis,
                                          int64_t index, mote_symbol* view);
MOTE_API mote_status mote_symbolic_permute(mote_symbolic* graph, mote_symbol x, int32_t rank,
                                           const int32_t* order, mote_symbol* view);
MOTE_API mote_status mote_symbolic_broadcast_to(mote_symbolic* graph, mote_symbol x, int32_t rank,
                                                const int64_t* shape, mote_symbol* view);
MOTE_API mote_status mote_symbolic_reshape(mote_symbolic* graph, mote_symbol x, int32_t rank,
                                           const int64_t* shape, mote_symbol* view);

/* Adds a node: a command as text, "conv2d stride0=2". `outputs` gets its first `output_count`
 * outputs; the graph has the others too. */
MOTE_API mote_status mote_symbolic_apply(mote_symbolic* graph, const char* command,
                                         const mote_symbol* inputs, size_t input_count,
                                         mote_symbol* outputs, size_t output_count);
/* Adds a node whose outputs are symbols that nothing writes yet: tensors, and views of them. */
MOTE_API mote_status mote_symbolic_write(mote_symbolic* graph, const mote_command* command,
                                         const mote_symbol* inputs, size_t input_count,
                                         const mote_symbol* outputs, size_t output_count);
/* Adds a node that converts x to another dtype. */
MOTE_API mote_status mote_symbolic_convert(mote_symbolic* graph, mote_symbol x, DLDataType dtype,
                                           mote_symbol* y);
/* Adds a loop. The body's outputs are the next values of its first inputs, and last the condition,
 * a bool or an integer of one element; what computes it runs first in each iteration, and the loop
 * ends when it is 0. `outputs` gets the values that those inputs have then. The body stays the
 * caller's. */
typedef struct mote_while_options {
  size_t size;         /* sizeof(mote_while_options) */
  int32_t has_counter; /* the body's last input is an i64[]: the number of the iteration, from 0 */
  int32_t has_limit;
  int64_t limit; /* of iterations, if has_limit; one more is an error */
  /* The values that are kept for the gradient. 0: those of each iteration that the gradient reads.
   * -1: those with which some iterations begin, about the square root of their number; n: those of
   * at most n of them. The iterations between are computed again. */
  int64_t checkpoints;
} mote_while_options;
MOTE_API mote_status mote_symbolic_add_while(mote_symbolic* graph, const mote_symbolic* body,
                                             const mote_symbol* inputs, size_t input_count,
                                             const mote_while_options* options,
                                             mote_symbol* outputs, size_t output_count);
/* A branch of a case..of: a graph, and what its inputs are in the graph around. */
typedef struct mote_branch {
  const mote_symbolic* graph;
  const mote_symbol* inputs;
  size_t input_count;
} mote_branch;
/* Adds a choice of a branch by its index. If that is negative, none runs, and the outputs are the
 * symbols `otherwise`; it is an error where these are MOTE_NO_SYMBOL, or `otherwise` is null. */
MOTE_API mote_status mote_symbolic_add_case_of(mote_symbolic* graph, mote_symbol index,
                                               const mote_branch* branches, size_t branch_count,
                                               const mote_symbol* otherwise, mote_symbol* outputs,
                                               size_t output_count);
/* The cells of recurrent networks, and their ways through a sequence. */
typedef enum mote_cell { MOTE_CELL_RNN = 0, MOTE_CELL_LSTM = 1, MOTE_CELL_GRU = 2 } mote_cell;
typedef enum mote_direction {
  MOTE_FORWARDS = 0,
  MOTE_BACKWARDS = 1,
  MOTE_BOTH_WAYS = 2
} mote_direction;
/* The weights of a layer in one direction: w [g, H, C], r [g, H, H], b [g, H]; the cell says g. */
typedef struct mote_cell_weights {
  mote_symbol w, r, b;
} mote_cell_weights;
typedef struct mote_sequence_options {
  size_t size;          /* sizeof(mote_sequence_options) */
  int32_t direction;    /* a mote_direction */
  mote_symbol lengths;  /* i64[N]: the number of steps of each row; MOTE_NO_SYMBOL: T */
  const mote_symbol* h; /* the states [N, H] at the beginning, for each of the weights; NULL: 0 */
  const mote_symbol* c; /* likewise, of an LSTM */
  int64_t checkpoints;  /* of each loop, as in mote_while_options */
} mote_sequence_options;
/* Adds a recurrent network over x [T, N, C] as a loop for each of the weights: those of each layer,
 * with both ways forwards first. y gets [T, N, H], or [T, N, 2H] with both ways. `h` and `c` get
 * the states at the end, one for each of the weights. Both may be NULL; c must be NULL unless the
 * cell is that of an LSTM. */
MOTE_API mote_status mote_symbolic_sequence(mote_symbolic* graph, int32_t cell, mote_symbol x,
                                            const mote_cell_weights* weights, size_t weight_count,
                                            const mote_sequence_options* options, mote_symbol* y,
                                            mote_symbol* h, mote_symbol* c);
/* Functions by which a loop of one's own reads and writes a step of a sequence x [T, …], whose
 * number t, an i64[], is known when it runs: y = x[t]; z = y, but z[t] = v, or z[t] = y[t] + v, in
 * place where the loop carries y over; n = T, an i64[]. They run on the host. */
MOTE_API mote_status mote_symbolic_take_step(mote_symbolic* graph, mote_symbol x, mote_symbol t,
                                             mote_symbol* y);
MOTE_API mote_status mote_symbolic_put_step(mote_symbolic* graph, mote_symbol y, mote_symbol v,
                                            mote_symbol t, mote_symbol* z);
MOTE_API mote_status mote_symbolic_add_step(mote_symbolic* graph, mote_symbol y, mote_symbol v,
                                            mote_symbol t, mote_symbol* z);
MOTE_API mote_status mote_symbolic_count_steps(mote_symbolic* graph, mote_symbol x, mote_symbol* n);

MOTE_API mote_status mote_symbolic_copy_to(mote_symbolic* graph, mote_symbol x, mote_symbol y);
MOTE_API mote_status mote_symbolic_fill(mote_symbolic* graph, mote_symbol y, double value);

/* A caller's code that is a node: it reads the inputs and writes the outputs. The status that it
 * returns is the node's error. */
typedef mote_status (*mote_node_work)(void* argument, const mote_tensor* const* inputs,
                                      size_t input_count, mote_tensor* const* outputs,
                                      size_t output_count);
/* Adds such a node, of that name, whose outputs are symbols that nothing writes yet. It has no
 * gradient. `argument` must be valid as long as the graph and what is compiled from it. */
MOTE_API mote_status mote_symbolic_call(mote_symbolic* graph, const char* name, mote_node_work work,
                                        void* argument, const mote_symbol* inputs,
                                        size_t input_count, const mote_symbol* outputs,
                                        size_t output_count);
/* Makes the node that writes the symbol `after` begin when the one that writes `before` is done. */
MOTE_API mote_status mote_symbolic_order(mote_symbolic* graph, mote_symbol before,
                                         mote_symbol after);
/* Sets `depends` to 1 if a node that y needs reads elements of x, else to 0. */
MOTE_API mote_status mote_symbolic_depends(const mote_symbolic* graph, mote_symbol y, mote_symbol x,
                                           int32_t* depends);

MOTE_API mote_status mote_symbolic_set_outputs(mote_symbolic* graph, const mote_symbol* outputs,
                                               size_t count);
/* Lists the outputs as mote_op_names lists ops. */
MOTE_API mote_status mote_symbolic_outputs(const mote_symbolic* graph, mote_symbol* outputs,
                                           size_t room, size_t* count);
MOTE_API mote_status mote_symbolic_rename(mote_symbolic* graph, mote_symbol symbol,
                                          const char* name);
MOTE_API mote_status mote_symbolic_find(const mote_symbolic* graph, const char* name,
                                        mote_symbol* symbol);
/* Lists the inputs in the order in which they were added, as mote_op_names lists ops. */
MOTE_API mote_status mote_symbolic_inputs(const mote_symbolic* graph, mote_symbol* inputs,
                                          size_t room, size_t* count);
/* Returns the name of a symbol, "" if it has none. It is valid until the next call for this graph.
 */
MOTE_API mote_status mote_symbolic_name(mote_symbolic* graph, mote_symbol symbol,
                                        const char** name);
/* Returns the dtype of a symbol, which is known before its shape is. */
MOTE_API mote_status mote_symbolic_dtype(const mote_symbolic* graph, mote_symbol symbol,
                                         DLDataType* dtype);
/* Returns the dtype and shape of a symbol; `shape` has room for MOTE_MAX_AXES extents. */
MOTE_API mote_status mote_symbolic_form(const mote_symbolic* graph, mote_symbol symbol,
                                        DLDataType* dtype, int32_t* rank, int64_t* shape);
/* Returns the strides of a symbol, in elements; `strides` has room for MOTE_MAX_AXES. */
MOTE_API mote_status mote_symbolic_strides(const mote_symbolic* graph, mote_symbol symbol,
                                           int64_t* strides);

/* Adds the nodes of the gradient of `of` with respect to `wrt` and sets `gradients`, one for each
 * of `wrt`. seeds may be NULL: all are 1. */
MOTE_API mote_status mote_symbolic_gradient(mote_symbolic* graph, const mote_symbol* of,
                                            size_t of_count, const mote_symbol* wrt,
                                            size_t wrt_count, const mote_symbol* seeds,
                                            mote_symbol* gradients);
/* Adds the nodes of the forward mode: the change of each of `of` when `wrt` change by `tangents`.
 */
MOTE_API mote_status mote_symbolic_jvp(mote_symbolic* graph, const mote_symbol* of, size_t of_count,
                                       const mote_symbol* wrt, size_t wrt_count,
                                       const mote_symbol* tangents, mote_symbol* changes);

/* Says what the nodes of `gradients` read of the values that the nodes of `of` compute or read: a
 * line for each tensor, with its bytes and the nodes that read it. The text is valid until the next
 * call for this graph. */
MOTE_API mote_status mote_symbolic_saved(mote_symbolic* graph, const mote_symbol* of,
                                         size_t of_count, const mote_symbol* gradients,
                                         size_t gradient_count, const char** text);
/* Runs the nodes one by one, each tensor in memory of its own: the reference that compiled graphs
 * are compared with. `results` gets a new tensor for each of `outputs`. context may be NULL. */
MOTE_API mote_status mote_symbolic_evaluate(const mote_symbolic* graph, mote_context* context,
                                            const mote_symbol* inputs,
                                            const mote_tensor* const* tensors, size_t count,
                                            const mote_symbol* outputs, size_t output_count,
                                            mote_tensor** results);

/* ---- executables (mote/symbolic/compile.h) ---- */

/* The order of nodes. All but MOTE_ORDER_PROGRAM are chosen to need little memory. */
typedef enum mote_evaluation_order {
  MOTE_ORDER_LEAST = 0,   /* the one of the others that needs the fewest bytes */
  MOTE_ORDER_PROGRAM = 1, /* as the nodes were added */
  MOTE_ORDER_DEPTH_FIRST = 2,
  MOTE_ORDER_GREEDY = 3 /* the node that frees the most bytes next */
} mote_evaluation_order;

typedef struct mote_executable mote_executable;
typedef struct mote_compile_options {
  size_t size; /* sizeof(mote_compile_options) */
  /* The symbols that are asked for after a run; NULL: the graph's outputs. */
  const mote_symbol* outputs;
  size_t output_count;
  /* Outputs whose memory mote_executable_bind() gives. */
  const mote_symbol* bound;
  size_t bound_count;
  int32_t streams;      /* 0: 1 */
  int32_t not_in_place; /* not 0: no output takes the memory of an input */
  int32_t separate;     /* not 0: each tensor has memory of its own */
  int32_t poison;       /* not 0: memory is filled with NaN before it is written */
  /* Inputs, and for each a tensor of the largest shape that will be bound to it, whose data is not
   * read: memory is planned and taken once, for these. */
  const mote_symbol* largest_inputs;
  const mote_tensor* const* largest;
  size_t largest_count;
  /* The passes that run first, by name; NULL: those of mote. */
  const char* const* passes;
  size_t pass_count;
  int32_t order;   /* mote_evaluation_order */
  int32_t planner; /* mote_memory_planner */
  int32_t inexact; /* not 0: passes may change how results are rounded */
  /* not 0: no tensor holds a NaN or an infinity, or any result is accepted where one does */
  int32_t without_nan;
} mote_compile_options;
/* Compiles the graph, which may be freed afterwards. If options is NULL, it has one stream. */
MOTE_API mote_status mote_symbolic_compile(const mote_symbolic* graph,
                                           const mote_compile_options* options,
                                           mote_context* context, mote_executable** executable);
MOTE_API void mote_executable_free(mote_executable* executable);
/* Binds an input, or an output that was asked for as bound, for the next runs. The tensor's memory
 * is kept. */
MOTE_API mote_status mote_executable_bind(mote_executable* executable, mote_symbol symbol,
                                          const mote_tensor* tensor);
MOTE_API mote_status mote_executable_run(mote_executable* executable);
/* Creates a view of an output, whose elements are valid until the next run. The executable must
 * outlive it. */
MOTE_API mote_status mote_executable_output(const mote_executable* executable, mote_symbol symbol,
                                            mote_tensor** tensor);
/* Makes a run in another thread end with an error. */
MOTE_API mote_status mote_executable_cancel(mote_executable* executable);
typedef enum mote_report_format {
  MOTE_REPORT_TEXT = 0,
  MOTE_REPORT_JSON = 1,
  MOTE_REPORT_SVG = 2,  /* memory over time */
  MOTE_REPORT_DOT = 3,  /* nodes and edges, for Graphviz */
  MOTE_REPORT_TRACE = 4 /* the runs since mote_executable_trace(), for a trace viewer */
} mote_report_format;
/* Describes nodes, streams and memory. The text is valid until the next call for this executable.
 */
MOTE_API mote_status mote_executable_report(mote_executable* executable, int32_t format,
                                            const char** text);
/* Returns the bytes of the planned memory, and the most that are needed at once. Either may be
 * NULL. */
MOTE_API mote_status mote_executable_bytes(const mote_executable* executable, size_t* bytes,
                                           size_t* lower_bound);

/* Plans a graph as mote_symbolic_compile() does with these options, to the byte, and takes none of
 * the memory. `text` describes the plan in one of the formats text, JSON and SVG; it is valid until
 * the next call for this graph. `bytes` and `lower_bound` get what mote_executable_bytes() would
 * give. Each of the three may be NULL. */
MOTE_API mote_status mote_symbolic_plan(mote_symbolic* graph, const mote_compile_options* options,
                                        mote_context* context, int32_t format, const char** text,
                                        size_t* bytes, size_t* lower_bound);

/* Makes later runs record when each node ran, from none on, or with 0 ends that. */
MOTE_API mote_status mote_executable_trace(mote_executable* executable, int32_t on);
/* Measures the kernels of each command on copies of its tensors, as mote_autotune does; later runs
 * use the fastest. Inputs must be bound. options may be NULL; `commands` gets the number of
 * commands that were asked for, and may be NULL. */
MOTE_API mote_status mote_executable_autotune(mote_executable* executable,
                                              const mote_tuning_options* options, size_t* commands);
/* Returns the commands that the last mote_executable_autotune() has not measured, one a line, with
 * the loops and branches that they are in: these have not run since tensors were bound, so nothing
 * is where the run would put their tensors. Valid until the next call for this executable. */
MOTE_API mote_status mote_executable_untuned(mote_executable* executable, const char** text);

#ifdef __cplusplus
}
#endif

#include "mote/mote_dynamic.h"   /* dynamic graphs, which use the types above */
#include "mote/mote_rewriting.h" /* checkpoints and passes, which use them too */

#endif
