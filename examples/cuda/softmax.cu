// SPDX-License-Identifier: Apache-2.0
// Softmax along the middle axis, by hand for a GPU: a block takes a row, threads stride over it,
// shuffles combine the values of a warp, and shared memory those of the warps. The launcher has
// the signature that `mote emit softmax` prints, and a stream; `mote check` reads the next line.
// mote: softmax my_softmax f32
#include "mote_launch.h"

static const int kThreads = 128;
static const int kWarps = kThreads / 32;

// Returns the sum or the maximum of the block's values, in every thread.
static __device__ float of_block(float value, bool is_sum) {
  __shared__ float parts[kWarps];
  for (int lanes = 16; lanes > 0; lanes /= 2) {
    const float other = __shfl_xor_sync(0xffffffffu, value, lanes);
    value = is_sum ? value + other : fmaxf(value, other);
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();  // before parts are read
  value = parts[0];
  for (int k = 1; k < kWarps; k++) value = is_sum ? value + parts[k] : fmaxf(value, parts[k]);
  __syncthreads();  // before the next call writes them
  return value;
}

static __global__ void softmax_row(const float* x, int64_t xr, int64_t xn, int64_t xc, float* y,
                                   int64_t yr, int64_t yn, int64_t yc, int64_t N, int64_t C) {
  x += blockIdx.x / C * xr + blockIdx.x % C * xc;
  y += blockIdx.x / C * yr + blockIdx.x % C * yc;
  float greatest = -INFINITY;
  for (int64_t n = threadIdx.x; n < N; n += kThreads) greatest = fmaxf(greatest, x[n * xn]);
  greatest = of_block(greatest, false);
  float sum = 0;
  for (int64_t n = threadIdx.x; n < N; n += kThreads) sum += expf(x[n * xn] - greatest);
  sum = of_block(sum, true);
  for (int64_t n = threadIdx.x; n < N; n += kThreads) y[n * yn] = expf(x[n * xn] - greatest) / sum;
}

extern "C" int my_softmax(const float* x, const int64_t sx[3], float* y, const int64_t sy[3],
                          int64_t R, int64_t N, int64_t C, cudaStream_t stream) {
  const int64_t rows = R * C;
  if (rows == 0) return 0;
  return mote_launch(softmax_row, static_cast<unsigned>(rows), kThreads, 0, stream, x, sx[0], sx[1],
                     sx[2], y, sy[0], sy[1], sy[2], N, C);
}
