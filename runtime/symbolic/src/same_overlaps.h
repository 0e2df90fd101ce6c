// SPDX-License-Identifier: Apache-2.0
// Compares which views share elements in a graph and in the same graph for other shapes. A gradient
// has nodes for those that do.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Returns two views of one symbol that share elements in one of the graphs only; none if there are
/// none. Symbols have the same indices in both.
std::optional<std::pair<std::uint32_t, std::uint32_t>> changed_overlap(const SymbolicGraph& before,
                                                                       const SymbolicGraph& now);

}  // namespace mote
