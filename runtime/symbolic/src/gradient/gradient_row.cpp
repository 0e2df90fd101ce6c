// SPDX-License-Identifier: Apache-2.0
// The rows of the registry: which tensors an op's gradient takes and gives, and whether a kernel of
// it exists.
#include <bit>
#include <cstring>

#include "gradient/gradient_call.h"

namespace mote {
namespace {

TensorMask bits_of(const std::vector<TensorSymbol>& symbols) {
  TensorMask mask = 0;
  for (std::size_t k = 0; k < symbols.size(); ++k)
    if (symbols[k]) mask |= mask_bit(k);
  return mask;
}

const mote_op_gradient* find_row(const Registry& registry, const char* attribute, OpId op) {
  const Gradient* row = registry.column<Gradient>(attribute).find(op);
  return row != nullptr ? *row : nullptr;
}

}  // namespace

GradientRow::GradientRow(const mote_op_gradient& row) : row(&row) {
  const auto add = [&](Kind kind, TensorMask mask) {
    for (; mask != 0; mask &= mask - 1)
      inputs.push_back({kind, static_cast<std::size_t>(std::countr_zero(mask)),
                        is_in(row.reads, inputs.size())});
  };
  add(Kind::gradient, row.from);
  add(Kind::input, row.inputs);
  add(Kind::output, row.outputs);
  for (TensorMask mask = row.to; mask != 0; mask &= mask - 1)
    outputs.push_back(static_cast<std::size_t>(std::countr_zero(mask)));
}

std::optional<std::size_t> GradientRow::output_of(std::size_t k) const {
  for (std::size_t n = 0; n < outputs.size(); ++n)
    if (outputs[n] == k) return n;
  return std::nullopt;
}

std::optional<std::size_t> GradientRow::input_of(Kind kind, std::size_t k) const {
  for (std::size_t n = 0; n < inputs.size(); ++n)
    if (inputs[n].kind == kind && inputs[n].of == k) return n;
  return std::nullopt;
}

const mote_op_gradient* gradient_row(const Registry& registry, std::string_view op) {
  const std::optional<OpId> id = registry.find(op);
  const mote_op_gradient* row = id ? find_row(registry, kGradient, *id) : nullptr;
  if (row == nullptr || row->gradient == nullptr) return nullptr;
  // A row whose op nobody has defined is of no use.
  const std::optional<OpId> gradient = registry.find(row->gradient);
  const bool defined =
      gradient && registry.column<Definition>(kDefinition).find(*gradient) != nullptr;
  return defined ? row : nullptr;
}

const mote_op_gradient* row_of_gradient(const Registry& registry, OpId op) {
  return find_row(registry, kGradientOf, op);
}

DType instance_of(const SymbolicGraph& graph, const GradientCall& call) {
  const mote_op_definition& op = call.command->definition();
  for (std::size_t k = 0; k < call.inputs.size(); ++k)
    if (call.inputs[k] && std::strcmp(op.inputs[k].dtype, "T") == 0)
      return graph.form(call.inputs[k]).dtype;
  for (std::size_t k = 0; k < call.outputs.size(); ++k)
    if (call.outputs[k] && std::strcmp(op.outputs[k].dtype, "T") == 0)
      return graph.form(call.outputs[k]).dtype;
  return DType::f32;
}

KernelMask kernel_mask(const SymbolicGraph& graph, const GradientCall& call, DType dtype) {
  const Registry& registry = graph.registry();
  const mote_op_definition& op = call.command->definition();
  const mote_op_gradient* found = gradient_row(registry, op.name);
  if (found == nullptr)
    return {std::nullopt, std::string("no gradient of ") + op.name + " is registered"};
  const GradientRow row(*found);
  TensorMask fixed = 0;
  TensorMask given = 0;
  TensorMask all = 0;
  for (std::size_t k = 0; k < row.inputs.size(); ++k) {
    const GradientRow::Slot& slot = row.inputs[k];
    if (slot.kind == GradientRow::Kind::gradient) {
      all |= mask_bit(k);
      if (is_in(call.given, slot.of)) given |= mask_bit(k);
    } else if (slot.kind == GradientRow::Kind::input) {
      if (call.inputs[slot.of]) fixed |= mask_bit(k);
    } else {
      if (!call.outputs[slot.of])
        return {std::nullopt, std::string(found->gradient) + " reads the output " +
                                  op.outputs[slot.of].name + ", which the node leaves out"};
      fixed |= mask_bit(k);
    }
  }
  const OpId id = registry.get(found->gradient);
  const auto* kernels = registry.column<GeneratedKernels>(kGenerated).find(id);
  if (kernels == nullptr || kernels->empty()) return {fixed | all, ""};  // a plug-in's op
  std::optional<TensorMask> best;
  for (const GeneratedKernel& kernel : *kernels) {
    const TensorMask mask = kernel.input_mask;
    if (kernel.dtype != dtype || (mask & ~all) != fixed || (mask & given) != given) continue;
    if (!best || std::popcount(mask) < std::popcount(*best)) best = mask;
  }
  if (best) return {best, ""};
  return {
      std::nullopt,
      std::string(found->gradient) + " has no kernel for " + std::string(name(dtype)) +
          (bits_of(call.inputs) != first_masked(call.inputs.size()) ? " with these optional inputs"
                                                                    : "")};
}

}  // namespace mote
