// SPDX-License-Identifier: Apache-2.0
// A copy of a graph for a short time, which costs a copy of its symbols and nodes only if it is
// changed; and one that the graph becomes again if changing it fails.
#pragma once

#include <utility>

#include "mote/symbolic/symbolic_graph.h"

namespace mote::detail {

class Borrower {
 public:
  /// The graph must not change as long as the copy is there. What was read of the copy by reference
  /// before its first change is what it was.
  static SymbolicGraph borrow(const SymbolicGraph& graph) {
    return {graph, SymbolicGraph::Copying::shared};
  }
  /// Makes the graph equal to that earlier copy of it. Handles stay valid.
  static void restore(SymbolicGraph& graph, SymbolicGraph& copy) noexcept {
    copy.identity_ = graph.identity_;
    graph = std::move(copy);
  }
};

/// Changes the graph whole or not at all: if change() throws, the graph is as it was.
template <typename Change>
auto change_whole(SymbolicGraph& graph, const Change& change) {
  SymbolicGraph before(graph);
  try {
    return change();
  } catch (...) {
    Borrower::restore(graph, before);
    throw;
  }
}

}  // namespace mote::detail
