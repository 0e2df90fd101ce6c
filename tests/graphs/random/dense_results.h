// SPDX-License-Identifier: Apache-2.0
// Rewrites a symbolic graph so that its kernels get the layouts that a dynamic graph gives them: a
// dynamic graph's commands write tensors of their own, whose elements are then copied to where the
// symbolic graph wants them. A kernel may round otherwise where it writes another layout.
#pragma once

#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

/// Returns a copy of the graph, with the same symbols and more, in which each command writes whole
/// row-major tensors.
SymbolicGraph with_dense_results(const SymbolicGraph& graph);

}  // namespace mote::test
