// SPDX-License-Identifier: Apache-2.0
/* The level of x86-64 at which gen kernels run: 4 (AVX-512), 3 (AVX2, FMA), 0 (the build's
 * target). $MOTE_LEVEL lowers it, for tests. C99. */
#ifndef MOTE_GENERATED_LEVEL_H
#define MOTE_GENERATED_LEVEL_H

#include "mote/base/export_c.h"

#ifdef __cplusplus
extern "C" {
#endif

MOTE_API int mote_level(void);

#ifdef __cplusplus
}
#endif
#endif
