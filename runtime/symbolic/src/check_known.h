// SPDX-License-Identifier: Apache-2.0
// Checks that a shape is known where it must be.
#pragma once

#include <string>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Throws StatusError, which begins with `what` and names the inputs that have no shape, unless the
/// shape of the symbol is known.
void check_known(const SymbolicGraph& graph, TensorSymbol symbol, const std::string& what);

}  // namespace mote
