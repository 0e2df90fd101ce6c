// SPDX-License-Identifier: Apache-2.0
// Where NVIDIA's libraries are looked for at run time: nothing of mote links them.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// $MOTE_NVRTC alone where it is set, else libnvrtc.so.13 and .12: by the loader's rules, then in
/// $CUDA_HOME/lib64 and /usr/local/cuda/lib64.
std::vector<std::string> nvrtc_candidates();

/// libcublasLt.so.13 and .12, in the same places; $MOTE_CUBLAS alone where it is set.
std::vector<std::string> cublas_candidates();

/// libcudnn.so.9, in the same places; $MOTE_CUDNN alone where it is set.
std::vector<std::string> cudnn_candidates();

/// The driver's library: $MOTE_CUDA_DRIVER where it is set, else libcuda.so.1 by the loader's
/// rules.
std::string cuda_driver();

/// GPUs that the driver offers, at most 100; 0 where there is no driver. A child process asks: a
/// process that called cuInit could not fork others that use a GPU.
int gpu_count();

}  // namespace mote
