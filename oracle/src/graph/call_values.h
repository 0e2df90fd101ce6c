// SPDX-License-Identifier: Apache-2.0
// One call of an op as uops: the program of its record, over the values of the call's tensors.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "mote/macroops/catalogue.h"
#include "mote/runtime/command.h"
#include "mote/runtime/tensor_form.h"
#include "mote/uops/uop.h"

namespace mote {

/// A tensor of a call; its form is null if it is left out. Values have the form's dtype and shape.
struct InlinedTensor {
  const TensorForm* form = nullptr;
  Uop value = {};
};

/// Returns the values of the outputs, rounded to their dtypes; empty for those that are left out.
/// `form` is that of the op's formula. Throws Error or StatusError if the op has no record, no such
/// instance or form, or the tensors do not fit.
std::vector<Uop> call_values(const Command& command, std::span<const InlinedTensor> inputs,
                             std::span<const TensorForm* const> outputs,
                             std::string_view form = kDirect);

}  // namespace mote
