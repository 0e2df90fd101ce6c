// SPDX-License-Identifier: Apache-2.0
// Finds which of the values that a loop carries over are needed.
#pragma once

#include <vector>

#include "mote/symbolic/control.h"

namespace mote {

/// True if the node calls a function for what else it does, at any depth: one without outputs.
bool has_effects(const NodeInfo& node);
/// Returns for each carried value whether it is used after the loop, as `used` says, or by another
/// iteration for its condition, for its effects, or for a value that is needed.
std::vector<bool> live_carries(const ControlInfo& control, std::vector<bool> used);
/// Takes values that nothing needs out of the loops of a graph, and what computes them. Returns how
/// many.
std::size_t remove_dead_carries(SymbolicGraph& graph);

}  // namespace mote
