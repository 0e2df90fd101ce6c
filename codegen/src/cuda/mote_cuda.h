// SPDX-License-Identifier: Apache-2.0
// Everything that mote's kernels need beyond the language, in one place: CUDA provides it under
// nvcc and NVRTC; with MOTE_CUDA_HOST defined, mote_cuda_host.h does, which runs the same text on a
// CPU.
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
#define MOTE_LIMIT static constexpr

#if defined(__CUDACC__)
// An integer argument becomes a double, as in C; CUDA could not choose between float and double.
MOTE_DEVICE double ldexp(int x, int exponent) { return ldexp((double)x, exponent); }
#endif

// The strides of a tensor, in elements.
template <int Rank>
struct mote_strides {
  int64_t of[Rank];
  __device__ int64_t operator[](int axis) const { return of[axis]; }
};

// Adjacent elements that one instruction moves: 16 bytes, or fewer if other elements are wider.
template <typename T, int N = 16 / sizeof(T)>
struct __align__(N * sizeof(T)) mote_vector {
  T of[N];
};
MOTE_DEVICE bool mote_is_aligned(const void* p) { return (uint64_t)p % 16 == 0; }

// Tensor cores, from sm_80 on: d += a b for the 32 lanes of a warp, where d is 16 x 8. With
// g = lane / 4, q = lane % 4 and t = 2 q a lane has
//   d[0..3]  d[g, t], d[g, t + 1], d[g + 8, t], d[g + 8, t + 1]
// m16n8k16: a is 16 x 16 and b 16 x 8, of f16 or bf16;
//   a[0..3]  the pairs a[g, t..], a[g + 8, t..], a[g, t + 8..], a[g + 8, t + 8..]
//   b[0..1]  the pairs b[t.., g], b[t + 8.., g]
// m16n8k8: a is 16 x 8 and b 8 x 8, the bits of floats that are tf32 numbers;
//   a[0..3]  a[g, q], a[g + 8, q], a[g, q + 4], a[g + 8, q + 4]
//   b[0..1]  b[q, g], b[q + 4, g]
// Sums are truncated, not rounded: docs/cuda.md states the accuracy that is required of them.
#if !defined(MOTE_CUDA_HOST)
#define MOTE_MMA(shape, dtype)                                                        \
  MOTE_DEVICE void mote_mma_##shape##_##dtype(float(&d)[4], const uint32_t(&a)[4],    \
                                              const uint32_t(&b)[2]) {                \
    asm volatile("mma.sync.aligned." #shape ".row.col.f32." #dtype "." #dtype         \
                 ".f32 "                                                              \
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"    \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                     \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
  }
MOTE_MMA(m16n8k16, f16)
MOTE_MMA(m16n8k16, bf16)
MOTE_MMA(m16n8k8, tf32)
#undef MOTE_MMA
// Returns the bits of x as tf32: the first 19, rounded to nearest, ties away from 0.
MOTE_DEVICE uint32_t mote_rounded_to_tf32(float x) {
  uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
#endif
// Returns x with 11 significant bits. A number that rounding would make infinite is truncated, by
// less than 2^-11 of it. The unused bits are cleared: the manual does not say what the conversion
// leaves in them.
MOTE_DEVICE float mote_to_tf32(float x) {
  uint32_t bits = mote_rounded_to_tf32(x);
  if ((bits & 0x7fffe000u) == 0x7f800000u) bits = (uint32_t)__float_as_int(x);
  return __int_as_float((int)(bits & 0xffffe000u));
}
// Asynchronous copies to shared memory, from sm_80 on, of 16 bytes or 4, between addresses
// divisible by 16 or 4; only the given number of bytes is read, and zeros fill the rest. A thread
// waits for copies by groups, until at most the last N groups that ended are under way. A barrier
// makes the copied data visible to other threads. Fragments of 16-bit elements: lane l gives the
// address of row l % 8 of matrix l / 8, which is 8 x 8, and gets from each matrix the pair of
// elements 2 q and 2 q + 1 of row g; transposed, of column g.
#if !defined(MOTE_CUDA_HOST)
MOTE_DEVICE uint32_t mote_shared_address(const void* at) {
  return (uint32_t)__cvta_generic_to_shared(at);
}
#define MOTE_COPY(size, cache)                                                  \
  MOTE_DEVICE void mote_copy_##size(void* to, const void* from, int bytes) {    \
    asm volatile("cp.async." #cache ".shared.global [%0], [%1], " #size ", %2;" \
                 :                                                              \
                 : "r"(mote_shared_address(to)), "l"(from), "r"(bytes)          \
                 : "memory");                                                   \
  }
MOTE_COPY(16, cg)
MOTE_COPY(4, ca)
#undef MOTE_COPY
MOTE_DEVICE void mote_end_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int N>
MOTE_DEVICE void mote_wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(N) : "memory");
}
#define MOTE_LOAD_FRAGMENTS(name, how)                                                     \
  MOTE_DEVICE void name(uint32_t(&d)[4], const uint16_t* row) {                            \
    asm volatile("ldmatrix.sync.aligned.m8n8.x4" how ".shared.b16 {%0, %1, %2, %3}, [%4];" \
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                          \
                 : "r"(mote_shared_address(row))                                           \
                 : "memory");                                                              \
  }
MOTE_LOAD_FRAGMENTS(mote_load_fragments, "")
MOTE_LOAD_FRAGMENTS(mote_load_fragments_transposed, ".trans")
#undef MOTE_LOAD_FRAGMENTS
#endif
// Conversions between 16-bit numbers and floats: to nearest, ties to even. A GPU has an instruction
// for each; on a CPU the kernel's text has functions of its own.
#if !defined(MOTE_CUDA_HOST)
MOTE_DEVICE float mote_float_from_f16(uint16_t h) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
}
MOTE_DEVICE uint16_t mote_float_to_f16(float x) {
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
MOTE_DEVICE uint16_t mote_float_to_bf16(float x) {
  uint16_t h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
}
#endif
// Returns two 16-bit elements, the first at an even position.
MOTE_DEVICE uint32_t mote_pair(const uint16_t* at) { return *(const uint32_t*)at; }

// Return the number of the thread in the grid, and the count of threads; likewise for blocks.
MOTE_DEVICE int64_t mote_thread() { return (int64_t)blockIdx.x * blockDim.x + threadIdx.x; }
MOTE_DEVICE int64_t mote_threads() { return (int64_t)gridDim.x * blockDim.x; }
MOTE_DEVICE int64_t mote_block() { return blockIdx.x; }
MOTE_DEVICE int64_t mote_blocks() { return gridDim.x; }

#endif
