// SPDX-License-Identifier: Apache-2.0
// Calls a kernel of any plug-in. An exception that it throws becomes a status and a message, as
// does a status that kernel.h does not know; a message is always terminated. Members beyond the
// size of a contract promise nothing.
#pragma once

#include <cstddef>
#include <span>

#include "mote/base/export.h"
#include "mote/base/kernel.h"

namespace MOTE_API mote {

/// Calls can_run: returns MOTE_OK, or the status with the reason in call.message.
mote_status ask_kernel(const mote_kernel& kernel, const mote_call& call);
/// Gets the bytes of workspace that the kernel wants; MOTE_FAILED if that is beyond PTRDIFF_MAX.
mote_status workspace_of(const mote_kernel& kernel, const mote_call& call, std::size_t& bytes);
mote_status run_kernel(const mote_kernel& kernel, const mote_call& call, void* stream);

using KernelRun = mote_status (*)(const mote_call* call, void* stream);
/// Returns the function that runs a call which can_run has accepted: run_checked, or run of a
/// kernel that has none.
KernelRun checked_run_of(const mote_kernel& kernel);
/// Calls that function as run_kernel() calls run.
mote_status run_kernel(KernelRun run, const mote_call& call, void* stream);

/// Runs the call by run_checked, after can_run has accepted it; by run if the kernel has no
/// run_checked or declines.
mote_status run_accepted(const mote_kernel& kernel, const mote_call& call);

/// Returns true if the contract promises that the output may be stored where the input is.
bool promises_in_place(const mote_contract& contract, int input, int output);
/// Returns true if the kernel is for inputs without NaN and infinities.
bool ignores_nan(const mote_contract& contract);
/// Returns the flags of mote_indices.
int indices_of(const mote_contract& contract);
/// Returns the functions that the contract declares.
std::span<const mote_accuracy> accuracies_of(const mote_contract& contract);

}  // namespace mote
