// SPDX-License-Identifier: Apache-2.0
// Calls in place: an output that shares its memory, element for element, with an input.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

/// (input, output), by their positions among the inputs and among the outputs.
using InPlacePair = std::pair<int, int>;

/// Why a call may not let one or more of these pairs share memory (each tensor in one pair at
/// most): some element of an input may be read after the same element of its output has been
/// written. nullopt: it may. What can't be proved is a reason, too.
std::optional<std::string> why_not_in_place(const LoopProgram& p,
                                            std::span<const InPlacePair> pairs);

}  // namespace mote
