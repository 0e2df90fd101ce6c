// What a loop over some axes does not change is computed once: nodes that depend on fewer axes than
// they have become tensors over those axes alone, read by whoever needs them. Weights of a resize
// depend on the pixel, not on image and channel; a row's scale not on the column.
#pragma once

#include <cstdint>

#include "mote/uops/program.h"

namespace mote::blocks {

/// Whether conditions stay at the elements that they are about, as what leaves elements out wants
/// to find them (thin.h).
enum class Masks : std::uint8_t { hoisted, left };

/// The same results, bit for bit. Inputs, sizes and parameters are those of `program`.
Program hoisted(const Program& program, Masks masks);

}  // namespace mote::blocks
