// SPDX-License-Identifier: Apache-2.0
// The value of each symbol of a graph as a uop, node by node.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "graph/element_index.h"
#include "mote/oracle/graph_program.h"
#include "mote/symbolic/symbolic_graph.h"
#include "mote/uops/uop.h"

namespace mote {

class SymbolValues {
 public:
  SymbolValues(const SymbolicGraph& graph, const NodeForms& forms);

  /// Gives the value of an input or constant, or of what a node has written.
  void set(std::uint32_t symbol, Uop value) { values_[symbol] = std::move(value); }
  /// Returns the value of a symbol once the nodes that write its elements have run. Elements that
  /// none writes are 0.
  const Uop& read(std::uint32_t symbol);
  /// Runs a node: it reads its inputs and gives the values of its outputs. Throws Error or
  /// StatusError if it cannot be a program.
  void run(std::uint32_t node);

 private:
  Uop part_of_base(std::uint32_t symbol);
  Uop assembled(std::uint32_t root, std::uint32_t reader) const;
  ElementIndex index_in(std::uint32_t ancestor, std::uint32_t symbol) const;
  const TensorForm& form(std::uint32_t symbol) const { return graph_.symbols()[symbol].form; }

  const SymbolicGraph& graph_;
  const NodeForms& forms_;
  std::unordered_map<std::uint32_t, Uop> values_;
  /// The symbols of each root that nodes have written, in order.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> written_;
};

}  // namespace mote
