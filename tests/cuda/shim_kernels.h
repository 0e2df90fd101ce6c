// SPDX-License-Identifier: Apache-2.0
// Handwritten kernels for the tests of the shim, in plain CUDA: each is right if `correct`;
// otherwise it has the defect that its comment describes after "Defect:".
#pragma once

#include "mote_cuda_host.h"

/// Computes y = x reversed within the block. Defect: there is no barrier between the stores and the
/// loads.
static __global__ void reverse_block(const float* x, float* y, bool correct) {
  __shared__ float tile[64];
  const unsigned t = threadIdx.x;
  tile[t] = x[blockIdx.x * 64 + t];
  if (correct) __syncthreads();
  y[blockIdx.x * 64 + t] = tile[63 - t];
}

/// Computes y = the sum over blocks of 64 elements, read from the neighbour. Defect: there is no
/// barrier before the tile is overwritten.
static __global__ void sum_of_neighbours(const float* x, float* y, int chunks, bool correct) {
  __shared__ float tile[64];
  const unsigned t = threadIdx.x;
  float sum = 0;
  for (int c = 0; c < chunks; ++c) {
    tile[t] = x[static_cast<unsigned>(c) * 64 + t];
    __syncthreads();
    sum += tile[(t + 1) % 64] * static_cast<float>(c + 1);
    if (correct) __syncthreads();
  }
  y[t] = sum;
}

/// Computes y[row] = Σ x[row, k]: shuffles within warps, shared memory between them. Defect: there
/// is no barrier before the first warp reads the values that the others stored.
static __global__ void row_sum(const float* x, float* y, int n, bool correct) {
  __shared__ float parts[4];
  const unsigned t = threadIdx.x;
  float sum = 0;
  for (int k = static_cast<int>(t); k < n; k += 128) sum += x[static_cast<int>(blockIdx.x) * n + k];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, lanes);
  if (t % 32 == 0) parts[t / 32] = sum;
  if (correct) __syncthreads();
  if (t == 0) y[blockIdx.x] = parts[0] + parts[1] + parts[2] + parts[3];
}

/// Lane 0 of a warp gives the others a number. Defect: there is no __syncwarp between.
static __global__ void from_lane_0(const float* x, float* y, bool correct) {
  __shared__ float given[2];
  const unsigned t = threadIdx.x;
  if (t % 32 == 0) given[t / 32] = x[t];
  if (correct) __syncwarp();
  y[t] = given[t / 32];
}

/// Computes y = the greatest thread's number. Defect: every thread writes its own number.
static __global__ void last_writer(float* y, bool correct) {
  __shared__ float last;
  const unsigned t = threadIdx.x;
  if (!correct || t == 63) last = static_cast<float>(t);
  __syncthreads();
  y[t] = last;
}

/// Counts in shared memory. Defect: the counter is not initialised.
static __global__ void count(float* y, bool correct) {
  __shared__ float counter;
  if (correct) {
    if (threadIdx.x == 0) counter = 0;
    __syncthreads();
  }
  atomicAdd(&counter, 1.0F);
  __syncthreads();
  y[threadIdx.x] = counter == 64.0F ? 1.0F : 0.0F;
}

/// Each block writes its own element. Defect: all blocks write the first element.
static __global__ void block_number(float* y, bool correct) {
  if (threadIdx.x == 0) y[correct ? blockIdx.x : 0] = static_cast<float>(blockIdx.x);
}

/// All threads reach one barrier. Defect: even and odd threads reach different ones.
static __global__ void divergent_barrier(float* y, bool correct) {
  y[threadIdx.x] = 1;
  if (correct || threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

/// All threads reach one barrier. Defect: half of the threads wait at it, the others for lanes of
/// their warp.
static __global__ void some_at_barrier(float* y, bool correct) {
  y[threadIdx.x] = 1;
  if (correct || threadIdx.x % 32 < 16) __syncthreads();
  __syncwarp();
}

/// Shuffles 16 lanes with their mask. Defect: the mask has all lanes.
static __global__ void half_a_warp(float* y, bool correct) {
  const unsigned t = threadIdx.x;
  y[t] = 0;
  if (t % 32 < 16)
    y[t] = __shfl_xor_sync(correct ? 0x0000ffffU : 0xffffffffU, static_cast<float>(t), 1);
}

/// Shuffles within the mask. Defect: it reads a lane outside of the mask.
static __global__ void from_outside(float* y, bool correct) {
  const unsigned t = threadIdx.x;
  y[t] = 0;
  if (t % 32 < 16) y[t] = __shfl_sync(0x0000ffffU, static_cast<float>(t), correct ? 3 : 20);
}

/// Computes y = x reversed by asynchronous copies. Defect: a thread waits for its copies after the
/// barrier.
static __global__ void reverse_copied(const float* x, float* y, bool correct) {
  __shared__ __align__(16) float tile[64];
  const unsigned t = threadIdx.x;
  if (t < 16) mote_copy_16(tile + 4 * t, x + 4 * t, 16);
  mote_end_copies();
  if (correct) mote_wait_for_copies<0>();
  __syncthreads();
  if (!correct) mote_wait_for_copies<0>();
  y[t] = tile[63 - t];
}

/// Computes y = x reversed, with 0 for the last element of each four, which is not read. Defect: no
/// thread waits.
static __global__ void copied_and_left(const float* x, float* y, bool correct) {
  __shared__ __align__(16) float tile[64];
  const unsigned t = threadIdx.x;
  if (t < 16) mote_copy_16(tile + 4 * t, x + 4 * t, 12);
  mote_end_copies();
  if (correct) mote_wait_for_copies<0>();
  __syncthreads();
  y[t] = tile[63 - t];
}

/// Computes y = the sum over blocks of 64 elements, read from the neighbour; each is copied while
/// the last one is added. Defect: it overwrites a block that others may still read.
static __global__ void sum_of_copies(const float* x, float* y, int chunks, bool correct) {
  __shared__ __align__(16) float tile[2][64];
  const unsigned t = threadIdx.x;
  const auto bring = [&](int c) {
    if (c < chunks && t < 16)
      mote_copy_16(&tile[c % 2][4 * t], x + 64 * static_cast<unsigned>(c) + 4 * t, 16);
    mote_end_copies();
  };
  bring(0);
  float sum = 0;
  for (int c = 0; c < chunks; ++c) {
    if (!correct) bring(c + 1);
    if (correct)
      mote_wait_for_copies<0>();
    else
      mote_wait_for_copies<1>();
    __syncthreads();
    if (correct) bring(c + 1);
    sum += tile[c % 2][(t + 1) % 64] * static_cast<float>(c + 1);
  }
  mote_wait_for_copies<0>();
  y[t] = sum;
}

/// Copies aligned groups of 16 bytes. Defect: the copies start at the second element.
static __global__ void copied_from_within(const float* x, float* y, bool correct) {
  __shared__ __align__(16) float tile[64];
  const unsigned t = threadIdx.x;
  if (t < 16) mote_copy_16(tile + 4 * t, x + 4 * t + (correct ? 0 : 1), 16);
  mote_end_copies();
  mote_wait_for_copies<0>();
  __syncthreads();
  y[t] = tile[t];
}
