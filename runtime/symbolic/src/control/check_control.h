// SPDX-License-Identifier: Apache-2.0
// The rules that a loop or a case..of must keep.
#pragma once

#include "mote/symbolic/control.h"

namespace mote {

/// Throws StatusError, with the symbols and their forms, unless the node's inputs and outputs fit
/// its graphs.
void check_control(const SymbolicGraph& graph, const NodeInfo& node);

}  // namespace mote
