// SPDX-License-Identifier: Apache-2.0
// Chooses the kernel that runs a call: the caller's backends are asked first, then the kernel that
// was measured to be the fastest, then the context's backends, then the generated kernels.
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

/// Returns the first kernel that takes the call. Throws StatusError with the reason of a kernel
/// that declined; a kernel that needs more workspace than allowed declines too, MOTE_OUT_OF_MEMORY.
ChosenKernel choose_kernel(const Command& command, const CallTensors& tensors, KernelCall& call,
                           const RunOptions& options);

/// A kernel and its name in tuning files: the backend's, and its position among the backend's
/// kernels for the op if it is not the first ("openblas", "openblas:1"). gen and reference are
/// mote's own.
struct NamedKernel {
  std::string name;
  const mote_kernel* kernel;
};
/// Returns all kernels for the op, of the context's backends and the generated ones.
std::vector<NamedKernel> kernels_of(const Command& command, DType instance, TensorMask input_mask,
                                    std::span<const mote_backend* const> backends);

/// True if the contract promises the properties that the call needs: that every in-place pair may
/// be overwritten, that NaN gives the op's result (unless the caller says that there is none), and
/// that any index is allowed.
bool may_be_asked(const mote_contract& contract, const CallTensors& tensors, bool without_nan);

/// Returns the part of the caller's workspace that begins at a multiple of kAlignment.
std::span<std::byte> aligned(std::span<std::byte> workspace);

[[noreturn]] void fail_call(const Command& command, mote_status status, const char* reason);

}  // namespace mote
