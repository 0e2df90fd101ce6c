// SPDX-License-Identifier: Apache-2.0
/* Declares the generated kernels, which mote-gen writes. C99, so that the generated C can define
 * it. */
#ifndef MOTE_BASE_REGISTRY_H
#define MOTE_BASE_REGISTRY_H

#include "mote/base/export_c.h"
#include "mote/base/kernel.h"
#include "mote/base/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One generated kernel: op ("conv2d", "conv2d.grad"), variant ("gen", "reference"), dtype of its
 * instance, and as masks (bit k: input k of the record) the inputs that are present and those of
 * them whose data it reads. Of the other inputs it needs only the shape: their data may be NULL. */
typedef struct mote_generated_kernel {
  const char* op;
  const char* variant;
  const char* dtype;
  uint64_t input_mask;
  uint64_t read_mask;
  /* Bit k: output k of the op, as it is with all inputs, is among the kernel's outputs. A gradient
   * has fewer if its op lacks an optional input. */
  uint64_t output_mask;
  mote_kernel kernel;
} mote_generated_kernel;

/* The kernels of a set of ops, sorted by op, variant, dtype, input_mask, and the definitions of the
 * ops, sorted by name. mote-gen writes one for the catalogue and one for each other library. */
typedef struct mote_kernel_library {
  const char* name;
  const mote_generated_kernel* kernels;
  int32_t kernel_count;
  int32_t op_count;
  const mote_op_definition* ops;
  const mote_op_gradient* gradients; /* sorted by op */
  int32_t gradient_count;
} mote_kernel_library;

/* The kernels of the catalogue. */
MOTE_API extern const mote_generated_kernel mote_generated_kernels[];
MOTE_API extern const int32_t mote_generated_kernel_count;

#ifdef __cplusplus
}
#endif
#endif
