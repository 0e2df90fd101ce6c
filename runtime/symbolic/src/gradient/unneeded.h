// SPDX-License-Identifier: Apache-2.0
// The part of a graph that was added since a moment, and the removal of its nodes that nothing
// needs.
#pragma once

#include <cstdint>
#include <span>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

class Added {
 public:
  explicit Added(const SymbolicGraph& graph)
      : first_symbol_(static_cast<std::uint32_t>(graph.symbol_count())),
        first_node_(static_cast<std::uint32_t>(graph.node_count())) {}

  std::uint32_t first_symbol() const { return first_symbol_; }
  std::uint32_t first_node() const { return first_node_; }
  /// Removes the added nodes that none of the symbols depends on, except for functions, and the
  /// added symbols that are of no use then.
  void remove_unneeded(SymbolicGraph& graph, std::span<const TensorSymbol> needed) const;

 private:
  std::uint32_t first_symbol_;
  std::uint32_t first_node_;
};

}  // namespace mote
