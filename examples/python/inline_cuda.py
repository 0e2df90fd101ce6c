# SPDX-License-Identifier: Apache-2.0
"""A CUDA function inside of a Python file (torch.utils.cpp_extension), checked: on a GPU, or on the CPU,
where the same text is compiled as C++ and its threads run one after the other.

    python inline_cuda.py          # on a GPU if there is one and nvcc is installed
    python inline_cuda.py --cpu

Needs PyTorch, ninja and a C++ compiler.
"""

import functools
import shutil
import sys

import torch
from torch.utils.cpp_extension import load_inline

DEVICE = "cuda" if torch.cuda.is_available() and shutil.which("nvcc") else "cpu"

KERNEL = r"""
#ifdef __CUDACC__
#include <c10/cuda/CUDAStream.h>
#else
#include <cmath>
#define __global__ static
static thread_local struct { int x; } blockIdx, threadIdx, blockDim;
#endif

// One pass over each row, a thread for each: the sum of exp(x - m), where m is the maximum so far. When m
// grows, what was summed is scaled, unless `rescales` is false, which is a mistake.
__global__ void softmax_rows_kernel(const float* x, float* y, int rows, int columns, bool rescales) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += (long)row * columns;
  y += (long)row * columns;
  float m = -INFINITY, sum = 0;
  for (int k = 0; k < columns; ++k) {
    if (x[k] > m) {
      if (rescales && sum > 0) sum *= expf(m - x[k]);
      m = x[k];
    }
    if (x[k] != -INFINITY) sum += expf(x[k] - m);
  }
  for (int k = 0; k < columns; ++k) y[k] = expf(x[k] - m) / sum;
}

torch::Tensor softmax_rows(torch::Tensor given, bool rescales) {
  const torch::Tensor x = given.contiguous();
  torch::Tensor y = torch::empty_like(x);
  const int rows = x.size(0), columns = x.size(1), threads = 128;
  const int blocks = (rows + threads - 1) / threads;
  const float* from = x.data_ptr<float>();
  float* to = y.data_ptr<float>();
#ifdef __CUDACC__
  if (blocks > 0)
    softmax_rows_kernel<<<blocks, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(from, to, rows,
                                                                               columns, rescales);
#else
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x)
      softmax_rows_kernel(from, to, rows, columns, rescales);
#endif
  return y;
}
"""
DECLARATION = "torch::Tensor softmax_rows(torch::Tensor given, bool rescales);"


@functools.lru_cache(maxsize=None)
def module(device):
    name = f"mote_inline_{device}"
    if device == "cpu":
        return load_inline(name, ["#include <torch/extension.h>\n" + KERNEL],
                           functions=["softmax_rows"])
    return load_inline(name, [DECLARATION], ["#include <torch/types.h>\n" + KERNEL],
                       functions=["softmax_rows"])


def softmax(x):
    return module(x.device.type).softmax_rows(x, True)


def softmax_without_scaling(x):
    """Keeps what was summed before a larger maximum came as it is."""
    return module(x.device.type).softmax_rows(x, False)


if __name__ == "__main__":
    import mote_kernels as mote

    device = "cpu" if "--cpu" in sys.argv else DEVICE
    for function in (softmax, softmax_without_scaling):
        print(mote.check(function, "softmax", axis=-1, arrays="torch", dtypes=["f32"], count=200, seed=1,
                         device=None if device == "cpu" else device, isolate=False))
