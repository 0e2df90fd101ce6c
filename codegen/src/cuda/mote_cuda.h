// What mote's kernels take from outside of the language, in one place: under nvcc and NVRTC from
// CUDA; with MOTE_CUDA_HOST defined from mote_cuda_host.h, which runs the same text on a CPU.
#ifndef MOTE_CUDA_H
#define MOTE_CUDA_H

#if defined(MOTE_CUDA_HOST)
#include "mote_cuda_host.h"
#elif defined(__CUDACC_RTC__)
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INT64_C(x) x##LL
#define UINT32_C(x) x##U
#define UINT64_C(x) x##ULL
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define INT64_MIN (-9223372036854775807LL - 1)
#define INT64_MAX 9223372036854775807LL
#define NAN __int_as_float(0x7fc00000)
#define INFINITY __int_as_float(0x7f800000)
#ifndef NULL
#define NULL nullptr
#endif
#else
#include <math.h>
#include <stdint.h>
#endif

#define MOTE_DEVICE static __device__ inline
#define MOTE_INLINE MOTE_DEVICE
#define MOTE_BOUND static constexpr

#if defined(__CUDACC__)
// C makes a double of an integer here; CUDA could not choose between float and double.
MOTE_DEVICE double ldexp(int x, int exponent) { return ldexp((double)x, exponent); }
#endif

// The strides of a tensor, in elements.
template <int Rank>
struct mote_strides {
  int64_t of[Rank];
  __device__ int64_t operator[](int axis) const { return of[axis]; }
};

// Which thread of the grid this is, and how many there are.
MOTE_DEVICE int64_t mote_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
MOTE_DEVICE int64_t mote_threads() { return (int64_t)gridDim.x * blockDim.x; }
MOTE_DEVICE int64_t mote_block() { return blockIdx.x; }
MOTE_DEVICE int64_t mote_blocks() { return gridDim.x; }

#endif
