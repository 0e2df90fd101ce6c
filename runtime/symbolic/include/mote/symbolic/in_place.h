// SPDX-License-Identifier: Apache-2.0
// Finds the outputs of nodes that may take the memory of an input of the same node.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// Output `output` of the node may be stored where its input `input` is.
struct NodeInPlacePair {
  std::uint32_t node = kNoIndex;
  std::uint32_t input = 0;   ///< a position among the node's inputs
  std::uint32_t output = 0;  ///< a position among its outputs

  friend bool operator==(const NodeInPlacePair&, const NodeInPlacePair&) = default;
};

/// True if node `a` is done before node `b` begins, in every run.
using DoneBefore = std::function<bool(std::uint32_t a, std::uint32_t b)>;

/// Lists the pairs, by node, of which all may be used together: a symbol is in at most one as an
/// input, and in at most one as an output. For a pair of input x and output y,
/// - the op promises it (its attribute "in_place"),
/// - every other node that reads or writes the root of x, or a view of it, happens before the node,
/// - x is its root or all of it, in the root's order, and has the form of y: dtype, shape, strides,
///   device,
/// - the root of x is written by nodes: no input, no constant, no zeros that nothing writes; it is
///   no output of the graph, nor is a view of it, and it is not bound,
/// - y is a root of kind `tensor`, and is not bound,
/// - no other input of the node shares memory with x.
/// A kernel must promise the pair too (its contract); the runtime asks another one if it does not.
std::vector<NodeInPlacePair> in_place_pairs(const SymbolicGraph& graph,
                                            const DoneBefore& happens_before,
                                            std::span<const TensorSymbol> bound = {});
/// Lists the pairs for nodes that run one after the other in this order. Throws StatusError if it
/// has not each node once.
std::vector<NodeInPlacePair> in_place_pairs(const SymbolicGraph& graph,
                                            std::span<const std::uint32_t> order,
                                            std::span<const TensorSymbol> bound = {});

}  // namespace mote
