/* The generated kernels: what mote-gen writes. C99, so that the generated C can define it. */
#ifndef MOTE_BASE_REGISTRY_H
#define MOTE_BASE_REGISTRY_H

#include "mote/base/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One generated kernel: op, variant ("fast", "oracle"), dtype of its instance, mask of the optional
 * inputs that are present (bit k: input k of the record), and the kernel itself. */
typedef struct mote_generated_kernel {
  const char* op;
  const char* variant;
  const char* dtype;
  uint32_t input_mask;
  uint32_t reserved;
  mote_kernel kernel;
} mote_generated_kernel;

/* Sorted by op, variant, dtype, input_mask. */
extern const mote_generated_kernel mote_generated_kernels[];
extern const int32_t mote_generated_kernel_count;

#ifdef __cplusplus
}
#endif
#endif
