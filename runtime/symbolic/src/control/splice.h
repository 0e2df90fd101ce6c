// SPDX-License-Identifier: Apache-2.0
// Puts nodes of one graph into another.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Adds the nodes of `from` to `to`, in a topological order. `given` has a symbol of `to` for each
/// input of `from` (input_indices()), of its form. Returns the symbols of `to` for those of `from`,
/// by index; empty ones where no node and no output uses them. Names that `to` has not yet are
/// taken over.
std::vector<TensorSymbol> splice(SymbolicGraph& to, const SymbolicGraph& from,
                                 std::span<const TensorSymbol> given);

/// Adds only these nodes, in their order, which must be a topological one. `symbols` and `asked` as
/// below.
std::vector<TensorSymbol> splice(SymbolicGraph& to, const SymbolicGraph& from,
                                 std::vector<TensorSymbol> symbols,
                                 std::span<const std::uint32_t> nodes,
                                 std::span<const TensorSymbol> asked);

/// Adds only the nodes that `takes` says. `symbols` has by index what stands for symbols of `from`,
/// which must include whatever the others write; `asked` are symbols of `from` that are needed too.
std::vector<TensorSymbol> splice(SymbolicGraph& to, const SymbolicGraph& from,
                                 std::vector<TensorSymbol> symbols,
                                 const std::function<bool(std::uint32_t)>& takes,
                                 std::span<const TensorSymbol> asked);

}  // namespace mote
