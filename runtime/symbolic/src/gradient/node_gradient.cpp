// SPDX-License-Identifier: Apache-2.0
// The gradient of one node. Sums and conversions pass gradients on as they are; other ops have a
// kernel, or a rule; reals of 16 bits that have neither are computed with as f32.
#include <algorithm>
#include <cstring>
#include <span>

#include "fail.h"
#include "gradient/control_gradient.h"
#include "gradient/gradient_call.h"

namespace mote {
namespace {

WideMask real_symbols(const SymbolicGraph& graph, std::span<const std::uint32_t> indices) {
  WideMask mask;
  for (std::size_t k = 0; k < indices.size(); ++k)
    if (indices[k] != kNoIndex && is_real(graph.symbols()[indices[k]].form->dtype)) mask.add(k);
  return mask;
}

std::vector<TensorSymbol> by_way(GraphBuilder& builder, const GradientCall& call, const Way& way) {
  return way.kind == Way::Kind::kernel ? kernel_gradient(builder, call, way.mask)
                                       : rule_gradient(builder, call);
}

/// Computes with f32 in place of a dtype of 16 bits, and rounds the results.
std::vector<TensorSymbol> widened_gradient(GraphBuilder& builder, const GradientCall& call,
                                           DType dtype) {
  const mote_op_definition& op = call.command->definition();
  GradientCall wide = call;
  const auto widen = [&](TensorSymbol& symbol) {
    if (symbol && builder.dtype(symbol) == dtype) symbol = builder.converted(symbol, DType::f32);
  };
  for (std::size_t k = 0; k < wide.inputs.size(); ++k)
    if (std::strcmp(op.inputs[k].dtype, "T") == 0) widen(wide.inputs[k]);
  for (std::size_t k = 0; k < wide.outputs.size(); ++k)
    if (std::strcmp(op.outputs[k].dtype, "T") == 0) {
      widen(wide.outputs[k]);
      widen(wide.gradients[k]);
    }
  wide.targets.assign(wide.targets.size(), {});
  std::vector<TensorSymbol> gradients = by_way(builder, wide, find_way(builder, wide, DType::f32));
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (!gradients[k]) continue;
    const TensorForm& own = builder.form(call.inputs[k]);
    if (call.targets[k])
      gradients[k] = builder.into(call.targets[k], gradients[k]);
    else if (builder.dtype(gradients[k]) != own.dtype)
      gradients[k] = builder.converted(gradients[k], own.dtype);
  }
  return gradients;
}

std::vector<TensorSymbol> passed_gradient(GraphBuilder& builder, const GradientCall& call) {
  const Passing kind = builder.ops().facts(*call.command).passing;
  std::vector<TensorSymbol> gradients(call.inputs.size());
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    if (!is_in(call.wanted, k)) continue;
    const TensorSymbol from = call.gradients.front();
    const MadeShape shape = builder.like(call.inputs[k]);
    if (kind == Passing::cast)
      gradients[k] = builder.dtype(from) == builder.dtype(call.inputs[k]) || call.targets[k]
                         ? builder.into(call.targets[k], from)
                         : builder.converted(from, builder.dtype(call.inputs[k]));
    else if (kind == Passing::sub && k == 1)
      gradients[k] = builder.op("neg", {builder.sum_to(from, shape)}, call.targets[k]);
    else
      gradients[k] = builder.sum_to(from, shape, call.targets[k]);
  }
  return gradients;
}

std::vector<TensorSymbol> copy_gradient(GraphBuilder& builder, const GradientCall& call) {
  const TensorSymbol from = call.gradients.front();
  const TensorSymbol target = call.targets.front();
  if (target) return {builder.into(target, from)};
  return {builder.converted(from, builder.dtype(call.inputs.front()))};
}

std::vector<TensorSymbol> function_gradient(GraphBuilder& builder, const NamedFunction& function,
                                            const GradientCall& call) {
  std::vector<TensorSymbol> gradients =
      function.gradient(builder.graph(), {.inputs = call.inputs,
                                          .outputs = call.outputs,
                                          .gradients = call.gradients,
                                          .wanted = call.wanted.first()});
  if (gradients.size() > call.inputs.size())
    fail_graph("gradient of function " + function.name + ": it has " +
               std::to_string(call.inputs.size()) + " inputs, got " +
               std::to_string(gradients.size()) + " gradients");
  gradients.resize(call.inputs.size());
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (!is_in(call.wanted, k)) gradients[k] = {};
    if (!gradients[k]) continue;
    const TensorForm& got = builder.form(gradients[k]);
    const TensorForm& form = builder.form(call.inputs[k]);
    if (got.dtype != form.dtype || got.shape != form.shape)
      fail_graph("gradient of function " + function.name + " for " +
                 builder.graph().text(call.inputs[k]) + ": expected " + to_string(form) + ", got " +
                 to_string(got));
    builder.expecting(gradients[k], builder.like(call.inputs[k]));
  }
  return gradients;
}

/// True for an op that is the gradient of another and depends on its gradients alone.
bool has_no_curvature(const OpFacts& facts, const NodeInfo& node) {
  if (facts.base_rule == nullptr || facts.base_rule->curvature != Curvature::zero) return false;
  const mote_op_definition& op = node.command->definition();
  for (std::size_t k = 0; k < node.inputs.size() && !facts.base_rule->with_optional; ++k)
    if (node.inputs[k] != kNoIndex && op.inputs[k].optional != 0) return false;
  return true;
}

std::string why_function_has_none(const NamedFunction& function) {
  if (function.name.starts_with("tape "))
    return "it belongs to a loop with checkpoints, whose gradient has none itself "
           "(WhileOptions::checkpoints)";
  return "the function has none (NamedFunction::gradient gives it one)";
}

}  // namespace

/// A rule that reads less is preferred to a kernel of the gradient's gradient, and so is one that
/// is right where the kernel is not.
Way find_way(GraphBuilder& builder, const GradientCall& call, DType dtype) {
  const OpFacts& facts = builder.ops().facts(*call.command);
  const bool may_rule = facts.base.has_value();
  const bool must_rule = may_rule && facts.base_rule != nullptr &&
                         facts.base_rule->precedes_kernel && why_no_rule(builder, call).empty();
  if (must_rule || (may_rule && has_tangent(builder, call))) return {Way::Kind::rule};
  const KernelMask kernel = kernel_mask(builder, call, dtype);
  if (kernel.mask) return {Way::Kind::kernel, *kernel.mask};
  if (!may_rule) return {Way::Kind::none, 0, kernel.reason};
  const std::string reason = why_no_rule(builder, call);
  if (reason.empty()) return {Way::Kind::rule};
  return {Way::Kind::none, 0, kernel.reason + ", and " + reason};
}

namespace {

/// Refuses a command or a function of which a TensorMask does not hold all tensors.
void check_count(const SymbolicGraph& graph, std::uint32_t index) {
  const NodeInfo& node = graph.nodes()[index];
  const std::size_t count = std::max(node.inputs.size(), node.outputs.size());
  if (count <= kMaxMasked) return;
  fail_graph("gradient: " +
                 (node.kind == NodeKind::function ? "the function " + node.function->name
                                                  : graph.text(graph.node_at(index))) +
                 " has " + std::to_string(count) + " inputs or outputs, expected at most " +
                 std::to_string(kMaxMasked),
             MOTE_UNSUPPORTED);
}

}  // namespace

NodeFlow flow_of(GraphBuilder& builder, std::uint32_t index) {
  const SymbolicGraph& graph = builder.graph();
  const NodeInfo& node = graph.nodes()[index];
  if (node.removed || node.kind == NodeKind::fill) return {};
  if (node.kind == NodeKind::function && node.function->reads_shapes_alone) return {};
  if (node.kind == NodeKind::function || node.kind == NodeKind::command) check_count(graph, index);
  NodeFlow flow{real_symbols(graph, node.outputs), real_symbols(graph, node.inputs)};
  if (node.kind != NodeKind::command) return flow;
  const OpFacts& facts = builder.ops().facts(*node.command);
  OpFlow of_op = facts.flow;
  if (has_no_curvature(facts, node)) of_op = {~TensorMask{0}, facts.base->gradients()};
  return {WideMask(flow.from.first() & of_op.from), WideMask(flow.to.first() & of_op.to)};
}

std::string why_not(GraphBuilder& builder, const NodeInfo& node, const GradientCall& call) {
  if (node.kind == NodeKind::copy) return "";
  if (node.kind == NodeKind::control) return why_no_control_gradient(builder, node, call);
  if (node.kind == NodeKind::function)
    return node.function->gradient ? "" : why_function_has_none(*node.function);
  if (builder.ops().facts(*call.command).passing != Passing::no) return "";
  const DType dtype = instance_of(builder, call);
  const Way way = find_way(builder, call, dtype);
  if (way.kind != Way::Kind::none) return "";
  if (is_narrow(dtype) && find_way(builder, call, DType::f32).kind != Way::Kind::none) return "";
  return way.reason +
         " (mote_add_kernels() makes the gradients of an op with a program; a plug-in may register "
         "the attribute \"gradient\" of " +
         call.command->definition().name + ")";
}

std::vector<TensorSymbol> node_gradient(GraphBuilder& builder, const NodeInfo& node,
                                        const GradientCall& call) {
  if (node.kind == NodeKind::copy) return copy_gradient(builder, call);
  if (node.kind == NodeKind::function) return function_gradient(builder, *node.function, call);
  if (builder.ops().facts(*call.command).passing != Passing::no)
    return passed_gradient(builder, call);
  const DType dtype = instance_of(builder, call);
  const Way way = find_way(builder, call, dtype);
  if (way.kind == Way::Kind::none && is_narrow(dtype))
    return widened_gradient(builder, call, dtype);
  return by_way(builder, call, way);
}

}  // namespace mote
