// Rounds that hold several steps, as loops of their own: each step can then be a stage.
#pragma once

#include <optional>

#include "mote/codegen/loops.h"

namespace mote::cuda {

/// `for rows { t = …; for e { … t … } }` becomes `for rows { t[row] = … } for rows { for e { …
/// t[row] … } }` where rounds have memory of their own and one of their steps is a nest of loops:
/// what the rounds keep becomes memory for all of them. nullopt where p has no such loops.
std::optional<LoopProgram> distributed(const LoopProgram& p);

}  // namespace mote::cuda
