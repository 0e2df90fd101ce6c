// SPDX-License-Identifier: Apache-2.0
/* The oracle for C (C99): it checks a kernel against the generated reference of its op.
 *
 * Every function returns MOTE_OK when all cases passed, MOTE_FAILED when one did not,
 * MOTE_UNSUPPORTED when no case was judged, MOTE_INVALID for an invalid call (an unknown op or
 * library, NULL where it is not allowed), MOTE_OUT_OF_MEMORY. *report is then a text with the
 * failures, smallest cases first, or with the number of judged cases if all passed;
 * mote_check_free() frees it. `report` may be NULL. Kernels run in worker processes:
 * one that crashes fails and does not end the program. No function throws or aborts.
 *
 * A failing case of a function is run again by the program that checks it, with the case in the
 * environment variable MOTE_REPLAY; the report has the command. mote_check_function() then runs
 * that case alone, and returns MOTE_OK for a function that the case is not for. */
#ifndef MOTE_ORACLE_ORACLE_H
#define MOTE_ORACLE_ORACLE_H

#include <stddef.h>
#include <stdint.h>

#include "mote/base/export_c.h"
#include "mote/base/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A field that is 0 or NULL, or lies beyond size, has its default. */
typedef struct mote_check_options {
  size_t size;             /* sizeof(mote_check_options) */
  const char* dtype;       /* "f32"; default of a function: f32, or the first that the op offers; of
                              a plug-in: all */
  const char* accumulator; /* of a function: "native", "f32" or "f64"; default f32 for tensors of
                              16 bits, else native */
  int32_t row_major;       /* of a function: it takes only tensors without gaps */
  int32_t nondeterministic; /* of a function: equal calls need not give equal bits */
  int64_t count;            /* random cases of each op and dtype; default 300 */
  uint64_t seed;            /* of the random cases */
  const char* name; /* of a function: in reports and cases, without blanks; default "function" */
  int32_t indices;  /* of a function: mote_indices, its assumptions about inputs that are
                       indices */
  int32_t reserved;
  const char* without; /* of a function: optional inputs that it does not take, "b" or "b,c" */
  const char* needs;   /* of a function: optional inputs and outputs that it requires;
                          it gets NULL for others that a call lacks */
  int32_t in_process;  /* of a function: run it in this process; a crash ends the program */
  int32_t reserved_too;
} mote_check_options;

/* A cast function with the signature that `mote emit OP` prints; it returns 0. C cannot compare
 * its arguments with the op's: a function with others has undefined behaviour in a worker. */
typedef void (*mote_function)(void);

MOTE_API mote_status mote_check_function(const char* op, mote_function function,
                                         const mote_check_options* options, char** report);
/* All backends of a library with mote_plugin_init(). op NULL: every op that it has a kernel for. */
MOTE_API mote_status mote_check_library(const char* path, const char* op,
                                        const mote_check_options* options, char** report);
MOTE_API void mote_check_free(char* report);

#ifdef __cplusplus
}
#endif
#endif
