// SPDX-License-Identifier: Apache-2.0
// CUDA on a CPU, as far as mote's kernels need it: this header turns the text of a kernel into
// plain C++ (C++17) that one fibre runs for each thread of a block. A program that holds kernels
// defines `mote_host` (MOTE_HOST_DEFINE) and sets it to the result of mote::shim::calls(). Only
// barriers and shuffles leave the fibre, so between two of them a thread runs alone.
// NOLINTBEGIN: the names are CUDA's
#ifndef MOTE_CUDA_HOST_H
#define MOTE_CUDA_HOST_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <utility>

#if defined(MOTE_HOST_MARKS_KERNELS)
#define __global__ mote_host_marked_kernel
#else
#define __global__
#endif
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// One block runs at a time, so its shared memory can be static; the section lets it be poisoned
// before each block.
#define __shared__ static __attribute__((section("mote_shared")))
#define MOTE_DYNAMIC_SHARED(type, name) type* name = static_cast<type*>(mote_host->dynamic_shared())

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

extern "C" {
struct mote_host_position {
  uint3 thread, block;
  dim3 block_dim, grid_dim;
};
// The shim's functions for a kernel. `line` is that of the call in the kernel's source.
struct mote_host_calls {
  const mote_host_position* (*position)();
  void (*barrier)(int line);
  // Waits at the barrier and returns whether any thread's predicate holds.
  int (*barrier_or)(int predicate, int line);
  void (*sync_warp)(unsigned mask, int line);
  // Returns the value that the lane `source` of the caller's warp gave.
  uint64_t (*shuffle)(unsigned mask, uint64_t value, int source, int line);
  unsigned (*ballot)(unsigned mask, int predicate, int line);
  // copy copies `size` bytes, of which `bytes` are read, in the thread's open group; end_copies
  // ends that group; wait_for_copies waits until at most `groups` of the groups that ended last are
  // under way.
  void (*copy)(void* to, const void* from, int size, int bytes, int line);
  void (*end_copies)();
  void (*wait_for_copies)(int groups);
  void* (*dynamic_shared)();
  // Ends the launch with an error of its thread. Returns if no thread runs.
  void (*fail)(const char* what);
};
// A kernel of a library: its arguments are passed as pointers to values.
struct mote_host_kernel {
  const char* name;
  void (*call)(void** arguments);
};
extern const mote_host_calls* mote_host;
extern char __start_mote_shared[] __attribute__((weak));
extern char __stop_mote_shared[] __attribute__((weak));
}
#define MOTE_HOST_DEFINE const mote_host_calls* mote_host = nullptr;

#define threadIdx (mote_host->position()->thread)
#define blockIdx (mote_host->position()->block)
#define blockDim (mote_host->position()->block_dim)
#define gridDim (mote_host->position()->grid_dim)
#define warpSize 32
#define __syncthreads() mote_host->barrier(__LINE__)
#define __syncthreads_or(predicate) mote_host->barrier_or((predicate) ? 1 : 0, __LINE__)
#define __syncwarp(...) mote_host->sync_warp(mote_host_mask(__VA_ARGS__), __LINE__)
#define __shfl_sync(...) mote_host_shuffle(__LINE__, __VA_ARGS__)
#define __shfl_xor_sync(...) mote_host_shuffle_xor(__LINE__, __VA_ARGS__)
#define __shfl_down_sync(...) mote_host_shuffle_down(__LINE__, __VA_ARGS__)
#define __shfl_up_sync(...) mote_host_shuffle_up(__LINE__, __VA_ARGS__)
#define __ballot_sync(mask, predicate) mote_host->ballot(mask, (predicate) ? 1 : 0, __LINE__)
#define __any_sync(mask, predicate) (__ballot_sync(mask, predicate) != 0)
#define __all_sync(mask, predicate) (__ballot_sync(mask, predicate) == (mask))

#define mote_copy_16(to, from, bytes) mote_host->copy(to, from, 16, bytes, __LINE__)
#define mote_copy_4(to, from, bytes) mote_host->copy(to, from, 4, bytes, __LINE__)
inline void mote_end_copies() { mote_host->end_copies(); }
template <int Groups>
void mote_wait_for_copies() {
  mote_host->wait_for_copies(Groups);
}

inline unsigned mote_host_mask(unsigned mask = 0xffffffffu) { return mask; }

inline int mote_host_lane() {
  const mote_host_position& p = *mote_host->position();
  const unsigned row = p.thread.y + p.thread.z * p.block_dim.y;
  return static_cast<int>((p.thread.x + row * p.block_dim.x) % 32);
}

template <class Value>
Value mote_host_from(int line, unsigned mask, Value value, int source) {
  static_assert(sizeof(Value) <= sizeof(uint64_t), "a shuffle moves at most 64 bits");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  bits = mote_host->shuffle(mask, bits, source, line);
  memcpy(&value, &bits, sizeof value);
  return value;
}

// The shuffles treat lanes of a warp in groups of `width`: a source outside the caller's group is
// the caller itself.
template <class Value>
Value mote_host_shuffle(int line, unsigned mask, Value value, int source, int width = 32) {
  const int lane = mote_host_lane();
  return mote_host_from(line, mask, value, lane / width * width + (source & (width - 1)));
}
template <class Value>
Value mote_host_shuffle_xor(int line, unsigned mask, Value value, int lanes, int width = 32) {
  const int lane = mote_host_lane();
  const int source = lane ^ lanes;
  return mote_host_from(line, mask, value, source / width > lane / width ? lane : source);
}
template <class Value>
Value mote_host_shuffle_down(int line, unsigned mask, Value value, unsigned by, int width = 32) {
  const int lane = mote_host_lane();
  const bool inside = lane % width + static_cast<int>(by) < width;
  return mote_host_from(line, mask, value, inside ? lane + static_cast<int>(by) : lane);
}
template <class Value>
Value mote_host_shuffle_up(int line, unsigned mask, Value value, unsigned by, int width = 32) {
  const int lane = mote_host_lane();
  const bool inside = lane % width >= static_cast<int>(by);
  return mote_host_from(line, mask, value, inside ? lane - static_cast<int>(by) : lane);
}

// Returns the 16-bit number with that number of fraction bits.
inline double mote_host_real(unsigned bits, int fraction) {
  const unsigned greatest = (1u << (15 - fraction)) - 1;
  const unsigned exponent = bits >> fraction & greatest;
  const unsigned digits = bits & ((1u << fraction) - 1);
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if (exponent == greatest) return digits != 0 ? NAN : sign * INFINITY;
  const int scale = static_cast<int>(exponent != 0 ? exponent : 1) - static_cast<int>(greatest / 2);
  return sign * ldexp(digits + (exponent != 0 ? 1u << fraction : 0u), scale - fraction);
}

// Returns x without its digits below those of a float of the size of `like`.
inline double mote_host_cut(double x, double like) {
  int exponent = 0;
  frexp(like, &exponent);
  const double unit = ldexp(1.0, exponent - 24);
  return trunc(x / unit) * unit;
}

// Returns start + the products as the coarsest of the measured tensor cores does it: in one step
// for four products, digits are cut off below the last of the greatest addend, then those beyond
// the 24 of a float; nothing is rounded. (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of
// NVIDIA tensor cores, PeerJ Computer Science 7:e330, 2021.)
inline float mote_host_truncated_sum(float start, const double* products, int count) {
  double sum = start;
  for (int step = 0; step < count; step += 4) {
    double greatest = fabs(sum), whole = sum;
    for (int k = step; k < step + 4; ++k) {
      greatest = fmax(greatest, fabs(products[k]));
      whole += products[k];
    }
    if (isnan(whole) || isinf(whole) || greatest == 0) {
      sum = whole;
      continue;
    }
    sum = mote_host_cut(sum, greatest);
    for (int k = step; k < step + 4; ++k) sum += mote_host_cut(products[k], greatest);
    if (sum != 0) sum = mote_host_cut(sum, fmax(fabs(sum), ldexp(1.0, -126)));
    if (fabs(sum) >= ldexp(1.0, 128)) sum *= INFINITY;
  }
  return static_cast<float>(sum);
}

// Computes d += a b of a warp, whose lanes hold the elements that mote_cuda.h says, for 16-bit
// numbers with that fraction.
inline void mote_host_mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                          int fraction) {
  constexpr unsigned kAll = 0xffffffffu;
  const int row = mote_host_lane() / 4, column = mote_host_lane() % 4 * 2;
  double left[2][16], right[2][16];  // two rows of a, two columns of b
  for (int k = 0; k < 16; k += 2) {
    const int half = k / 8, lane = k % 8 / 2;
    const uint64_t rows =
        __shfl_sync(kAll, a[2 * half] | uint64_t{a[2 * half + 1]} << 32, row * 4 + lane);
    const uint64_t pairs[2] = {rows & kAll, rows >> 32};
    for (int i = 0; i < 2; ++i) {
      const uint64_t columns =
          __shfl_sync(kAll, b[0] | uint64_t{b[1]} << 32, (column + i) * 4 + lane);
      const uint64_t pair = half == 0 ? columns & kAll : columns >> 32;
      for (int j = 0; j < 2; ++j) {
        left[i][k + j] = mote_host_real(pairs[i] >> (16 * j) & 0xffff, fraction);
        right[i][k + j] = mote_host_real(pair >> (16 * j) & 0xffff, fraction);
      }
    }
  }
  for (int e = 0; e < 4; ++e) {
    double products[16];
    for (int k = 0; k < 16; ++k) products[k] = left[e / 2][k] * right[e % 2][k];
    d[e] = mote_host_truncated_sum(d[e], products, 16);
  }
}
inline void mote_mma_m16n8k16_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  mote_host_mma(d, a, b, 10);
}
inline void mote_mma_m16n8k16_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  mote_host_mma(d, a, b, 7);
}

// Loads four matrices of 8 x 8, whose rows the lanes name; each lane gets two elements of a row of
// each matrix, or of a column.
inline void mote_host_load_fragments(uint32_t (&d)[4], const uint16_t* row, int line,
                                     bool transposed) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0) {
    char what[96];
    snprintf(what, sizeof what, "loads a row at an address that 16 doesn't divide in line %d",
             line);
    mote_host->fail(what);
  }
  for (int matrix = 0; matrix < 4; ++matrix) {
    const int g = mote_host_lane() / 4, t = mote_host_lane() % 4 * 2;
    uint16_t pair[2];
    for (int k = 0; k < 2; ++k) {
      const int of = transposed ? t + k : g, at = transposed ? g : t + k;
      pair[k] = mote_host_from(line, 0xffffffffu, row, 8 * matrix + of)[at];
    }
    d[matrix] = pair[0] | static_cast<uint32_t>(pair[1]) << 16;
  }
}
#define mote_load_fragments(d, row) mote_host_load_fragments(d, row, __LINE__, false)
#define mote_load_fragments_transposed(d, row) mote_host_load_fragments(d, row, __LINE__, true)

// Returns the value of a float's bits, of which tensor cores take the first 19.
inline double mote_host_tf32(uint32_t bits) {
  bits &= 0xffffe000u;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
inline void mote_mma_m16n8k8_tf32(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  constexpr unsigned kAll = 0xffffffffu;
  const int row = mote_host_lane() / 4, column = mote_host_lane() % 4 * 2;
  double left[2][8], right[2][8];  // two rows of a, two columns of b
  for (int q = 0; q < 4; ++q) {
    for (int i = 0; i < 2; ++i) {
      const uint64_t of_row = __shfl_sync(kAll, a[i] | uint64_t{a[i + 2]} << 32, row * 4 + q);
      const uint64_t of_column =
          __shfl_sync(kAll, b[0] | uint64_t{b[1]} << 32, (column + i) * 4 + q);
      for (int half = 0; half < 2; ++half) {
        const int k = q + 4 * half;
        left[i][k] = mote_host_tf32(static_cast<uint32_t>(of_row >> (32 * half)));
        right[i][k] = mote_host_tf32(static_cast<uint32_t>(of_column >> (32 * half)));
      }
    }
  }
  for (int e = 0; e < 4; ++e) {
    double products[8];
    for (int k = 0; k < 8; ++k) products[k] = left[e / 2][k] * right[e % 2][k];
    d[e] = mote_host_truncated_sum(d[e], products, 8);
  }
}
inline uint32_t mote_rounded_to_tf32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return isnan(x) ? 0x7fffffffu : bits + 0x1000u;
}

// Fibres switch only at explicit points, so the code between them is atomic. The loads and stores
// tell the thread sanitizer so.
template <class Value>
Value atomicAdd(Value* at, Value by) {
  Value& location = *at;  // its address is checked if checks are on
  Value old;
  __atomic_load(&location, &old, __ATOMIC_RELAXED);
  Value sum = old + by;
  __atomic_store(&location, &sum, __ATOMIC_RELAXED);
  return old;
}

inline int __float_as_int(float x) {
  int bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline float __int_as_float(int bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

template <class... Arguments, std::size_t... Positions>
void mote_host_unpack(void (*kernel)(Arguments...), void** arguments,
                      std::index_sequence<Positions...>) {
  kernel(*static_cast<std::remove_reference_t<Arguments>*>(arguments[Positions])...);
}
template <class... Arguments>
void mote_host_call(void (*kernel)(Arguments...), void** arguments) {
  mote_host_unpack(kernel, arguments, std::index_sequence_for<Arguments...>());
}
// An entry of a library's table of kernels.
#define MOTE_HOST_KERNEL(f)                                    \
  {                                                            \
#f, [](void** arguments) { mote_host_call(f, arguments); } \
  }

#endif
// NOLINTEND
