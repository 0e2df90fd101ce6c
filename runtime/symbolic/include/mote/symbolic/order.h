// SPDX-License-Identifier: Apache-2.0
// The order in which a graph's nodes are evaluated, chosen for the memory that it needs, and the
// bytes that an order needs at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// The order in which nodes are evaluated. All but `program` are chosen to need little memory.
enum class EvaluationOrder : std::uint8_t {
  least,        ///< the one of the others that needs the fewest bytes
  program,      ///< as the nodes were added
  depth_first,  ///< from the outputs, the operand that needs more bytes first
  greedy        ///< the node that frees the most bytes next
};

/// Returns the nodes that are not removed, each after its predecessors. For a tree whose tensors
/// have one size, `depth_first` needs the fewest bytes that any order does (Sethi and Ullman,
/// 1970). `bound` are outputs in the caller's memory, which count as no bytes. Takes n log n time.
/// Throws StatusError if there is a cycle, and, except for `program`, if a form is not known yet.
std::vector<std::uint32_t> evaluation_order(const SymbolicGraph& graph, EvaluationOrder which,
                                            std::span<const TensorSymbol> bound = {});

/// Returns the most bytes that are alive at once if the nodes are evaluated in this order, each
/// root whole, from the first node that uses it to the last. An output stays alive to the end;
/// inputs, constants and bound outputs take none. Nothing is in place. Throws StatusError if the
/// order has not each node once.
std::uint64_t peak_bytes(const SymbolicGraph& graph, std::span<const std::uint32_t> order,
                         std::span<const TensorSymbol> bound = {});

}  // namespace mote
