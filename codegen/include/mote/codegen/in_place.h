// SPDX-License-Identifier: Apache-2.0
// Decides whether a call may run in place: an output shares its memory, element for element, with
// an input.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

/// An (input, output) pair, by positions among the inputs and among the outputs.
using InPlacePair = std::pair<int, int>;

/// Returns the reason why a call may not let these pairs share memory (each tensor is in at most
/// one pair): some element of an input may be read after the same element of its output was
/// written. Returns nullopt if it may. A property that cannot be proved is a reason too.
std::optional<std::string> why_not_in_place(const LoopProgram& p,
                                            std::span<const InPlacePair> pairs);
/// Returns the pairs that, one at a time, a call of the program may let share memory.
std::vector<InPlacePair> pairs_in_place(const LoopProgram& p);

}  // namespace mote
