// SPDX-License-Identifier: Apache-2.0
// Makes a failing graph smaller as long as it fails: fewer outputs and nodes, operands that become
// inputs, no views, no order without data, shorter axes, plainer data.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "graph_data.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote::test {

struct GraphFailure {
  SymbolicGraph graph;
  GraphData data;
  std::string leg;   ///< the way of computing that disagrees, as text (graph_legs.h)
  std::string what;  ///< the difference
};

/// Returns the difference that the leg shows on the graph; none if there is none. It may throw: a
/// graph on which it does is not taken.
using GraphCheck =
    std::function<std::optional<std::string>(const SymbolicGraph&, const GraphData&)>;

/// Ends after `most` checks.
GraphFailure shrink(GraphFailure failure, const GraphCheck& check, int most = 3000);

}  // namespace mote::test
