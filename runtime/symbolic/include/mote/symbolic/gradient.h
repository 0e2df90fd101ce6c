// SPDX-License-Identifier: Apache-2.0
// The gradient of a symbolic graph: nodes are appended that compute it.
//
//   const std::vector<TensorSymbol> grads = gradient(g, {loss}, {w, b});
//
// Of f(x) with the Jacobian J, gradient() gives J^T s for seeds s (reverse mode). The result is a
// part of the graph like any other, so it can be differentiated again.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "mote/base/export.h"
#include "mote/symbolic/symbolic_graph.h"

namespace MOTE_API mote {

/// Appends the nodes that compute the gradient of sum_k <seeds[k], of[k]> with respect to each of
/// `wrt`, and returns a symbol for each, of its dtype and shape. Without seeds all are 1. What
/// nothing depends on gets zeros, which no node computes. Nothing flows through integers, through
/// copies to or from them, or through ops that the registry marks so ("zero_gradient").
/// An op has the gradient that the registry names; a gradient without a kernel for the dtype is
/// computed by other ops where a rule is known, and for reals of 16 bits in f32. Throws
/// StatusError, before anything is appended: MOTE_INVALID if a symbol is no real tensor, or a seed
/// has another form than its symbol; MOTE_UNSUPPORTED, with the node and the path, if the gradient
/// of a node between `of` and `wrt` cannot be computed.
std::vector<TensorSymbol> gradient(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                   std::span<const TensorSymbol> wrt,
                                   std::span<const TensorSymbol> seeds = {});
std::vector<TensorSymbol> gradient(SymbolicGraph& graph, std::initializer_list<TensorSymbol> of,
                                   std::initializer_list<TensorSymbol> wrt,
                                   std::initializer_list<TensorSymbol> seeds = {});

}  // namespace mote
