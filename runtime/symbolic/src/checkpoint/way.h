// SPDX-License-Identifier: Apache-2.0
// The way forward of a graph with a gradient in it, and what the way back reads of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mote/symbolic/dependencies.h"
#include "mote/symbolic/symbolic_graph.h"

namespace mote {

struct ForwardWay {
  std::vector<std::uint32_t> nodes;     ///< the forward nodes, in their order
  std::vector<std::uint32_t> position;  ///< of each node in `nodes`; kNoIndex: way back
  /// True for each symbol that is a root and may be computed again.
  std::vector<bool> may_recompute;
  /// True for each symbol that is a root and that a node of the way back reads.
  std::vector<bool> read_back;
  /// The last position that reads each symbol that is a root and that forward nodes write; its
  /// writer's if none does.
  std::vector<std::uint32_t> last_read;
  std::vector<std::size_t> bytes;  ///< of each symbol that is a root
};

ForwardWay find_way(const SymbolicGraph& graph, std::span<const TensorSymbol> losses,
                    std::span<const TensorSymbol> keep);

/// Returns the root that a forward node writes, for each of its outputs that is present.
std::vector<std::uint32_t> written_roots(const SymbolicGraph& graph, std::uint32_t node);
/// Returns the bytes that a node reads and writes.
std::size_t traffic(const SymbolicGraph& graph, const ForwardWay& way, std::uint32_t node);

}  // namespace mote
