// SPDX-License-Identifier: Apache-2.0
/* The part of the C interface (mote/mote_graphs.h, which includes this) that rewrites symbolic
 * graphs: checkpoints (mote/symbolic/checkpoint.h), passes (mote/symbolic/pass.h) and replacements
 * (mote/symbolic/replace.h), and what passes of the program's own need. The rules of mote/mote.h
 * hold. */
#ifndef MOTE_MOTE_REWRITING_H
#define MOTE_MOTE_REWRITING_H

#include "mote/mote.h"
#include "mote/mote_graphs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- checkpoints ---- */

typedef enum mote_checkpoint_policy {
  MOTE_CHECKPOINT_SQUARE_ROOT = 0,
  MOTE_CHECKPOINT_BINOMIAL = 1,
  MOTE_CHECKPOINT_BUDGET = 2,
  MOTE_CHECKPOINT_CHEAP = 3
} mote_checkpoint_policy;
typedef struct mote_checkpoint_options {
  size_t size;    /* sizeof(mote_checkpoint_options) */
  int32_t policy; /* mote_checkpoint_policy */
  int32_t slots;  /* for MOTE_CHECKPOINT_BINOMIAL */
  size_t budget;  /* bytes, for MOTE_CHECKPOINT_BUDGET */
  /* Symbols that are never computed again. */
  const mote_symbol* keep;
  size_t keep_count;
  /* The context in which the graph will run; NULL: bytes are those with the generated kernels. For
   * MOTE_CHECKPOINT_CHEAP the graph is run in it with and without the checkpoint; NULL: time is not
   * measured. */
  mote_context* context;
} mote_checkpoint_options;
/* Makes the way back compute values of the way forward again instead of keeping them. `losses` are
 * the symbols whose gradient the graph holds. `copies` gets the number of nodes that were added; it
 * may be NULL. */
MOTE_API mote_status mote_symbolic_checkpoint(mote_symbolic* graph, const mote_symbol* losses,
                                              size_t count, const mote_checkpoint_options* options,
                                              size_t* copies);
typedef struct mote_checkpoint_report {
  size_t size;   /* sizeof(mote_checkpoint_report), set by the caller */
  size_t copies; /* nodes that were added */
  size_t segments;
  size_t forward_nodes;
  size_t most_runs;    /* how often the node that runs the most runs */
  size_t copied_bytes; /* the bytes that the added nodes read and write */
  /* "square_root: 10 segments, 90 nodes computed again", valid until the next call for this
   * graph. */
  const char* text;
} mote_checkpoint_report;
/* Does what mote_symbolic_checkpoint() does, and fills the struct up to the size that it states. */
MOTE_API mote_status mote_symbolic_checkpoint_with(mote_symbolic* graph, const mote_symbol* losses,
                                                   size_t count,
                                                   const mote_checkpoint_options* options,
                                                   mote_checkpoint_report* report);

/* ---- passes ---- */

/* Lists all passes, sorted, as mote_op_names lists ops. */
MOTE_API mote_status mote_pass_names(const char** names, size_t room, size_t* count);
/* Lists the passes that compiling runs, in their order, likewise. */
MOTE_API mote_status mote_default_passes(const char** names, size_t room, size_t* count);
/* Returns a sentence that says what the pass does, "" if it has none; valid as long as the program.
 * The error names similar passes. */
MOTE_API mote_status mote_pass_summary(const char* name, const char** summary);

/* Runs passes by name, in the order that they need. */
MOTE_API mote_status mote_symbolic_apply_passes(mote_symbolic* graph, const char* const* names,
                                                size_t count);
typedef struct mote_pass_options {
  size_t size; /* sizeof(mote_pass_options) */
  /* The context in which the graph will run: what would make another kernel of it run is left
   * alone. NULL: the generated kernels. */
  mote_context* context;
  size_t fold_bytes; /* the most bytes of a tensor that is computed ahead; 0: 2^20 */
  int32_t inexact;   /* not 0: allows changes from which another rounding may follow */
  int32_t verify;    /* not 0: checks the rules of a graph before the first pass and after each */
} mote_pass_options;
/* Does what mote_symbolic_apply_passes() does, with all options, which may be NULL. `reports` gets
 * a line for each run of a pass, "merge: 3 nodes removed" or "merge: nothing", and is valid until
 * the next call for this graph; it may be NULL. */
MOTE_API mote_status mote_symbolic_apply_passes_with(mote_symbolic* graph, const char* const* names,
                                                     size_t count, const mote_pass_options* options,
                                                     const char** reports);

typedef struct mote_pass {
  size_t size;         /* sizeof(mote_pass) */
  const char* name;    /* a verb, by which it is asked for; it is copied */
  const char* summary; /* a sentence that says what it does; it is copied; may be NULL */
  /* Changes the graph by the functions of this interface; `graph` is valid until it returns. If it
   * returns another status than MOTE_OK, that is the error of the call which ran the pass, with
   * the message of mote_last_error(), and the graph is as it was. */
  mote_status (*run)(void* argument, mote_symbolic* graph);
  void* argument; /* must be valid as long as the program */
} mote_pass;
/* Adds a pass for mote_symbolic_apply_passes() and mote_compile_options. */
MOTE_API mote_status mote_register_pass(const mote_pass* pass);

typedef struct mote_replacement {
  size_t size;      /* sizeof(mote_replacement) */
  const char* name; /* all texts are copied */
  /* The commands that are replaced, as the text of a graph with one output. */
  const char* pattern;
  const char* by;     /* one command, as the text of a graph with the same inputs and output */
  int32_t is_exact;   /* not 0: results are equal bit for bit, so that compiling uses it */
  const char* reason; /* why it is exact, or where results differ; may be NULL */
} mote_replacement;
/* Adds a row to the table of the pass "replace". */
MOTE_API mote_status mote_register_replacement(const mote_replacement* replacement);

/* ---- nodes, for passes of the program's own ---- */

/* Lists the nodes in an order in which they can run, each by the first symbol that it writes, and
 * sets `count` to their number. `symbols` may be NULL, else it has room for `room` symbols. */
MOTE_API mote_status mote_symbolic_nodes(const mote_symbolic* graph, mote_symbol* symbols,
                                         size_t room, size_t* count);
/* Returns the command of the node that writes the symbol, "softmax axis=1"; NULL if the node is
 * none, as a copy or a loop. The text is valid until the next call for this graph. */
MOTE_API mote_status mote_symbolic_node_command(mote_symbolic* graph, mote_symbol written,
                                                const char** command);
/* Lists the inputs of the node that writes the symbol, as mote_symbolic_nodes() lists nodes. */
MOTE_API mote_status mote_symbolic_node_inputs(const mote_symbolic* graph, mote_symbol written,
                                               mote_symbol* inputs, size_t room, size_t* count);
/* Makes all that reads `from`, and the graph's outputs, read `to`, of the same form. */
MOTE_API mote_status mote_symbolic_replace_uses(mote_symbolic* graph, mote_symbol from,
                                                mote_symbol to);
/* Removes the node that writes the symbol. Nothing may read what it writes. */
MOTE_API mote_status mote_symbolic_remove(mote_symbolic* graph, mote_symbol written);

#ifdef __cplusplus
}
#endif
#endif
