// SPDX-License-Identifier: Apache-2.0
// The kernels that a node may run.
#include "passes/kernels.h"

#include <algorithm>
#include <cstring>

#include "mote/base/plugin.h"

namespace mote {
namespace {

/// Returns the dtype T of the node's command; none if no tensor has it.
std::optional<DType> instance_of(const SymbolicGraph& graph, const NodeInfo& node) {
  const mote_op_definition& op = node.command->definition();
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (node.inputs[k] != kNoIndex && std::strcmp(op.inputs[k].dtype, "T") == 0)
      return graph.symbols()[node.inputs[k]].form->dtype;
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (node.outputs[k] != kNoIndex && std::strcmp(op.outputs[k].dtype, "T") == 0)
      return graph.symbols()[node.outputs[k]].form->dtype;
  return std::nullopt;
}

}  // namespace

bool is_in_backends(const Command& command, const Context* context) {
  if (context == nullptr) return false;
  for (const mote_backend* backend : context->backends())
    for (std::int32_t k = 0; k < backend->kernel_count; ++k)
      if (std::strcmp(kernel_at(*backend, k).op, command.definition().name) == 0) return true;
  return false;
}

bool has_generated_kernel(const SymbolicGraph& graph, const NodeInfo& node) {
  const std::optional<DType> instance = instance_of(graph, node);
  TensorMask present = 0;
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    if (node.inputs[k] != kNoIndex) present |= mask_bit(k);
  return std::ranges::any_of(node.command->generated(), [&](const GeneratedKernel& kernel) {
    return kernel.input_mask == present && (!instance || kernel.dtype == *instance);
  });
}

std::vector<bool> random_ops(const Registry& registry) {
  std::vector<bool> is_random(registry.size());
  const Column<OpGradient> gradients = registry.column(kGradient);
  for (const OpId op : registry.members("random")) {
    is_random[op] = true;
    const OpGradient* gradient = gradients.find(op);
    const auto found = gradient == nullptr ? std::nullopt : registry.find((*gradient)->gradient);
    if (found) is_random[*found] = true;
  }
  return is_random;
}

}  // namespace mote
