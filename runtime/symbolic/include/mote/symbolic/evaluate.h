// SPDX-License-Identifier: Apache-2.0
// Evaluates a symbolic graph node by node, each tensor in memory of its own. It is the reference
// that compiled graphs are compared with: nothing is shared, reordered or rewritten.
//
//   const std::vector<Tensor> y = evaluate(g, {{x, images}, {w, weight}}, {loss});
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "mote/base/export.h"
#include "mote/runtime/command.h"
#include "mote/symbolic/binding.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// Runs the nodes that the outputs need, in topological order, and returns the outputs'
/// tensors. Each tensor is on the device of its form; for commands of a device the options need a
/// context with its backends. Memory that nodes write is filled before: zeros with 0, all else with
/// NaN, or with an extreme value of its integer dtype, so that an element that is read and not
/// written is seen. Inputs and constants are read where they are. Throws StatusError if an input
/// that is needed is not bound, or bound to another dtype or shape than its own; and whatever a
/// node throws, behind the node's text.
std::vector<Tensor> evaluate(const SymbolicGraph& graph, std::span<const TensorBinding> bindings,
                             std::span<const TensorSymbol> outputs, const RunOptions& options = {});
std::vector<Tensor> evaluate(const SymbolicGraph& graph,
                             std::initializer_list<TensorBinding> bindings,
                             std::initializer_list<TensorSymbol> outputs,
                             const RunOptions& options = {});

}  // namespace mote
