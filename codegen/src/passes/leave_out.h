// SPDX-License-Identifier: Apache-2.0
// Restricts loops to the outputs that a call has.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "mote/codegen/loops.h"

namespace mote {

/// Returns a parameter that no program can spell: 1 if the call has the output, else 0.
Symbol wanted(const std::string& output);
bool is_wanted_output(Symbol s);  ///< true for such a parameter
/// Returns those of such parameters that conditions of the body, or of its values, depend on.
std::set<Symbol> wanted_in(const Body& body);

/// Puts the statements that only optional outputs need under conditions that the call has one of
/// them. A call has at least one output. The loops must come from compile_for_calls(): if
/// temporaries share storage, a statement that needs one of them needs the others.
LoopProgram leave_out(LoopProgram p, const std::vector<std::string>& optional);

/// Returns the outputs, all of them optional, that alone need the tensor; none if every call needs
/// it.
std::vector<std::string> outputs_needing(const LoopProgram& p, const std::string& tensor,
                                         const std::vector<std::string>& optional);

}  // namespace mote
