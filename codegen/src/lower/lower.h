// SPDX-License-Identifier: Apache-2.0
// Lowers a program with a given choice of the nodes to materialise.
#pragma once

#include <map>

#include "lower/materialise.h"
#include "mote/codegen/loops.h"

namespace mote {

struct Lowered {
  LoopProgram program;
  std::map<std::string, Uop> temporaries;  ///< the node that each temporary holds
};
Lowered lower_with(std::shared_ptr<const Program> program, NodeSet materialised);

}  // namespace mote
