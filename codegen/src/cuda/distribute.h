// SPDX-License-Identifier: Apache-2.0
// Distributes iterations that hold several steps into loops of their own, each of which can be a
// stage.
#pragma once

#include <cstdint>
#include <optional>

#include "mote/codegen/loops.h"

namespace mote::cuda {

enum class Steps : std::uint8_t {
  nests,  ///< iterations have memory of their own, and one of their steps is a nest of loops
  loops,  ///< iterations have none; each loop, with the names before it and the statements that use
          ///< it, is a step
};

/// Turns `for rows { t = …; for e { … t … } }` into `for rows { t[row] = … } for rows { for e { …
/// t[row] … } }`: the values that an iteration keeps become memory for all of them. Returns nullopt
/// if p has no such iterations.
std::optional<LoopProgram> distributed(const LoopProgram& p, Steps steps);

}  // namespace mote::cuda
