// SPDX-License-Identifier: Apache-2.0
// The header of a .cu file that runs on a GPU and on a CPU: mote_launch() for <<<>>>, and a few
// calls of the CUDA runtime. Under nvcc they are CUDA's own; with MOTE_CUDA_HOST defined kernels
// run on mote's shim, on the CPU, and memory is the host's.
#ifndef MOTE_LAUNCH_H
#define MOTE_LAUNCH_H

#include "mote_cuda.h"

#if !defined(MOTE_CUDA_HOST)

#include <cuda_runtime.h>

// The block's memory, whose size the launch gives.
#define MOTE_DYNAMIC_SHARED(type, name)                                \
  extern __shared__ __align__(16) unsigned char mote_dynamic_shared[]; \
  type* name = reinterpret_cast<type*>(mote_dynamic_shared)

// Launches kernel<<<grid, block, shared_bytes, stream>>>(arguments...) and returns the launch's
// error.
template <class... Parameters, class... Arguments>
cudaError_t mote_launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                        cudaStream_t stream, Arguments... arguments) {
  kernel<<<grid, block, shared_bytes, stream>>>(static_cast<Parameters>(arguments)...);
  return cudaGetLastError();
}

#else

#include <stddef.h>
#include <stdlib.h>

typedef struct CUstream_st* cudaStream_t;
enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorLaunchFailure = 719
};
enum cudaMemcpyKind { cudaMemcpyDeviceToDevice = 3, cudaMemcpyDefault = 4 };

struct mote_host_grid {
  dim3 grid, block;
  size_t shared_bytes;
  char *shared_begin, *shared_end;  // the file's static shared memory
  size_t static_bytes;              // the kernel's, if it is known, or 0
};
extern "C" {
// The kernel's static shared memory, in a file with one kernel.
extern const size_t mote_host_static_bytes __attribute__((weak));
const mote_host_calls* mote_host_shim();
// Calls body(context) for each thread. Returns 0, or cudaErrorLaunchFailure, then for every later
// launch of the call too.
int mote_host_launch(const mote_host_grid* grid, void (*body)(void*), void* context);
// Returns the error of this call's launches so far.
int mote_host_error();
}

template <class... Parameters, class... Arguments>
cudaError_t mote_launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                        cudaStream_t, Arguments... arguments) {
  auto body = [&] { kernel(static_cast<Parameters>(arguments)...); };
  using Body = decltype(body);
  const mote_host_grid all = {grid,
                              block,
                              shared_bytes,
                              __start_mote_shared,
                              __stop_mote_shared,
                              &mote_host_static_bytes != nullptr ? mote_host_static_bytes : 0};
  mote_host = mote_host_shim();
  return static_cast<cudaError_t>(mote_host_launch(
      &all, [](void* context) { (*static_cast<Body*>(context))(); }, &body));
}

inline cudaError_t cudaGetLastError() { return static_cast<cudaError_t>(mote_host_error()); }
inline cudaError_t cudaPeekAtLastError() { return cudaGetLastError(); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaGetLastError(); }

// New memory holds NaNs.
template <class Value>
cudaError_t cudaMallocAsync(Value** at, size_t bytes, cudaStream_t) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) return cudaErrorMemoryAllocation;
  memset(memory, 0xff, bytes);
  *at = static_cast<Value*>(memory);
  return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* at, cudaStream_t) {
  free(at);
  return cudaSuccess;
}
inline cudaError_t cudaMemsetAsync(void* at, int byte, size_t bytes, cudaStream_t) {
  if (bytes > 0) memset(at, byte, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                                   cudaStream_t) {
  if (bytes > 0) memmove(to, from, bytes);
  return cudaSuccess;
}

// These are functions of device code that C++ lacks.
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
template <class Value>
Value __ldg(const Value* at) {
  return *at;
}
template <class Value>
Value min(Value a, Value b) {
  return b < a ? b : a;
}
template <class Value>
Value max(Value a, Value b) {
  return a < b ? b : a;
}
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
template <class Value>
Value atomicExch(Value* at, Value by) {
  const Value old = *at;
  *at = by;
  return old;
}
template <class Value>
Value atomicCAS(Value* at, Value expected, Value by) {
  const Value old = *at;
  if (old == expected) *at = by;
  return old;
}
template <class Value>
Value atomicMax(Value* at, Value by) {
  return atomicExch(at, *at < by ? by : *at);
}
template <class Value>
Value atomicMin(Value* at, Value by) {
  return atomicExch(at, by < *at ? by : *at);
}

#endif
#endif
