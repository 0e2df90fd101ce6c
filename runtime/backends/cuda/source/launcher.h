// SPDX-License-Identifier: Apache-2.0
/* lib/mote/cuda_launcher.so: what a plug-in is linked with whose functions take pointers of a GPU
 * and a stream (`mote emit OP --plugin FUNCTION --gpu`, and .cu files where there is a GPU). Its
 * kernels are thunks of C, which read shapes and strides alone, so that they need not know where
 * the data lie. */
#ifndef MOTE_CUDA_LAUNCHER_H
#define MOTE_CUDA_LAUNCHER_H

#include "mote/base/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The thunk's answer; MOTE_UNSUPPORTED where there is no GPU. */
MOTE_PLUGIN_EXPORT mote_status mote_gpu_can_run(mote_status (*can_run)(const mote_call*),
                                                const mote_call* call);
/* The thunk on pointers of the GPU: copies, where the tensors are the host's, on a stream of their
 * own, else the tensors themselves. What the function fails at is told by its name. */
MOTE_PLUGIN_EXPORT mote_status mote_gpu_run(const char* function,
                                            mote_status (*run)(const mote_call*, void*),
                                            const mote_call* call, void* stream);
/* Within such a call: the stream; and what the function has returned, which is returned. */
MOTE_PLUGIN_EXPORT void* mote_gpu_stream(void);
MOTE_PLUGIN_EXPORT int mote_gpu_returned(int status);

#ifdef __cplusplus
}
#endif
#endif
