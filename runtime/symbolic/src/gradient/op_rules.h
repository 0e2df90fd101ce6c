// SPDX-License-Identifier: Apache-2.0
// What is known of ops beyond their gradients' kernels: how to differentiate an op's gradient by
// ops that exist. An op f(x) has the gradient g(gy, x) = J(x)^T gy. It is linear in gy, so its own
// gradient with respect to gy is J(x) c, the tangent of f, for the gradient c of its result; its
// gradient with respect to x is the curvature of f.
#pragma once

#include <string_view>
#include <vector>

#include "gradient/gradient_call.h"

namespace mote {

/// The way in which J c follows from ops that exist.
enum class Tangent : std::uint8_t {
  none,
  pointwise,    ///< J is diagonal in each input: the sum of g(c_k) over inputs k
  linear,       ///< f(c)
  bilinear,     ///< f(c_a, b, c_c) + f(a, c_b): linear in each of two inputs, and in a third
  reduction,    ///< an element is in one result at most: the sum over axes of g(1)_k * c_k
  self_adjoint  ///< J is symmetric: g(c)
};

/// The way in which the gradient of g with respect to x follows.
enum class Curvature : std::uint8_t {
  none,
  zero,      ///< g does not depend on x, as far as slopes tell
  bilinear,  ///< f is linear in each of two inputs
  formula    ///< g is written with other ops, which are differentiated
};

class Formula;

struct OpRule {
  std::string_view op;
  Tangent tangent;
  Curvature curvature;
  /// Returns the outputs of the op's gradient, computed by other ops.
  void (*formula)(Formula& f) = nullptr;
};
/// Returns the rule of an op; null if it has none.
const OpRule* rule_of(std::string_view op);

/// Returns a reason if the gradient of this call, of an op that is the gradient of another, cannot
/// be computed by rules; empty if it can.
std::string why_no_rule(const SymbolicGraph& graph, const GradientCall& call);
/// True if a rule gives what is asked for without the values of the gradients that the call reads.
bool has_tangent(const SymbolicGraph& graph, const GradientCall& call);
/// Computes the gradient by rules; the result has a symbol for each input that is wanted.
std::vector<TensorSymbol> rule_gradient(GraphBuilder& builder, const GradientCall& call);

/// Differentiates nodes [first, node_count()), which compute `of`: returns the gradients with
/// respect to symbols that stood before them. Removes those of the nodes that nothing needs.
std::vector<TensorSymbol> differentiate_new(GraphBuilder& builder, std::uint32_t first_symbol,
                                            std::uint32_t first_node,
                                            std::span<const TensorSymbol> of,
                                            std::span<const TensorSymbol> seeds,
                                            std::span<const TensorSymbol> wrt);

}  // namespace mote
