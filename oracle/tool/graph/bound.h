// SPDX-License-Identifier: Apache-2.0
// `mote graph check --bound`: whether the outputs of a graph lie in the bound of its program.
#pragma once

#include "graph/settings.h"
#include "mote/runtime/context.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::tool {

/// Judges the outputs that the kernels of the context have computed node by node and prints the
/// verdict, as one line of JSON if asked for. Returns the exit code: 0, 1 if an element is outside,
/// 4 if nothing was judged.
int check_by_bound(const SymbolicGraph& graph, const GraphReference& reference, Context& context,
                   bool json);

}  // namespace mote::tool
