// SPDX-License-Identifier: Apache-2.0
/* The part of the C interface (mote/mote.h, which includes this) that has dynamic graphs: commands
 * run as they are given, on variables, and what was run is remembered as far as a gradient needs it
 * (mote/dynamic/dynamic_graph.h). The rules of mote/mote.h hold.
 *
 *   mote_dynamic* g;
 *   mote_variable *x, *w, *y, *gw;
 *   mote_dynamic_create(context, NULL, &g);
 *   mote_dynamic_constant(g, images, &x);
 *   mote_dynamic_variable(g, weight, &w);
 *   mote_dynamic_run(g, matmul, (const mote_variable*[]){x, w}, 2, NULL, &y, 1);
 *   mote_dynamic_backward(g, (const mote_variable*[]){y}, 1, (const mote_variable*[]){w}, 1, NULL,
 *                         &gw);
 *
 * Every function that makes a variable gives the caller a handle, which mote_variable_free() frees:
 * its memory goes when no handle, gradient or pending command needs it. Handles, graphs and
 * contexts may be freed in any order, the context last. Variables of two graphs never meet in one
 * call: that is MOTE_INVALID. Many threads may use a graph; each call is whole. In arrays of
 * variables, NULL stands for an optional input or output that is left out. */
#ifndef MOTE_MOTE_DYNAMIC_H
#define MOTE_MOTE_DYNAMIC_H

#include "mote/mote.h"
#include "mote/mote_graphs.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mote_dynamic mote_dynamic;
typedef struct mote_variable mote_variable;

typedef struct mote_dynamic_options {
  size_t size; /* sizeof(mote_dynamic_options) */
  /* Not 0: a command is not run when it is given but when a value that depends on it is looked at;
   * then all that this depends on is compiled as one graph, with the same bits. */
  int32_t deferred;
  int32_t reserved;
  /* The number of bytes above which pending values, with what only they wait for, are computed; 0:
   * 1 GiB. */
  size_t pending_bytes;
  /* The number of bytes up to which results are kept for equal commands on the same values; 0: none
   * are kept. */
  size_t memo_bytes;
  /* Values that only gradients need and that take more are dropped, and computed again by
   * mote_dynamic_backward(); 0: none. */
  size_t saved_bytes;
  size_t kept_graphs; /* compiled ones, for the next equal trace; 0: 64 */
  /* The most bytes of planned memory that they may have together; 0: 1 GiB. */
  size_t kept_graph_bytes;
} mote_dynamic_options;
/* Creates a dynamic graph. options may be NULL: commands run at once, nothing is kept for equal
 * commands. */
MOTE_API mote_status mote_dynamic_create(mote_context* context, const mote_dynamic_options* options,
                                         mote_dynamic** graph);
/* Creates another handle of the same graph, or of the same variable below. */
MOTE_API mote_status mote_dynamic_share(const mote_dynamic* graph, mote_dynamic** same);
/* Frees the handle. What variables need of the graph stays until these are freed. */
MOTE_API void mote_dynamic_free(mote_dynamic* graph);

/* ---- variables ---- */

/* Creates a variable whose gradient may be asked for. It shares the memory of the tensor, which
 * must not be written to (mote_variable_set()). MOTE_INVALID if the dtype is not one of reals. */
MOTE_API mote_status mote_dynamic_variable(mote_dynamic* graph, const mote_tensor* value,
                                           mote_variable** variable);
/* Creates likewise a variable through which no gradient flows, of any dtype. */
MOTE_API mote_status mote_dynamic_constant(mote_dynamic* graph, const mote_tensor* value,
                                           mote_variable** variable);
/* Creates a constant of one element and no axes. */
MOTE_API mote_status mote_dynamic_scalar(mote_dynamic* graph, DLDataType dtype, double value,
                                         mote_variable** variable);
/* Creates one of the dtype, and on the device, of another variable. */
MOTE_API mote_status mote_dynamic_scalar_like(mote_dynamic* graph, const mote_variable* like,
                                              double value, mote_variable** variable);
/* Creates a constant of zeros, of which parts can be written through views. */
MOTE_API mote_status mote_dynamic_zeros(mote_dynamic* graph, DLDataType dtype, int32_t rank,
                                        const int64_t* shape, mote_variable** variable);
MOTE_API mote_status mote_variable_share(const mote_variable* x, mote_variable** same);
MOTE_API void mote_variable_free(mote_variable* variable);

/* Returns the dtype and shape; `shape` has room for MOTE_MAX_AXES extents. Nothing is computed. */
MOTE_API mote_status mote_variable_form(const mote_variable* x, DLDataType* dtype, int32_t* rank,
                                        int64_t* shape);
/* Creates a tensor of the variable's value, whose memory it shares and which must not be written
 * to. What is pending is computed first, and what was dropped is computed again: an error of these
 * commands is returned here. */
MOTE_API mote_status mote_variable_value(const mote_variable* x, mote_tensor** value);
/* Returns the value of a tensor of one element; MOTE_INVALID for any other. */
MOTE_API mote_status mote_variable_item(const mote_variable* x, double* value);
/* Returns a number that grows with each write to the variable, or to one that it is a view of. */
MOTE_API mote_status mote_variable_version(const mote_variable* x, uint64_t* version);
/* Sets `is_traced` to 1 if gradients with respect to the variable can be asked for, else to 0. */
MOTE_API mote_status mote_variable_is_traced(const mote_variable* x, int32_t* is_traced);
/* Sets `is_pending` to 1 if the value is not computed yet, else to 0. */
MOTE_API mote_status mote_variable_is_pending(const mote_variable* x, int32_t* is_pending);

/* Creates a variable of the same value that is a constant. */
MOTE_API mote_status mote_variable_detach(const mote_variable* x, mote_variable** y);
/* These functions create views: variables that have elements of x. A write to either is seen in the
 * other. The rules for axes and extents are those of mote_tensor_slice() and the others. */
MOTE_API mote_status mote_variable_slice(const mote_variable* x, int32_t axis, int64_t begin,
                                         int64_t count, int64_t step, mote_variable** view);
MOTE_API mote_status mote_variable_select(const mote_variable* x, int32_t axis, int64_t index,
                                          mote_variable** view);
MOTE_API mote_status mote_variable_permute(const mote_variable* x, int32_t rank,
                                           const int32_t* order, mote_variable** view);
MOTE_API mote_status mote_variable_broadcast_to(const mote_variable* x, int32_t rank,
                                                const int64_t* shape, mote_variable** view);
MOTE_API mote_status mote_variable_reshape(const mote_variable* x, int32_t rank,
                                           const int64_t* shape, mote_variable** view);
/* Gives the variable, or the elements that a view has, the value of another variable of the same
 * dtype and shape. MOTE_INVALID if these differ, and for a view that repeats elements. */
MOTE_API mote_status mote_variable_assign(mote_variable* x, const mote_variable* value);
/* Gives the variable, which must be no view, another tensor, of any shape, whose memory it shares.
 * It stays traced if it was, and depends on nothing. */
MOTE_API mote_status mote_variable_set(mote_variable* x, const mote_tensor* value);

/* ---- commands ---- */

/* Runs a command. `outputs` gets a variable for each of its first `output_count` outputs; NULL for
 * one that depends on an input that is left out. `dtype` is that of the outputs if it does not
 * follow from the inputs; it may be NULL. Shapes are those of mote_infer(). */
MOTE_API mote_status mote_dynamic_run(mote_dynamic* graph, const mote_command* command,
                                      const mote_variable* const* inputs, size_t input_count,
                                      const DLDataType* dtype, mote_variable** outputs,
                                      size_t output_count);
/* Runs a command and writes its first output to `output`, a variable or a view of its dtype and
 * shape, as mote_variable_assign() does. The result takes the memory of the old value if nothing
 * else needs that and the op allows it. */
MOTE_API mote_status mote_dynamic_run_to(mote_dynamic* graph, mote_variable* output,
                                         const mote_command* command,
                                         const mote_variable* const* inputs, size_t input_count);
/* Runs a command whose first input is x and whose other inputs are `others`, and writes the output
 * over x's memory, which keeps its address. MOTE_INVALID, with the reason, if the op does not allow
 * that, if commands are deferred, or if a gradient, a pending command or another variable needs the
 * old value. */
MOTE_API mote_status mote_dynamic_run_in_place(mote_dynamic* graph, mote_variable* x,
                                               const mote_command* command,
                                               const mote_variable* const* others,
                                               size_t other_count);
/* Creates x in another dtype and, unless `device` is NULL, on the device that a loaded plug-in
 * offers under that name. */
MOTE_API mote_status mote_dynamic_convert(mote_dynamic* graph, const mote_variable* x,
                                          DLDataType dtype, const char* device, mote_variable** y);

/* A symbolic graph as one step of dynamic graphs, compiled once for each set of dtypes and shapes.
 */
typedef struct mote_static_function mote_static_function;
/* Creates a function of a copy of the graph: its inputs are the graph's, in the order in which they
 * were added; its outputs are `outputs`, or those of the graph if `count` is 0. MOTE_INVALID if
 * there are none. */
MOTE_API mote_status mote_static_function_create(const mote_symbolic* graph,
                                                 const mote_symbol* outputs, size_t count,
                                                 mote_static_function** function);
MOTE_API void mote_static_function_free(mote_static_function* function);
/* Runs the function; `output_count` must be the number of its outputs. Inputs may have other shapes
 * than those of the graph; their dtypes must be its. */
MOTE_API mote_status mote_dynamic_run_static(mote_dynamic* graph,
                                             const mote_static_function* function,
                                             const mote_variable* const* inputs, size_t input_count,
                                             mote_variable** outputs, size_t output_count);

/* ---- the caller's code ---- */

/* Tensors that the caller's code reads may have any strides (tensor->dl.strides); those that it
 * writes are row-major.
 *
 * The gradient of a caller's function, which has these inputs and outputs. `seeds` has a tensor for
 * each output, the gradient of what is differentiated with respect to it; NULL: 0. `gradients` has
 * a tensor for each input, of its dtype and shape, that must be written whole; NULL: it is not
 * asked for. The status that it returns is the error of the call that wanted the gradient. */
typedef mote_status (*mote_graph_function_gradient)(
    void* argument, const mote_tensor* const* inputs, size_t input_count,
    const mote_tensor* const* outputs, const mote_tensor* const* seeds, size_t output_count,
    mote_tensor* const* gradients);
typedef struct mote_graph_function mote_graph_function;
/* Creates a function of that name from the caller's code. gradient may be NULL: then it cannot be
 * differentiated. release(argument) is called when neither the handle nor a graph needs the
 * function any more, perhaps by another thread; release may be NULL. On an error it is not called.
 */
MOTE_API mote_status mote_graph_function_create(const char* name, mote_node_work work,
                                                mote_graph_function_gradient gradient,
                                                void* argument, void (*release)(void* argument),
                                                mote_graph_function** function);
MOTE_API void mote_graph_function_free(mote_graph_function* function);
/* A dtype and a shape. */
typedef struct mote_form {
  DLDataType dtype;
  int32_t rank;
  const int64_t* shape; /* may be NULL at rank 0 */
} mote_form;
/* Calls the function as one step, with tensors of these forms to write. No input may be left out;
 * at most 64 inputs. Every call of one step must give the same function, since equal steps are
 * known by its handle. */
MOTE_API mote_status mote_dynamic_call(mote_dynamic* graph, const mote_graph_function* function,
                                       const mote_variable* const* inputs, size_t input_count,
                                       const mote_form* forms, mote_variable** outputs,
                                       size_t output_count);
/* Adds the function as a node of a symbolic graph, whose outputs are symbols that nothing writes
 * yet. Unlike mote_symbolic_call() it has a gradient. */
MOTE_API mote_status mote_symbolic_call_function(mote_symbolic* graph,
                                                 const mote_graph_function* function,
                                                 const mote_symbol* inputs, size_t input_count,
                                                 const mote_symbol* outputs, size_t output_count);

/* Code that uses a dynamic graph: it is given variables, which stay the graph's, and makes a
 * variable for each output, which it gives away. The status that it returns is the call's error. */
typedef mote_status (*mote_dynamic_work)(void* argument, mote_dynamic* graph,
                                         const mote_variable* const* inputs, size_t input_count,
                                         mote_variable** outputs, size_t output_count);
/* Adds such code as a node of a symbolic graph, of that name, whose outputs are symbols that
 * nothing writes yet. Its gradient runs the code again, traced. The code may be called in several
 * threads; the context must outlive the graph and what is compiled from it. `release` is as in
 * mote_graph_function_create(). */
MOTE_API mote_status mote_symbolic_call_dynamic(mote_symbolic* graph, mote_context* context,
                                                const char* name, mote_dynamic_work work,
                                                void* argument, void (*release)(void* argument),
                                                const mote_symbol* inputs, size_t input_count,
                                                const mote_symbol* outputs, size_t output_count);

/* The gradient of a caller's function as code on variables, which belong to a graph of their own
 * and stay that graph's: as mote_graph_function_gradient, but it makes a variable for each input,
 * of its dtype and shape, which it gives away; NULL: 0. What it runs is traced, so that the
 * gradient can be differentiated again, any number of times. */
typedef mote_status (*mote_graph_function_traced_gradient)(
    void* argument, mote_dynamic* graph, const mote_variable* const* inputs, size_t input_count,
    const mote_variable* const* outputs, const mote_variable* const* seeds, size_t output_count,
    mote_variable** gradients);
/* Creates a function as mote_graph_function_create() does, with such a gradient. The context must
 * outlive it and the graphs that have it. */
MOTE_API mote_status mote_graph_function_create_traced(mote_context* context, const char* name,
                                                       mote_node_work work,
                                                       mote_graph_function_traced_gradient gradient,
                                                       void* argument,
                                                       void (*release)(void* argument),
                                                       mote_graph_function** function);

/* ---- gradients ---- */

typedef struct mote_backward_options {
  size_t size; /* sizeof(mote_backward_options) */
  /* One for each of `of`, of its dtype and shape: the gradient of what it is used for. NULL, and an
   * entry that is NULL: all 1. */
  const mote_variable* const* seeds;
  /* One for each of `wrt`, that the gradient is added to; NULL, and an entry that is NULL: a new
   * variable is made. */
  mote_variable* const* into;
  int32_t is_traced; /* not 0: gradients can be differentiated again */
  int32_t reserved;
} mote_backward_options;
/* Creates the gradient of sum_k <seeds[k], of[k]> with respect to each of `wrt`, of its dtype and
 * shape: zeros where nothing depends on it. options may be NULL. Where options.into has a variable,
 * `gradients` gets another handle of it. MOTE_INVALID if one of `wrt` is a constant;
 * MOTE_UNSUPPORTED if an op between has no gradient. */
MOTE_API mote_status mote_dynamic_backward(mote_dynamic* graph, const mote_variable* const* of,
                                           size_t of_count, const mote_variable* const* wrt,
                                           size_t wrt_count, const mote_backward_options* options,
                                           mote_variable** gradients);
/* Runs the code, and keeps of all that it computes only its outputs: mote_dynamic_backward()
 * computes the rest again, with the same bits. */
MOTE_API mote_status mote_dynamic_checkpoint(mote_dynamic* graph, mote_dynamic_work work,
                                             void* argument, const mote_variable* const* inputs,
                                             size_t input_count, mote_variable** outputs,
                                             size_t output_count);
/* Sets `has_effect` to 1 if a gradient of y with respect to x can be other than zeros, else to 0.
 */
MOTE_API mote_status mote_dynamic_has_effect(mote_dynamic* graph, const mote_variable* x,
                                             const mote_variable* y, int32_t* has_effect);
/* From the first of these calls to its end, this thread's commands are not remembered: results are
 * constants. Scopes may be nested. MOTE_INVALID for an end without a beginning. */
MOTE_API mote_status mote_no_gradient_begin(void);
MOTE_API mote_status mote_no_gradient_end(void);

/* ---- the graph ---- */

/* Computes everything pending that a variable has, and waits for what devices were given. */
MOTE_API mote_status mote_dynamic_finish(mote_dynamic* graph);
typedef struct mote_dynamic_statistics {
  size_t size;           /* sizeof(mote_dynamic_statistics), set by the caller */
  size_t variables;      /* those that the program has */
  size_t values;         /* tensors that the graph knows, with memory or without */
  size_t steps;          /* commands, views and functions that are remembered */
  size_t pending_steps;  /* those that have not run */
  size_t variable_bytes; /* of values that variables have */
  size_t saved_bytes;    /* of values that only gradients or pending steps need */
  size_t memo_bytes;     /* of values that are only kept for equal commands */
  size_t free_bytes;     /* memory that the next values take */
  size_t memo_hits;
  size_t compiled_graphs; /* those that are kept */
  size_t compilations;    /* those that were made, ever */
  size_t computed_again;  /* steps that ran again because their values had been dropped */
  size_t compiled_bytes;  /* of the memory of compiled_graphs */
  size_t forgotten;       /* steps that went since no gradient could be asked for */
} mote_dynamic_statistics;
/* Fills the struct up to the size that it states. */
MOTE_API mote_status mote_dynamic_get_statistics(mote_dynamic* graph,
                                                 mote_dynamic_statistics* statistics);
/* Memory that values share, and why it is kept. */
typedef struct mote_kept_memory {
  const char* form;   /* "f32[2,3]", of one of the values, or "a tape" */
  size_t bytes;       /* of that value, or of a tape */
  const char* reason; /* "a variable has it", "the gradient of tanh reads it", ... */
} mote_kept_memory;
/* Lists all memory that values and tapes have, the latest value first, each once, with the first
 * reason of: a variable, a gradient or pending command that reads it, equal commands. The list is
 * valid until the next call of this function in the same thread; `memory` is NULL if it is empty.
 */
MOTE_API mote_status mote_dynamic_get_memory(mote_dynamic* graph, const mote_kept_memory** memory,
                                             size_t* count);
/* Gives back memory that is free, and forgets what was compiled and what is kept for equal
 * commands. */
MOTE_API mote_status mote_dynamic_trim(mote_dynamic* graph);

#ifdef __cplusplus
}
#endif
#endif
