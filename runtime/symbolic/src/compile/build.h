// SPDX-License-Identifier: Apache-2.0
// Makes the concrete graph of the steps: tensors in the arena, placeholders, constants, nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compile/layout.h"
#include "mote/graph/graph.h"
#include "mote/runtime/tensor.h"

namespace mote {

/// A concrete graph, and the tensors of the symbols in it.
struct BuiltGraph {
  Graph graph;
  Tensor arena;
  std::vector<GraphTensor> tensors;  ///< by symbol; a default one where the graph does not use it
};

/// Builds the graph. Node k of it is step k. `kept` are symbols that need a tensor though no node
/// may use them. Its tensors lie in `arena`, which has at least the plan's bytes.
BuiltGraph build_graph(const SymbolicGraph& symbolic, const GraphLayout& layout,
                       std::span<const std::uint32_t> kept, const Tensor& arena);

}  // namespace mote
