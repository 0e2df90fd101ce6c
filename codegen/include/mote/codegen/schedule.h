// SPDX-License-Identifier: Apache-2.0
// The last stage before fast C: from the loops of compile() to versions of them whose loops say how
// they are to be run. A version is right where some strides are 1 (or 0); the last one is right for
// any.
#pragma once

#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/codegen/loops.h"

namespace MOTE_API mote {

struct Version {
  std::string name;                ///< a word that tells it from the others; the last has none
  std::vector<std::string> steps;  ///< what was done to the loops, in order
  LoopProgram program;             ///< native; program.strides is what it relies on
};

/// Versions in the order in which they are tried.
struct Schedule {
  std::vector<Version> versions;
};

/// Each step is taken only where the dependences of the program allow it. Results differ from p's
/// only by rounding and by the order of sums; in exact arithmetic they are equal. An output of f32
/// may be read back, where it keeps a value that is computed in float anyway.
Schedule schedule(const LoopProgram& p);

/// verify() of every version.
void verify(const Schedule& s);

/// Steps and loops of every version.
std::string to_string(const Schedule& s);

}  // namespace mote
