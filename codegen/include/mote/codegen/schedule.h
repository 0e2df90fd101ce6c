// SPDX-License-Identifier: Apache-2.0
// Turns the loops of compile() into versions of them whose loops say how they run, as the last
// stage before fast C. A version is right only if some strides are 1 (or 0); the last is right for
// any.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

struct Version {
  std::string name;  ///< a word that distinguishes it from the others; the last has none
  std::vector<std::string> steps;  ///< the transformations of the loops, in order
  LoopProgram program;             ///< native; it relies on program.strides
};

/// The versions, in the order in which they are tried.
struct Schedule {
  std::vector<Version> versions;
};

/// Applies each step only if the dependences of the program allow it. Results differ from p's only
/// by rounding and by the order of sums; in exact arithmetic they are equal. An f32 output may be
/// read back if it keeps a value that is computed in float anyway.
Schedule schedule(const LoopProgram& p);

/// Runs verify() on every version.
void verify(const Schedule& s);

/// Returns the steps and loops of every version.
std::string to_string(const Schedule& s);

}  // namespace mote
