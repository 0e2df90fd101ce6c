// SPDX-License-Identifier: Apache-2.0
/* The two variants of gelu_chain.mote as `mote emit` writes them; that of gen exists for each
 * level. */
#ifndef MOTE_BENCH_KERNELS_H
#define MOTE_BENCH_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int gelu_chain_kernel(const float* x, const int64_t sx[1], const float* r,
                              const int64_t sr[1], float* y, const int64_t sy[1], int64_t N,
                              double scale, double shift);
gelu_chain_kernel gelu_chain_reference;
gelu_chain_kernel gelu_chain_v0;
gelu_chain_kernel gelu_chain_v3;
gelu_chain_kernel gelu_chain_v4;

#ifdef __cplusplus
}
#endif
#endif
