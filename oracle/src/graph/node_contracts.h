// SPDX-License-Identifier: Apache-2.0
// The promises of all kernels that a context chooses for the nodes of a graph, as one contract.
#pragma once

#include <span>
#include <variant>

#include "mote/base/error.h"
#include "mote/oracle/graph_program.h"
#include "mote/runtime/context.h"
#include "mote/uops/bound.h"

namespace mote {

struct NodeContracts {
  Contract weakest;  ///< what each of them keeps
  NodeForms forms;   ///< the formulas that are not the definition
};

/// Returns the contracts of the nodes that the outputs need, or the reason why one bound does not
/// fit them all.
std::variant<NodeContracts, Reason> node_contracts(const SymbolicGraph& graph,
                                                   std::span<const TensorSymbol> outputs,
                                                   Context& context);

}  // namespace mote
