// SPDX-License-Identifier: Apache-2.0
// Rounds that hold several steps, as loops of their own: each step can then be a stage.
#pragma once

#include <cstdint>
#include <optional>

#include "mote/codegen/loops.h"

namespace mote::cuda {

enum class Steps : std::uint8_t {
  nests,  ///< where rounds have memory of their own and one of their steps is a nest of loops
  loops,  ///< each loop, with the names before it and what follows from it, where they have none
};

/// `for rows { t = …; for e { … t … } }` becomes `for rows { t[row] = … } for rows { for e { …
/// t[row] … } }`: what the rounds keep becomes memory for all of them. nullopt where p has no such
/// rounds.
std::optional<LoopProgram> distributed(const LoopProgram& p, Steps steps);

}  // namespace mote::cuda
