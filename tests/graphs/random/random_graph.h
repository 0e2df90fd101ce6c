// SPDX-License-Identifier: Apache-2.0
// A random symbolic graph is a pure function of its seed: 1 to 200 nodes of any ops that have
// kernels, with shared operands, duplicates, dead ends, views, writes to parts, conversions, fills,
// constants, chains of in-place pairs and order without data. It is legal by construction. Its
// first node is of op number `seed` among all ops, counted round, so that consecutive seeds meet
// all ops.
#pragma once

#include <cstdint>
#include <optional>

#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

SymbolicGraph random_graph(std::uint64_t seed);

/// Returns the graph with a gradient of some of its real outputs with respect to some of its real
/// symbols, as further outputs; none if an op on the way has no gradient.
std::optional<SymbolicGraph> with_gradient(const SymbolicGraph& graph, std::uint64_t seed);

/// Returns a graph of smooth and linear ops in f64, whose outputs can be differentiated with
/// respect to its inputs.
SymbolicGraph random_exact_graph(std::uint64_t seed);

}  // namespace mote::test
