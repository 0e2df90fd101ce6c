// SPDX-License-Identifier: Apache-2.0
// Symbols that are read in the place of others that hold the same.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// Collects pairs of equal symbols, and makes all of a graph read the second of each pair.
class Substitution {
 public:
  explicit Substitution(SymbolicGraph& graph) : graph_(graph) {}

  /// `from` holds what `to` holds, in the same form. Nothing writes `from` when apply() is called,
  /// nor a part of it, unless it is a view.
  void add(std::uint32_t from, std::uint32_t to) { by_index_.emplace(from, to); }
  bool has(std::uint32_t from) const { return by_index_.contains(from); }
  /// Returns the symbol that is read in place of the symbol, or itself.
  std::uint32_t end(std::uint32_t symbol) const;

  /// Replaces all uses but those as outputs of the graph: an output that nothing writes any more
  /// becomes a copy of what it equals, so that it stays a tensor of its own.
  void apply();

 private:
  SymbolicGraph& graph_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_index_;
};

}  // namespace mote
