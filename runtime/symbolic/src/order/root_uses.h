// SPDX-License-Identifier: Apache-2.0
// Lists which nodes use which memory: the roots that take bytes, by node, and the nodes, by root.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mote/symbolic/dependencies.h"

namespace mote {

struct RootUses {
  RootUses(const SymbolicGraph& graph, std::span<const TensorSymbol> bound);

  std::vector<std::uint64_t> bytes;  ///< by symbol; 0 for what is no root or takes no memory
  std::vector<bool> is_kept;         ///< by symbol: its bytes stay alive to the end
  IndexLists roots;                  ///< by node: the roots with bytes that it reads or writes
  IndexLists users;                  ///< by root: these nodes
};

/// The nodes as `depth_first` orders them.
std::vector<std::uint32_t> depth_first_order(const SymbolicGraph& graph, const RootUses& uses,
                                             const IndexLists& before);
/// The nodes as `greedy` orders them; of nodes that free equally many bytes, the one that is first
/// in `ties`.
std::vector<std::uint32_t> greedy_order(const SymbolicGraph& graph, const RootUses& uses,
                                        const IndexLists& before,
                                        std::span<const std::uint32_t> ties);
/// Throws StatusError unless the order has each node of the graph once.
void check_order(const SymbolicGraph& graph, std::span<const std::uint32_t> order, const char* op);

std::uint64_t peak_bytes(const RootUses& uses, std::span<const std::uint32_t> order);

}  // namespace mote
