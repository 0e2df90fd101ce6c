// SPDX-License-Identifier: Apache-2.0
// What was computed of a graph's present version: passes and the compiler ask for the same lists
// again and again. Any thread may ask. What most graphs do not have is answered without a look at
// each node.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "mote/symbolic/dependencies.h"

namespace mote::detail {

/// A table that holds the kind, the op and the operands of each node, which passes and the compiler
/// read again and again. It takes a tenth of the memory of the nodes.
class NodeTable {
 public:
  explicit NodeTable(const SymbolicGraph& graph);

  /// Return the symbols that the node has as inputs, and as outputs (NodeInfo).
  std::span<const std::uint32_t> inputs(std::uint32_t node) const {
    return std::span(operands_).subspan(begins_[node], input_counts_[node]);
  }
  std::span<const std::uint32_t> outputs(std::uint32_t node) const {
    const std::size_t begin = begins_[node] + input_counts_[node];
    return std::span(operands_).subspan(begin, begins_[node + 1] - begin);
  }
  NodeKind kind(std::uint32_t node) const { return kinds_[node]; }
  bool is_removed(std::uint32_t node) const { return is_removed_[node]; }
  /// The op of a command that was not removed; kNoIndex for other nodes.
  OpId op(std::uint32_t node) const { return ops_[node]; }
  std::size_t size() const { return kinds_.size(); }
  /// The nodes of the kinds that most graphs do not have, in rising order.
  const std::vector<std::uint32_t>& controls() const { return controls_; }
  const std::vector<std::uint32_t>& functions() const { return functions_; }

 private:
  std::vector<std::size_t> begins_;          ///< in operands_, and their end
  std::vector<std::uint32_t> input_counts_;  ///< by node
  std::vector<std::uint32_t> operands_;      ///< symbols: a node's inputs, then its outputs
  std::vector<NodeKind> kinds_;
  std::vector<OpId> ops_;
  std::vector<bool> is_removed_;
  std::vector<std::uint32_t> controls_, functions_;
};

/// The nodes that read and those that write each root.
struct RootUsers {
  IndexLists readers, writers;
};

class DependencyCache {
 public:
  std::shared_ptr<const IndexLists> predecessors, data_predecessors;
  std::shared_ptr<const RootUsers> users;
  std::shared_ptr<const std::vector<std::uint32_t>> order;
  std::shared_ptr<const NodeTable> nodes;

  /// True if order() names nodes of the graph.
  static bool has_order(const SymbolicGraph& graph) { return !graph.ordered_.empty(); }
  /// False if no node writes a view.
  static bool may_write_views(const SymbolicGraph& graph) { return !graph.written_views_.empty(); }

  /// Returns that member for the graph's version; if it is not known, what make() returns.
  template <typename Value, typename Make>
  static std::shared_ptr<const Value> get(const SymbolicGraph& graph,
                                          std::shared_ptr<const Value> DependencyCache::*member,
                                          const Make& make) {
    DependencyCache* const cache = graph.dependencies_.get();
    if (cache == nullptr) return std::make_shared<const Value>(make());  // of a moved graph
    {
      const std::lock_guard lock(cache->mutex_);
      if (cache->version_ == graph.version() && cache->*member != nullptr) return cache->*member;
    }
    auto made = std::make_shared<const Value>(make());
    const std::lock_guard lock(cache->mutex_);
    if (cache->version_ != graph.version()) cache->forget(graph.version());
    cache->*member = made;
    return made;
  }

 private:
  void forget(std::uint64_t version) {
    predecessors.reset();
    data_predecessors.reset();
    users.reset();
    order.reset();
    nodes.reset();
    version_ = version;
  }

  std::mutex mutex_;
  std::uint64_t version_ = 0;
};

/// The lists of dependencies.h, which are not copied.
std::shared_ptr<const IndexLists> shared_predecessors(const SymbolicGraph& graph);
std::shared_ptr<const IndexLists> shared_readers(const SymbolicGraph& graph);
std::shared_ptr<const IndexLists> shared_writers(const SymbolicGraph& graph);
std::shared_ptr<const std::vector<std::uint32_t>> shared_order(const SymbolicGraph& graph);
std::shared_ptr<const NodeTable> node_table(const SymbolicGraph& graph);
/// Returns, for each node, whether order() names it.
std::vector<bool> ordered_nodes(const SymbolicGraph& graph);

}  // namespace mote::detail
