// SPDX-License-Identifier: Apache-2.0
// Commands in the ways in which a program may give them, apart from DynamicGraph::run().
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mote/dynamic/dynamic_graph.h"

namespace mote::test {

/// The most inputs of a command that run_to_of() and run_in_place_of() take.
inline constexpr std::size_t kMaxInputs = 4;

/// DynamicGraph::run_to() and run_in_place() for a list whose length is not known before.
void run_to_of(DynamicGraph& g, const Variable& output, const Command& command,
               std::span<const VariableRef> inputs);
void run_in_place_of(DynamicGraph& g, const Variable& x, const Command& command,
                     std::span<const VariableRef> others);

/// Returns a function of the program's that runs the command, and whose gradient is the command's.
/// It is given the inputs and the outputs that are there.
std::shared_ptr<const NamedFunction> function_of(const Command& command,
                                                 const std::vector<bool>& has_input,
                                                 const std::vector<bool>& has_output,
                                                 std::optional<DType> dtype);

}  // namespace mote::test
