/* SPDX-License-Identifier: Apache-2.0 */
/* The door of the package mote_kernels (C99): the oracle for a subject that lives in the calling
 * process or in worker processes that it starts, and the reference, the bound and the judgement of
 * tensors that the caller has. The rules of mote/mote.h hold: every function returns a mote_status,
 * mote_last_error() says what was wrong, nothing throws or aborts. mote_py_X_free frees an object.
 */
#ifndef MOTE_PYTHON_H
#define MOTE_PYTHON_H

#include "mote/mote.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ops ---- */

/* Describes an op of the catalogue or a program file as JSON: its name, inputs and outputs with
 * their axes, parameters, dtypes. *text is freed by mote_py_text_free(). */
MOTE_API mote_status mote_py_describe(const char* op, char** text);
MOTE_API void mote_py_text_free(char* text);
typedef enum mote_py_at_kinks {
  MOTE_PY_USUAL = 0,
  MOTE_PY_LEAST = 1,
  MOTE_PY_GREATEST = 2
} mote_py_at_kinks;
/* The gradient of the op, with these of its optional inputs left out ("b,c"), as the text of a
 * program: its inputs are the gradients of the op's real outputs and the op's inputs, its outputs
 * the gradients of its real inputs. At a kink (equal arguments of max and min, abs at 0, a
 * comparison of equal reals) it has what the op's own gradient has, or the least or the greatest of
 * what generalised gradients have. *ties_kept is 1 if what is equal there stays equal when the same
 * is added to all real inputs: the sum of all gradients is then the same for each of them. */
MOTE_API mote_status mote_py_gradient(const char* op, const char* without, int32_t at_kinks,
                                      char** text, int32_t* ties_kept);
/* Runs the tool `mote` with this command line; returns its exit code. `folder` stands for the
 * folder of the program: the files of the tool are in folder/../share/mote. */
MOTE_API int mote_py_tool(int argc, char** argv, const char* folder);

/* ---- a campaign ---- */

/* An axis whose extent is the same in all cases, by its name in the op's definition. */
typedef struct mote_py_extent {
  const char* axis;
  int64_t extent;
} mote_py_extent;

typedef struct mote_py_options {
  size_t size;    /* sizeof(mote_py_options) */
  const char* op; /* an op or a program file */
  const char* const* dtypes;
  size_t dtype_count;       /* 0: all of the op */
  const char* const* cases; /* run first: the text of a case */
  size_t case_count;
  const mote_py_extent* extents;
  size_t extent_count;
  double budget_s;  /* seconds of random cases; negative: no limit */
  double shrink_s;  /* seconds to shrink each failure, and again to diagnose it; negative: the
                     * oracle's default */
  double limit_s;   /* seconds of a call in a worker; not positive: the oracle's default */
  double warm_up_s; /* more seconds of the first call in a worker; negative: the default */
  int64_t count;    /* random cases; negative: no limit */
  uint64_t seed;
  int32_t max_failures; /* not positive: no limit */
  /* The command line of a process that serves workers: it calls mote_py_serve() with the text that
   * it finds in the environment variable MOTE_WORKER. 0 words: the backend runs in this process. */
  int32_t worker_words;
  const char* const* worker;
  /* The command by which a report says a case is run again; "{case}" stands for the case's text. */
  const char* replay;
  /* Called before and after each case, in the thread that checks; a result other than 0 ends the
   * campaign. May be NULL. */
  int32_t (*progress)(void);
} mote_py_options;

/* The result of a campaign. */
typedef struct mote_py_result mote_py_result;
/* Checks the backend. While it runs, the first SIGINT ends the campaign after the running case, and
 * is passed on to the handler that was installed before. */
MOTE_API mote_status mote_py_check(const mote_backend* backend, const mote_py_options* options,
                                   mote_py_result** result);
/* Ends the campaign that runs in this process, as SIGINT does. A callback may call it. */
MOTE_API void mote_py_interrupt(void);
MOTE_API void mote_py_result_free(mote_py_result* result);
typedef enum mote_py_report {
  MOTE_PY_JSON = 0, /* lines of JSON (docs/reports.md) */
  MOTE_PY_TEXT = 1, /* each failure in words */
  MOTE_PY_HTML = 2  /* a page for a browser */
} mote_py_report;
/* The text is valid until the next call for this result. */
MOTE_API mote_status mote_py_result_report(mote_py_result* result, int32_t format,
                                           const char** text);
typedef enum mote_py_values {
  MOTE_PY_INPUT = 0,
  MOTE_PY_EXPECTED = 1,
  MOTE_PY_GOT = 2,   /* MOTE_UNSUPPORTED if the subject gave none: it crashed or raised */
  MOTE_PY_LOWER = 3, /* the ends of the bound; MOTE_UNSUPPORTED if the output must be exact */
  MOTE_PY_UPPER = 4
} mote_py_values;
/* Creates tensor k of the smallest case of a failure, row-major. `name` gets its name in the op,
 * valid as long as the result. MOTE_INVALID: there is no such tensor. */
MOTE_API mote_status mote_py_result_tensor(mote_py_result* result, size_t failure, int32_t values,
                                           size_t k, const char** name, mote_tensor** tensor);

/* ---- a call on the caller's tensors ---- */

typedef struct mote_py_call mote_py_call;
/* Prepares the command on these inputs, with the contract of a kernel that may have computed it
 * (NULL: the default). NULL stands for an optional input or output that is left out; outputs give
 * dtypes and shapes only, and may have no data. If `command` ends in ".mote" it is a program file,
 * with parameters behind it: "my.mote eps=0.5". */
MOTE_API mote_status mote_py_call_create(const char* command, const mote_tensor* const* inputs,
                                         size_t input_count, const mote_contract* contract,
                                         mote_py_call** call);
MOTE_API void mote_py_call_free(mote_py_call* call);
/* Creates the expected value, or an end of the bound, of output k. */
MOTE_API mote_status mote_py_call_output(mote_py_call* call, int32_t values, size_t k,
                                         const char** name, mote_tensor** tensor);
/* Judges outputs (NULL: not judged). *passed is 1 if each element lies in its bound; else `text`
 * describes the first elements that do not. The text is valid as long as the call. */
MOTE_API mote_status mote_py_call_judge(mote_py_call* call, const mote_tensor* const* outputs,
                                        size_t output_count, int32_t* passed, const char** text);

/* ---- the other end of a worker ---- */

/* Serves workers of a campaign in another process until that ends; it does not return. `given` is
 * the value of MOTE_WORKER. fork_process gets a worker's end of a socket and returns as fork()
 * does: it forks this process, or starts a program that calls mote_py_serve_one() with it; NULL:
 * fork().
 */
MOTE_API void mote_py_serve(const char* given, const mote_backend* backend,
                            int32_t (*fork_process)(int32_t socket));
MOTE_API void mote_py_serve_one(const char* given, int32_t socket, const mote_backend* backend);

#ifdef __cplusplus
}
#endif
#endif
