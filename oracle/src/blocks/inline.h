// SPDX-License-Identifier: Apache-2.0
// Reads of computed tensors become computations where they are read: a gradient's product, which
// another of its shape reads once at each place, is no array of its own, and what makes a read go
// out of range becomes a condition on the position, by which elements are left out (thin.h).
#pragma once

#include <optional>

#include "mote/uops/program.h"

namespace mote::blocks {

/// The same results, bit for bit; nothing where nothing is read like that. Inputs, sizes and
/// parameters are those of `program`.
std::optional<Program> inlined(const Program& program);

}  // namespace mote::blocks
