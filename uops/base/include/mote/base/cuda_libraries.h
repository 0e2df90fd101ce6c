// SPDX-License-Identifier: Apache-2.0
// Lists where NVIDIA's libraries are searched for at run time: mote links none of them.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"

namespace MOTE_API mote {

/// Returns $MOTE_NVRTC alone if it is set, else libnvrtc.so.13 and .12: by the loader's rules, then
/// in $CUDA_HOME/lib64 and /usr/local/cuda/lib64.
std::vector<std::string> nvrtc_candidates();

/// Returns libcublasLt.so.13 and .12 in the same locations, or $MOTE_CUBLAS alone if it is set.
std::vector<std::string> cublas_candidates();

/// Returns libcudnn.so.9 in the same locations, or $MOTE_CUDNN alone if it is set.
std::vector<std::string> cudnn_candidates();

/// Returns the driver's library: $MOTE_CUDA_DRIVER if it is set, else libcuda.so.1 by the loader.
std::string cuda_driver();

/// Returns the number of GPUs that the driver offers, at most 100; 0 if there is no driver. A child
/// process asks: a process that called cuInit could not fork others that use a GPU.
int gpu_count();

}  // namespace mote
