// SPDX-License-Identifier: Apache-2.0
// The gradient of one node: what it is given, and the ways in which it can be computed.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gradient/builder.h"

namespace mote {

/// A command's tensors, and what is asked of its gradient. Inputs and outputs are as many as the
/// op has; one that is left out is empty.
struct GradientCall {
  const Command* command = nullptr;
  std::vector<TensorSymbol> inputs;
  std::vector<TensorSymbol> outputs;
  std::vector<TensorSymbol> gradients;  ///< of outputs; empty where none comes
  TensorMask given = 0;                 ///< the outputs whose gradient comes
  TensorMask wanted = 0;                ///< the inputs whose gradient is asked for
  std::vector<TensorSymbol> targets;    ///< of inputs; empty where it may be any symbol
};

/// The outputs and inputs of a node between which a gradient may flow.
struct NodeFlow {
  TensorMask from = 0;
  TensorMask to = 0;
};
NodeFlow flow_of(const SymbolicGraph& graph, const NodeInfo& node);

/// The parts of an op's gradient, from its row: what its inputs and outputs are of the op.
struct GradientRow {
  enum class Kind : std::uint8_t { gradient, input, output };
  struct Slot {
    Kind kind;
    std::size_t of;  ///< the output or input of the op
    bool reads;      ///< false: only its shape is needed
  };
  explicit GradientRow(const mote_op_gradient& row);

  const mote_op_gradient* row;
  std::vector<Slot> inputs;
  std::vector<std::size_t> outputs;  ///< the inputs of the op whose gradients they are
  /// Returns the gradient's output that is the gradient of input k of the op.
  std::optional<std::size_t> output_of(std::size_t k) const;
  /// Returns the gradient's input that is that tensor of the op.
  std::optional<std::size_t> input_of(Kind kind, std::size_t k) const;
};
/// Returns the row of the op's gradient, or null.
const mote_op_gradient* gradient_row(const Registry& registry, std::string_view op);
/// Returns the row of the op of which this one is the gradient, or null.
const mote_op_gradient* row_of_gradient(const Registry& registry, OpId op);

/// Returns the dtype T of the call: that of the first tensor that has it.
DType instance_of(const SymbolicGraph& graph, const GradientCall& call);

/// The mask of inputs of the gradient op's kernel that takes the call in that dtype; a reason if
/// there is none.
struct KernelMask {
  std::optional<TensorMask> mask;
  std::string reason;
};
KernelMask kernel_mask(const SymbolicGraph& graph, const GradientCall& call, DType dtype);

/// Adds a node of the op's gradient. The result has a symbol for each input that is wanted.
std::vector<TensorSymbol> kernel_gradient(GraphBuilder& builder, const GradientCall& call,
                                          TensorMask mask);

/// Returns a reason if the gradient cannot be computed; empty if it can.
std::string why_not(const SymbolicGraph& graph, const NodeInfo& node, const GradientCall& call);
/// Computes the gradient; the result has a symbol for each input that is wanted, of its shape.
std::vector<TensorSymbol> node_gradient(GraphBuilder& builder, const NodeInfo& node,
                                        const GradientCall& call);

}  // namespace mote
