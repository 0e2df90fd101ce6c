// SPDX-License-Identifier: Apache-2.0
// The order of a symbolic graph's nodes, as its tensors and its extra edges demand it. All of it
// takes time in proportion to the graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// Lists of indices by index, in one array.
class IndexLists {
 public:
  IndexLists() = default;
  /// Makes the lists of `count` indices from pairs (index, entry), entries in the order of the
  /// pairs.
  IndexLists(std::size_t count, std::span<const std::pair<std::uint32_t, std::uint32_t>> pairs);
  /// Takes the memory of that many lists of about one entry.
  void reserve(std::size_t lists);
  /// Adds the list of the next index.
  void add_list(std::span<const std::uint32_t> entries);

  std::span<const std::uint32_t> operator[](std::uint32_t index) const {
    return std::span(entries_).subspan(begins_[index], begins_[index + 1] - begins_[index]);
  }
  std::size_t size() const { return begins_.empty() ? 0 : begins_.size() - 1; }
  std::size_t entry_count() const { return entries_.size(); }

 private:
  std::vector<std::size_t> begins_;
  std::vector<std::uint32_t> entries_;
};

/// Returns, for each node, the nodes that must be done before it, each once, in rising order: those
/// that write elements that it reads, and those that order() names.
IndexLists predecessors(const SymbolicGraph& graph);
/// The same without those that only order() names.
IndexLists data_predecessors(const SymbolicGraph& graph);
/// Returns, for each root, the nodes that read it or a view of it, in rising order, each once.
IndexLists readers(const SymbolicGraph& graph);
/// Returns, for each root, the nodes that write it or a view of it, in rising order.
IndexLists writers(const SymbolicGraph& graph);

/// Returns the nodes that are not removed, each after its predecessors, else in the order in which
/// they were added. Throws StatusError, which names the nodes, if there is a cycle.
std::vector<std::uint32_t> topological_order(const SymbolicGraph& graph);
std::vector<std::uint32_t> topological_order(const SymbolicGraph& graph,
                                             const IndexLists& predecessors);

/// Returns, for each node, whether one of the symbols depends on it (ancestors), in linear time.
std::vector<bool> ancestors(const SymbolicGraph& graph, std::span<const TensorSymbol> of);
/// Returns, for each node, whether one of the symbols depends on what it writes.
std::vector<bool> data_ancestors(const SymbolicGraph& graph, std::span<const TensorSymbol> of);
/// Returns, for each node, whether it depends on one of the symbols (descendants).
std::vector<bool> descendants(const SymbolicGraph& graph, std::span<const TensorSymbol> of);

/// Throws StatusError, with the node and the rule, unless the graph is well formed: handles,
/// producers and forms agree with inference, no element is written twice, each element that is read
/// is written or zero, there is no cycle.
void verify(const SymbolicGraph& graph);

}  // namespace mote
