// SPDX-License-Identifier: Apache-2.0
// The parts that a thunk's two functions share, and the second one: it calls the typed function for
// a mote_call that the first one has accepted. In: a loop program; out: C text.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "c/internal.h"

namespace mote::emit {

/// `const type name = value;`; without a name the statement `value;`, or whole lines of text.
struct Step {
  std::string type, name, value;
};

/// Returns the steps in front of `rest`. A value that no text reads gets no name: `uses` is the log
/// of the steps and of the rest.
std::string opening(const std::vector<Step>& steps, const std::string& rest, const Uses& uses);
/// Returns the text as a C string.
std::string quoted(const std::string& text);
/// Returns the axes of the input that may repeat: bit k is axis k.
std::uint32_t broadcast_axes(const uop::Input& input);

/// The inputs and parameters that a call of the thunk may hold, in order.
struct CallNames {
  std::vector<std::string> inputs;
  std::vector<std::string> params;
};
CallNames call_names(const Program& source, const EmitOptions& options);

/// Returns `static mote_status <function>_checked(const mote_call *call, int run)`, which checks
/// nothing. `signature` is the C name of the thunk's mote_signature; the functions that the text
/// calls are added to `calls`.
std::string checked_call(const LoopProgram& p, const Names& names, const EmitOptions& options,
                         const std::string& signature, std::set<std::string>& calls);

}  // namespace mote::emit
