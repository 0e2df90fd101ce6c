// SPDX-License-Identifier: Apache-2.0
// Calls for some of the outputs.
#pragma once

#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// 1 where the call has the output, else 0: a parameter that no program can spell.
Symbol wanted(const std::string& output);

/// What only outputs need that a call may leave out runs under conditions that the call has one of
/// them. A call has at least one output. For loops of compile_for_calls(): where temporaries share
/// storage, what needs one of them needs the others.
LoopProgram leave_out(LoopProgram p, const std::vector<std::string>& optional);

}  // namespace mote
