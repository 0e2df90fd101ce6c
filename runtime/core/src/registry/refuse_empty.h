// SPDX-License-Identifier: Apache-2.0
// Calls with tensors without elements: the texts of axes do not say which of them an op can do.
#pragma once

#include <span>

#include "mote/base/tensor_mask.h"
#include "mote/runtime/command.h"
#include "mote/runtime/tensor_form.h"

namespace mote {

/// Throws StatusError MOTE_INVALID if an input has no elements and the op's generated kernels say
/// that the call is not legal: the position of the least of none. `present` are the inputs that are
/// there, `outputs` the forms of all outputs.
void refuse_empty(const Command& command, TensorMask present,
                  std::span<const TensorForm* const> inputs, std::span<const TensorForm> outputs);

}  // namespace mote
