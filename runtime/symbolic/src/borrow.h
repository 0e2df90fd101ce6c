// SPDX-License-Identifier: Apache-2.0
// A copy of a graph for a short time, which costs a copy of its symbols and nodes only if it is
// changed.
#pragma once

#include "mote/symbolic/symbolic_graph.h"

namespace mote::detail {

class Borrower {
 public:
  /// The graph must not change as long as the copy is there. What was read of the copy by reference
  /// before its first change is what it was.
  static SymbolicGraph borrow(const SymbolicGraph& graph) {
    return {graph, SymbolicGraph::Copying::shared};
  }
};

}  // namespace mote::detail
