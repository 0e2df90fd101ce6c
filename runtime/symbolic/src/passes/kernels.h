// SPDX-License-Identifier: Apache-2.0
// The facts of kernels and ops that passes need so that results keep their bits.
#pragma once

#include <vector>

#include "mote/runtime/context.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// True if a backend of the context has a kernel for the op: then the choice of the kernel may
/// depend on more than the op and its dtype. False without a context.
bool is_in_backends(const Command& command, const Context* context);

/// True if there is a generated kernel for the node's dtype and its choice of inputs.
bool has_generated_kernel(const SymbolicGraph& graph, const NodeInfo& node);

/// The ops that draw random numbers, by OpId: those of the group "random", and their gradients,
/// which draw the same numbers again.
std::vector<bool> random_ops(const Registry& registry);

}  // namespace mote
