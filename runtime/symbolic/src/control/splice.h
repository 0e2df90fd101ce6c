// SPDX-License-Identifier: Apache-2.0
// Puts the nodes of one graph into another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Adds the nodes of `from` to `to`, in a topological order. `given` has a symbol of `to` for each
/// input of `from` (input_indices()), of its form. Returns the symbols of `to` for those of `from`,
/// by index; empty ones where no node and no output uses them. Names are not taken over.
std::vector<TensorSymbol> splice(SymbolicGraph& to, const SymbolicGraph& from,
                                 std::span<const TensorSymbol> given);

}  // namespace mote
