// SPDX-License-Identifier: Apache-2.0
// The gradient of a symbolic graph: nodes are appended that compute it.
//
//   const std::vector<TensorSymbol> grads = gradient(g, {loss}, {w, b});
//
// For f(x) with the Jacobian J, gradient() gives J^T s for seeds s (reverse mode) and jvp() gives
// J t for tangents t (forward mode). Both results are parts of the graph like any other, so they
// can be differentiated again.
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
/// StatusError: MOTE_INVALID if a symbol is no real tensor, or a seed has another form than its
/// symbol; MOTE_UNSUPPORTED, with the node and the path, if the gradient of a node between `of` and
/// `wrt` cannot be computed. What a function's gradient (NamedFunction) throws is thrown as it is.
/// After any error the graph is as it was.
std::vector<TensorSymbol> gradient(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                                   std::span<const TensorSymbol> wrt,
                                   std::span<const TensorSymbol> seeds = {});
std::vector<TensorSymbol> gradient(SymbolicGraph& graph, std::initializer_list<TensorSymbol> of,
                                   std::initializer_list<TensorSymbol> wrt,
                                   std::initializer_list<TensorSymbol> seeds = {});

/// Appends the nodes that compute the change of each of `of` when each of `wrt` changes by its
/// tangent, and returns a symbol for each. An empty tangent is 0. It is the gradient of the
/// gradient with respect to its seeds, and throws as gradient() does.
std::vector<TensorSymbol> jvp(SymbolicGraph& graph, std::span<const TensorSymbol> of,
                              std::span<const TensorSymbol> wrt,
                              std::span<const TensorSymbol> tangents);
std::vector<TensorSymbol> jvp(SymbolicGraph& graph, std::initializer_list<TensorSymbol> of,
                              std::initializer_list<TensorSymbol> wrt,
                              std::initializer_list<TensorSymbol> tangents);

/// A node of the way back that reads a tensor of the way forward.
struct SavedReader {
  NodeSymbol node;
  std::size_t input = 0;
  bool reads_data = true;  ///< false: only the shape is needed
};
/// A tensor that the way forward computes or is given, and the way back reads.
struct SavedTensor {
  TensorSymbol tensor;  ///< whole, even if only views of it are read
  std::int64_t bytes = 0;
  std::vector<SavedReader> readers;  ///< in the order of their nodes
};
/// Returns what the nodes of `gradients` that are not nodes of `of` read of the others, in the
/// order of the symbols.
std::vector<SavedTensor> saved(const SymbolicGraph& graph, std::span<const TensorSymbol> of,
                               std::span<const TensorSymbol> gradients);
std::vector<SavedTensor> saved(const SymbolicGraph& graph, std::initializer_list<TensorSymbol> of,
                               std::initializer_list<TensorSymbol> gradients);
/// Returns a line for each: "h f32[32,500] 64000 bytes: node 9 'gh' (relu.grad) reads it".
std::string to_text(const SymbolicGraph& graph, std::span<const SavedTensor> saved);

/// The highest order to which an op can be differentiated in a dtype.
inline constexpr int kAnyOrder = 1000;
/// What computes an op's second gradient, the gradient of its gradient.
enum class SecondGradient : std::uint8_t {
  none,      ///< there is none
  passed,    ///< the gradient is passed on, without an op of its own to differentiate
  composed,  ///< other ops, by a rule
  kernel,    ///< a kernel of its own, where no rule reads less
};
struct GradientOrder {
  std::string op;
  DType dtype = DType::f32;
  int order = 0;         ///< 0: no gradient flows, or it has none; kAnyOrder: any
  bool is_zero = false;  ///< no gradient flows through the op
  bool in_f32 = false;   ///< of 16 bits: some of them are computed in f32
  SecondGradient second = SecondGradient::none;
};
/// Returns a row for each op that is not a gradient, and each real dtype that it has kernels for.
std::vector<GradientOrder> gradient_orders(const Registry& registry = Registry::global());

}  // namespace mote
