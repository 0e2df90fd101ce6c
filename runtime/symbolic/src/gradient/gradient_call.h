// SPDX-License-Identifier: Apache-2.0
// The gradient of one node: what it is given, and the ways in which it can be computed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradient/builder.h"
#include "gradient/wide_mask.h"

namespace mote {

/// A command's tensors, and what is asked of its gradient. Inputs and outputs are as many as the
/// op has; one that is left out is empty.
struct GradientCall {
  const Command* command = nullptr;
  std::vector<TensorSymbol> inputs;
  std::vector<TensorSymbol> outputs;
  std::vector<TensorSymbol> gradients;  ///< of outputs; empty where none comes
  WideMask given;                       ///< the outputs whose gradient comes
  WideMask wanted;                      ///< the inputs whose gradient is asked for
  std::vector<TensorSymbol> targets;    ///< of inputs; empty where it may be any symbol
};

/// The outputs and inputs of a node between which a gradient may flow.
struct NodeFlow {
  WideMask from, to;
};
NodeFlow flow_of(GraphBuilder& builder, std::uint32_t node);

/// Returns the dtype T of the call: that of the first tensor that has it.
DType instance_of(GraphBuilder& builder, const GradientCall& call);

/// The mask of inputs of the gradient op's kernel that takes the call in that dtype; a reason if
/// there is none.
struct KernelMask {
  std::optional<TensorMask> mask;
  std::string reason;
};
KernelMask kernel_mask(GraphBuilder& builder, const GradientCall& call, DType dtype);
/// Adds a node of the op's gradient. The result has a symbol for each input that is wanted.
std::vector<TensorSymbol> kernel_gradient(GraphBuilder& builder, const GradientCall& call,
                                          TensorMask mask);

/// Returns a reason if the gradient of the call, whose op is the gradient of another, cannot be
/// computed by rules in that dtype; empty if it can.
std::string why_no_rule(GraphBuilder& builder, const GradientCall& call);
/// True if a rule gives what is asked for without the values of the gradients that the call reads.
bool has_tangent(GraphBuilder& builder, const GradientCall& call);
/// Computes the gradient by rules; the result has a symbol for each input that is wanted.
std::vector<TensorSymbol> rule_gradient(GraphBuilder& builder, const GradientCall& call);

/// The way in which a command's gradient is computed.
struct Way {
  enum class Kind : std::uint8_t { none, kernel, rule } kind = Kind::none;
  TensorMask mask = 0;      ///< of the kernel
  std::string reason = {};  ///< if there is none
};
Way find_way(GraphBuilder& builder, const GradientCall& call, DType dtype);

/// Returns a reason if the gradient cannot be computed; empty if it can.
std::string why_not(GraphBuilder& builder, const NodeInfo& node, const GradientCall& call);
/// Computes the gradient; the result has a symbol for each input that is wanted, of its shape.
std::vector<TensorSymbol> node_gradient(GraphBuilder& builder, const NodeInfo& node,
                                        const GradientCall& call);

/// Differentiates nodes from `first_node` on, which compute `of`: returns the gradients with
/// respect to symbols below `first_symbol`; empty ones where nothing depends on them.
std::vector<TensorSymbol> differentiate_new(GraphBuilder& builder, std::uint32_t first_symbol,
                                            std::uint32_t first_node,
                                            std::span<const TensorSymbol> of,
                                            std::span<const TensorSymbol> seeds,
                                            std::span<const TensorSymbol> wrt);

}  // namespace mote
