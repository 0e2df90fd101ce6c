// SPDX-License-Identifier: Apache-2.0
// Scatters for more threads than one, each element still by one thread in the given order.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "chunks.h"
#include "mote/codegen/loops.h"

namespace mote::cuda {

/// A nest that scatters becomes one whose outer loops may run at once: those that are an axis of
/// the tensor, and loops over segments of other axes, in which it stores what falls there. `p`'s
/// statements may be those of a stage alone. nullopt where there is no such nest.
std::optional<Chunked> in_segments(const LoopProgram& p);

/// Temporaries, none of `others`, that each round of a loop at top level fills before anything else
/// get an axis for it: then nothing keeps the rounds apart. nullopt where there are none.
std::optional<LoopProgram> with_own_memory(const LoopProgram& p,
                                           const std::set<std::string>& others);

}  // namespace mote::cuda
