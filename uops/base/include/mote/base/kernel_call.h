// SPDX-License-Identifier: Apache-2.0
// Calls into a kernel that may be anyone's. What it throws becomes a status and a message, as does
// a status that kernel.h does not know; a message always ends. Nothing is promised that lies beyond
// the size of a contract.
#pragma once

#include <cstddef>
#include <span>

#include "mote/base/export.h"
#include "mote/base/kernel.h"

namespace MOTE_API mote {

/// can_run: MOTE_OK, or why not in call.message.
mote_status ask_kernel(const mote_kernel& kernel, const mote_call& call);
/// The bytes that it wants. MOTE_FAILED where there cannot be as many.
mote_status workspace_of(const mote_kernel& kernel, const mote_call& call, std::size_t& bytes);
mote_status run_kernel(const mote_kernel& kernel, const mote_call& call, void* stream);

/// The contract promises that the output may be stored where the input is.
bool promises_in_place(const mote_contract& contract, int input, int output);
/// Its kernel is for inputs without NaN and infinities.
bool ignores_nan(const mote_contract& contract);
/// The flags of mote_indices.
int indices_of(const mote_contract& contract);
/// The functions that it declares.
std::span<const mote_accuracy> accuracies_of(const mote_contract& contract);

}  // namespace mote
