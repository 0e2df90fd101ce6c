// SPDX-License-Identifier: Apache-2.0
// Lowering with a given choice of what to materialise.
#pragma once

#include <map>

#include "lower/materialise.h"
#include "mote/codegen/loops.h"

namespace mote {

struct Lowered {
  LoopProgram program;
  std::map<std::string, Uop> temporaries;  ///< which node each temporary holds
};
Lowered lower_with(std::shared_ptr<const Program> program, NodeSet materialised);

}  // namespace mote
