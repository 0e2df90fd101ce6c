/* The generated kernels: what mote-gen writes. C99, so that the generated C can define it. */
#ifndef MOTE_BASE_REGISTRY_H
#define MOTE_BASE_REGISTRY_H

#include "mote/base/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One generated kernel: op ("conv2d", "conv2d.grad"), variant ("fast", "oracle"), dtype of its
 * instance, and as masks (bit k: input k of the record) the inputs that are present and those of
 * them whose data it reads. Of the others it needs the shape: their data may be NULL. */
typedef struct mote_generated_kernel {
  const char* op;
  const char* variant;
  const char* dtype;
  uint32_t input_mask;
  uint32_t read_mask;
  mote_kernel kernel;
} mote_generated_kernel;

/* Sorted by op, variant, dtype, input_mask. */
extern const mote_generated_kernel mote_generated_kernels[];
extern const int32_t mote_generated_kernel_count;

#ifdef __cplusplus
}
#endif
#endif
