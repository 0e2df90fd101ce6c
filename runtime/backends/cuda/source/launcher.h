// SPDX-License-Identifier: Apache-2.0
/* lib/mote/cuda_launcher.so: the library for plug-ins whose functions take pointers of a GPU and a
 * stream (`mote emit OP --plugin FUNCTION --gpu`, and .cu files if there is a GPU). Its kernels are
 * thunks of C, which read only shapes and strides, so that they need not know where the data
 * are. */
#ifndef MOTE_CUDA_LAUNCHER_H
#define MOTE_CUDA_LAUNCHER_H

#include "mote/base/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the thunk's answer; MOTE_UNSUPPORTED if there is no GPU. */
MOTE_PLUGIN_EXPORT mote_status mote_gpu_can_run(mote_status (*can_run)(const mote_call*),
                                                const mote_call* call);
/* Calls the thunk with pointers of the GPU: copies of the host's tensors on a stream of their own,
 * else the tensors themselves. Errors name the function. */
MOTE_PLUGIN_EXPORT mote_status mote_gpu_run(const char* function,
                                            mote_status (*run)(const mote_call*, void*),
                                            const mote_call* call, void* stream);
/* These functions are for use within such a call: the first returns the stream, the second notes
 * the status that the function has returned and returns it. */
MOTE_PLUGIN_EXPORT void* mote_gpu_stream(void);
MOTE_PLUGIN_EXPORT int mote_gpu_returned(int status);

#ifdef __cplusplus
}
#endif
#endif
