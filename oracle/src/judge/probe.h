// SPDX-License-Identifier: Apache-2.0
// The sensitivity probe: one element that outweighs all others of its tensor.
#pragma once

#include <cstdint>

#include "mote/oracle/case.h"

namespace mote {

/// In one case of four, and in each with an axis of thousands, an element of a real input, most
/// often the last, becomes 64 times as great as its fill makes the others, so that outputs which
/// depend on it show whether it was read: also where a maximum, or a sum of thousands of terms in
/// 16 bits, would hide that it was not.
void draw_probe(Case& c, std::uint64_t seed);

}  // namespace mote
