// SPDX-License-Identifier: Apache-2.0
// Which kernel runs a call: the caller's backends are asked first, then the one that was measured
// to be the fastest, then the context's backends, then the generated kernels.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "command/kernel_call.h"

namespace mote {

struct ChosenKernel {
  const mote_kernel* kernel = nullptr;
  std::size_t workspace_bytes = 0;
};

/// The first that takes the call. Throws StatusError with the reason of who declined; a kernel that
/// wants more workspace than there may be declines too, MOTE_OUT_OF_MEMORY.
ChosenKernel choose_kernel(const Command& command, const CallTensors& tensors, KernelCall& call,
                           const RunOptions& options);

/// A kernel and its name in tuning files: the backend's, and its place among the backend's kernels
/// for the op where it is not the first ("openblas", "openblas:1"). gen and oracle are ours.
struct NamedKernel {
  std::string name;
  const mote_kernel* kernel;
};
/// All kernels for the op, of the context's backends and ours.
std::vector<NamedKernel> kernels_of(const Command& command, DType instance, TensorMask input_mask,
                                    std::span<const mote_backend* const> backends);

/// Its contract promises what the call needs: that every in-place pair may be overwritten, and that
/// NaN is what the op says, unless the caller says that there is none; and that any index may come.
bool may_be_asked(const mote_contract& contract, const CallTensors& tensors, bool without_nan);

/// The part of the caller's workspace that begins at a multiple of kAlignment.
std::span<std::byte> aligned(std::span<std::byte> workspace);

[[noreturn]] void fail_call(const Command& command, mote_status status, const char* reason);

}  // namespace mote
