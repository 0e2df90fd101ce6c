// SPDX-License-Identifier: Apache-2.0
// `mote graph check --bound`: whether the outputs of a graph lie in the bound of its program.
#pragma once

#include <span>

#include "mote/runtime/context.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::tool {

/// Runs the nodes by the kernels that the context chooses, judges the outputs and prints the
/// verdict, as one line of JSON if asked for. Returns the exit code: 0, 1 if an element is outside,
/// 4 if nothing was judged.
int check_by_bound(const SymbolicGraph& graph, std::span<const TensorBinding> inputs,
                   Context& context, bool json);

}  // namespace mote::tool
