// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// False if the node needs only the shape of that input.
bool reads_data(const SymbolicGraph& graph, const NodeInfo& node, std::size_t input);
/// Likewise; `gradient_of` is that column of the graph's registry.
bool reads_data(const Column<OpGradient>& gradient_of, const NodeInfo& node, std::size_t input);

}  // namespace mote
