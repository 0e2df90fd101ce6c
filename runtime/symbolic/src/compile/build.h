// SPDX-License-Identifier: Apache-2.0
// Makes the concrete graph of the steps: tensors in the arena, placeholders, constants, nodes.
#pragma once

#include <cstddef>
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
  std::vector<GraphTensor> tensors;  ///< by symbol; a default one where the graph does not use it
};

/// The most bytes of a tensor, and of a plan: more have no addresses of their own, even nowhere.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 48;

/// Returns a tensor at an address that no memory of a process or a device has; numbers give
/// different ones.
Tensor nowhere(const TensorForm& form, std::size_t number);

/// Builds the graph. Node k of it is step k. `kept` are symbols that need a tensor though no node
/// may use them. Its tensors lie in the arenas, one of bytes for each device of the layout, which
/// have at least the plans' bytes; if these are nowhere, so are tensors that are always zero.
BuiltGraph build_graph(const SymbolicGraph& symbolic, const GraphLayout& layout,
                       std::span<const std::uint32_t> kept, std::span<const Tensor> arenas,
                       bool are_nowhere = false);

}  // namespace mote
