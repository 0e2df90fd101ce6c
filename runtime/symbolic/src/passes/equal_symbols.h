// SPDX-License-Identifier: Apache-2.0
// Classes of symbols that hold the same elements in the same form: equal constants, zeros that
// nothing writes, equal views of equal symbols, and whatever a pass says of the outputs of nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/symbolic_graph.h"
#include "passes/hash_index.h"

namespace mote {

std::size_t mixed(std::size_t hash, std::size_t more);
std::size_t hash_of(const TensorForm& form);

class EqualSymbols {
 public:
  explicit EqualSymbols(const SymbolicGraph& graph);

  /// Returns the first symbol of the class that was asked for. Before it is asked for a symbol of a
  /// root, join() has been called for the root if it is to be.
  std::uint32_t leader(std::uint32_t symbol);
  /// States that a root that a node writes whole is equal to another one.
  void join(std::uint32_t root, std::uint32_t other) { leaders_[root] = leader(other); }

 private:
  bool is_written(std::uint32_t root);
  std::uint32_t leader_of_constant(std::uint32_t symbol);
  std::uint32_t leader_of_view(std::uint32_t view);
  bool is_same_location(std::uint32_t a, std::uint32_t b) const;

  const SymbolicGraph& graph_;
  /// The nodes that write each root, once it is asked for. The graph does not change meanwhile.
  std::shared_ptr<const IndexLists> written_;
  std::vector<std::uint32_t> leaders_;  ///< by symbol; kNoIndex: not asked for yet
  HashIndex views_;                     ///< leaders that are views
  HashIndex constants_;
};

}  // namespace mote
