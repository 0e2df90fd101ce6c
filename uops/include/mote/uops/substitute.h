// SPDX-License-Identifier: Apache-2.0
// Puts a program into another one: its outputs as uops over given values of its inputs.
#pragma once

#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/uops/program.h"

namespace MOTE_API mote {

/// Returns the outputs of the program where input k is inputs[k], and sizes and parameters have the
/// binding's values, so that all shapes are constant. A value has its input's dtype and the full
/// extents of the binding; it may be empty if the program does not read that input. Outputs are not
/// rounded to their dtype: a cast does that. Throws Error "NAME: input x: got …, expected …".
std::vector<Uop> substitute(const Program& program, const Binding& binding,
                            std::span<const Uop> inputs);

}  // namespace mote
