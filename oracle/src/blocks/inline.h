// SPDX-License-Identifier: Apache-2.0
// Replaces reads of computed tensors by computations at the reader: a gradient's product that
// another node reads once at each location needs no array of its own. The range of the read becomes
// a condition on the position, by which elements are left out (masked.h).
#pragma once

#include <optional>

#include "mote/uops/program.h"

namespace mote::blocks {

/// The program after inlining, with the same results, bit for bit; nullopt if there is nothing to
/// inline. Inputs, sizes and parameters are those of `program`.
std::optional<Program> inlined(const Program& program);

}  // namespace mote::blocks
