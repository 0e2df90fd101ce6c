// SPDX-License-Identifier: Apache-2.0
// Copies of forward nodes, which are made when a value of theirs is asked for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkpoint/way.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

/// The roots of values that are there, and the symbols that hold them.
using Held = std::unordered_map<std::uint32_t, std::uint32_t>;

class Copies {
 public:
  /// Both must outlive this.
  Copies(SymbolicGraph& graph, const ForwardWay& way) : graph_(graph), way_(way) {}

  /// Returns the symbol that holds a root's value: the one in `held`, itself if it is never
  /// computed again, else an output of a copy of its node, which is made with the values that it
  /// needs, and which `held` has from then on.
  std::uint32_t value(std::uint32_t root, Held& held);
  /// Returns the symbol that stands for `symbol`, a view or a root, with the values of `held`.
  std::uint32_t symbol(std::uint32_t symbol, Held& held);

  /// Begins the next segment: copies made from now on begin after the nodes are done (order()).
  void begin_segment(std::vector<std::uint32_t> after);

  /// Makes the copies of each segment come after those nodes that it was begun with. Where that
  /// would be a cycle, as in graphs whose way back does not simply go backwards, no copy waits.
  void order();

  std::size_t count() const { return waits_.size(); }
  std::size_t bytes() const { return bytes_; }
  /// Returns how often each node was copied.
  const std::unordered_map<std::uint32_t, std::size_t>& runs() const { return runs_; }

 private:
  void copy_node(std::uint32_t node, Held& held);
  std::vector<std::uint32_t> needed_nodes(std::uint32_t root, const Held& held) const;

  SymbolicGraph& graph_;
  const ForwardWay& way_;
  std::vector<NodeSymbol> after_;
  std::uint32_t segment_ = 0;
  /// The copies, and the nodes that each waits for.
  std::vector<std::pair<NodeSymbol, std::vector<NodeSymbol>>> waits_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::uint32_t, std::size_t> runs_;
};

}  // namespace mote
