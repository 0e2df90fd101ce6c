// SPDX-License-Identifier: Apache-2.0
// The text of loops and branches.
#pragma once

#include <string>
#include <vector>

#include "mote/symbolic/symbolic_graph.h"

namespace mote::graph_text {

/// Returns "while (x, w)" or "case (k) else (x) of (w)", if asked with the graphs in braces.
/// `names` are those of the symbols around.
std::string control_text(const NodeInfo& node, const std::vector<std::string>& names,
                         bool with_graphs);

}  // namespace mote::graph_text
