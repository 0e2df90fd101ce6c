// SPDX-License-Identifier: Apache-2.0
// Names the statements of a program by their positions, which stay valid while it is changed.
#pragma once

#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

using Path = std::vector<std::size_t>;  ///< positions in nested bodies, outermost first

Stmt& at(LoopProgram& p, const Path& path);
/// Returns every loop of the program, outer first.
std::vector<Path> loops_of(const LoopProgram& p);

}  // namespace mote
