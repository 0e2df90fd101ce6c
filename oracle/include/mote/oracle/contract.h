// SPDX-License-Identifier: Apache-2.0
// What a kernel's contract promises about its numbers, as the bound takes it.
#pragma once

#include <string>
#include <string_view>

#include "mote/base/export.h"
#include "mote/base/kernel.h"
#include "mote/uops/bound.h"

namespace MOTE_API mote {

/// For tensors of that dtype. A null contract promises what is usual.
Contract contract_of(const mote_contract* given, DType dtype);
/// "direct" where there is no contract or it names none.
std::string_view form_of(const mote_contract* contract);
/// A line for each thing that the bound of the program depends on: "accumulator f32", "exp 2 ulp",
/// "form direct".
std::string contract_text(const mote_contract* given, DType dtype, const Program& program);

}  // namespace mote
