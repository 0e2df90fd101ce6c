// SPDX-License-Identifier: Apache-2.0
// Restricts loops to the outputs that a call has.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// Returns a parameter that no program can spell: 1 if the call has the output, else 0.
Symbol wanted(const std::string& output);

/// Puts the statements that only optional outputs need under conditions that the call has one of
/// them. A call has at least one output. The loops must come from compile_for_calls(): if
/// temporaries share storage, a statement that needs one of them needs the others.
LoopProgram leave_out(LoopProgram p, const std::vector<std::string>& optional);

}  // namespace mote
