// SPDX-License-Identifier: Apache-2.0
// The rules that a loop or a case..of must keep, and the forms that follow from what it holds.
#pragma once

#include <cstddef>
#include <memory>

#include "mote/symbolic/control.h"
#include "mote/symbolic/shared_form.h"

namespace mote {

/// Throws StatusError, with the symbols and their forms, unless the node's inputs and outputs fit
/// its graphs, as far as their shapes are known.
void check_control(const SymbolicGraph& graph, const NodeInfo& node);
/// Returns the form of result k; `is_known` says whether its shape is known yet.
SharedForm result_form(const ControlInfo& control, std::size_t k, bool& is_known);
/// Returns the node's graphs with those shapes of their inputs that have become known in the graph
/// around, and what follows from them.
std::shared_ptr<const ControlInfo> with_later_forms(const SymbolicGraph& graph,
                                                    const NodeInfo& node);

}  // namespace mote
