// SPDX-License-Identifier: Apache-2.0
/* Declares the definitions of the catalogue's ops, for programs that link no compiler. mote-gen
 * writes them. C99. */
#ifndef MOTE_BASE_OPS_H
#define MOTE_BASE_OPS_H

#include <stdint.h>

#include "mote/base/export_c.h"
#include "mote/base/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The codes of the steps of a program that computes the extent of an axis with a stack of integers.
 * The first three push a value; the others replace the two topmost values, a below b, by one. */
typedef enum mote_size_code {
  MOTE_SIZE_END = 0,
  MOTE_SIZE_NUMBER = 1,   /* pushes the number */
  MOTE_SIZE_NAME = 2,     /* pushes the size of that name */
  MOTE_SIZE_PARAM = 3,    /* pushes the parameter of that name */
  MOTE_SIZE_ADD = 4,      /* a + b */
  MOTE_SIZE_MULTIPLY = 5, /* a * b */
  MOTE_SIZE_DIVIDE = 6,   /* the floor of a / b, for b of at least 1 */
  MOTE_SIZE_MOD = 7,      /* a - b * floor(a / b), for b of at least 1 */
  MOTE_SIZE_MIN = 8,
  MOTE_SIZE_MAX = 9
} mote_size_code;

typedef struct mote_size_step {
  int32_t code;     /* mote_size_code */
  const char* name; /* for MOTE_SIZE_NAME and MOTE_SIZE_PARAM */
  int64_t number;   /* for MOTE_SIZE_NUMBER */
} mote_size_step;

/* An input or output at its canonical rank. */
typedef struct mote_op_tensor {
  const char* name;
  const char* dtype; /* "i64", …; "T": the dtype of the instance */
  /* For an output: a call may leave it out, though not all outputs at once; or it exists only with
   * an optional input. */
  int32_t optional;
  int32_t rank;
  const char* const* axes; /* the extents as text: "N", "$groups*CG" */
  uint32_t broadcast;      /* bit k: axis k may have extent 1 and then repeats */
  uint32_t batch;          /* bit k: the op is computed for each index of axis k by itself */
  /* The extents as programs, each of which leaves one value at its MOTE_SIZE_END. programs[k] is
   * NULL if axis k is a size, which its text names; programs is NULL if all axes are sizes. */
  const mote_size_step* const* programs;
} mote_op_tensor;

typedef struct mote_op_param {
  const char* name;
  const char* meaning;
  int32_t is_integer;
  int32_t has_default;
  double default_value;
  int64_t lower; /* for integers, the legal range */
  int64_t upper;
} mote_op_param;

typedef struct mote_op_definition {
  const char* name;
  const char* family;
  const char* equation;
  const char* policy;
  const char* source;
  int32_t input_count;
  int32_t output_count;
  int32_t param_count;
  int32_t pair_count;
  const mote_op_tensor* inputs;
  const mote_op_tensor* outputs;
  const mote_op_param* params;
  const mote_op_pair* in_place; /* outputs that may be stored where an input is */
} mote_op_definition;

/* The gradient of an op is another op. Its inputs are, in this order, the gradients of outputs of
 * the op, inputs of the op, and outputs of the op; its outputs are gradients of inputs of the op.
 * Bit k of a mask is output or input k of the op, except in `reads`. */
typedef struct mote_op_gradient {
  const char* op;
  const char* gradient;
  uint64_t from;    /* the outputs whose gradients it takes */
  uint64_t inputs;  /* the inputs that it takes */
  uint64_t outputs; /* the outputs that it takes */
  uint64_t reads;   /* bit k: some kernel reads the data of its own input k, not only the shape */
  uint64_t to;      /* the inputs whose gradients it gives */
} mote_op_gradient;

/* The ops of the catalogue and their gradients, as far as kernels exist, sorted by name. */
MOTE_API extern const mote_op_definition mote_ops[];
MOTE_API extern const int32_t mote_op_count;
/* The gradients, sorted by op. */
MOTE_API extern const mote_op_gradient mote_op_gradients[];
MOTE_API extern const int32_t mote_op_gradient_count;

#ifdef __cplusplus
}
#endif
#endif
