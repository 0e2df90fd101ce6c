// SPDX-License-Identifier: Apache-2.0
// Adds a sensitivity probe to a case: one element that outweighs all others of its tensor.
#pragma once

#include <cstdint>

#include "mote/oracle/case.h"

namespace mote {

/// In one case of four, and in each with an axis of thousands, sets an element of a real input,
/// most often the last, to 64 times the greatest magnitude of its fill. Outputs that depend on it
/// then show whether it was read, even if a maximum, or a sum of thousands of terms in 16 bits,
/// would hide that.
void draw_probe(Case& c, std::uint64_t seed);

}  // namespace mote
