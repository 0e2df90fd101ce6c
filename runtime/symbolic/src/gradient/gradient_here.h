// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Does what gradient() does to a graph that is thrown away if that fails.
std::vector<TensorSymbol> gradient_here(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                        std::span<const TensorSymbol> wrt,
                                        std::span<const TensorSymbol> seeds);

}  // namespace mote
