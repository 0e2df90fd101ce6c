// SPDX-License-Identifier: Apache-2.0
// The kernel that computes an op's gradient: for its dtype, its optional inputs, and at least the
// gradients that come.
#include <bit>
#include <cstring>

#include "gradient/gradient_call.h"

namespace mote {

DType instance_of(GraphBuilder& builder, const GradientCall& call) {
  const mote_op_definition& op = call.command->definition();
  for (std::size_t k = 0; k < call.inputs.size(); ++k)
    if (call.inputs[k] && std::strcmp(op.inputs[k].dtype, "T") == 0)
      return builder.dtype(call.inputs[k]);
  for (std::size_t k = 0; k < call.outputs.size(); ++k)
    if (call.outputs[k] && std::strcmp(op.outputs[k].dtype, "T") == 0)
      return builder.dtype(call.outputs[k]);
  return DType::f32;
}

namespace {

/// Returns the inputs that the gradient's op can do without.
TensorMask left_out(GraphBuilder& builder, const GradientCall& call, const GradientRow& row) {
  const mote_op_definition& gradient =
      builder.command_like(row.row->gradient, *call.command, std::nullopt).definition();
  TensorMask optional = 0;
  for (std::size_t k = 0; k < row.inputs.size(); ++k)
    if (gradient.inputs[k].optional != 0) optional |= mask_bit(k);
  return optional;
}

}  // namespace

KernelMask kernel_mask(GraphBuilder& builder, const GradientCall& call, DType dtype) {
  const mote_op_definition& op = call.command->definition();
  const std::optional<GradientRow>& row = builder.ops().facts(*call.command).row;
  if (!row) return {std::nullopt, std::string("no gradient of ") + op.name + " is registered"};
  TensorMask fixed = 0;
  TensorMask given = 0;
  const TensorMask all = row->gradients();
  for (std::size_t k = 0; k < row->inputs.size(); ++k) {
    const GradientRow::Slot& slot = row->inputs[k];
    if (slot.kind == GradientRow::Kind::gradient) {
      if (is_in(call.given, slot.of)) given |= mask_bit(k);
    } else if (slot.kind == GradientRow::Kind::input) {
      if (call.inputs[slot.of]) fixed |= mask_bit(k);
    } else {
      if (!call.outputs[slot.of])
        return {std::nullopt, std::string(row->row->gradient) + " reads the output " +
                                  op.outputs[slot.of].name + ", which the node leaves out"};
      fixed |= mask_bit(k);
    }
  }
  if (row->kernels == nullptr || row->kernels->empty())
    return {fixed | given | (all & ~left_out(builder, call, *row)), ""};
  std::optional<TensorMask> best;
  for (const GeneratedKernel& kernel : *row->kernels) {
    const TensorMask mask = kernel.input_mask;
    if (kernel.dtype != dtype || (mask & ~all) != fixed || (mask & given) != given) continue;
    if (!best || std::popcount(mask) < std::popcount(*best)) best = mask;
  }
  if (best) return {best, ""};
  return {std::nullopt,
          std::string(row->row->gradient) + " has no kernel for " + std::string(name(dtype))};
}

}  // namespace mote
