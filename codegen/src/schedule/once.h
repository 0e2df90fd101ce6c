// SPDX-License-Identifier: Apache-2.0
// One step of a schedule, the first: compiles the program again so that what it computes twice,
// along axes in different orders, is computed once and kept. In the gradient of attention, the
// weights of keys are found for each query, and again for each key.
#pragma once

#include <string>

#include "schedule/take.h"

namespace mote {

/// `effect` gets the arrays that the program has then.
Refusal compute_once(LoopProgram& p, std::string& effect);

}  // namespace mote
