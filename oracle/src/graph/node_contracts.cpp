// SPDX-License-Identifier: Apache-2.0
// Plans each node's kernel, and joins the contracts: of each promise the weakest.
#include "graph/node_contracts.h"

#include <algorithm>
#include <span>

#include "mote/macroops/catalogue.h"
#include "mote/oracle/contract.h"
#include "mote/runtime/kernel_plan.h"
#include "mote/symbolic/dependencies.h"
#include "mote/uops/map_ops.h"

namespace mote {
namespace {

/// Returns the accuracy of a function that a contract does not list.
Accuracy unlisted(std::string_view function) {
  if (function == kDot) return {.ulp = 0.5};
  if (function == kOperand) return {.ulp = 0};
  const auto row = std::ranges::find(map_ops(), function, &MapOpInfo::name);
  return {.ulp = row == map_ops().end() ? Accuracy{}.ulp : row->ulp};
}

Accuracy listed(const Contract& c, const std::string& function) {
  const auto found = c.functions.find(function);
  return found == c.functions.end() ? unlisted(function) : found->second;
}

/// Makes `c` promise no more than `other` does; false if no accumulator is the weaker one.
bool weaken(Contract& c, const Contract& other) {
  std::map<std::string, Accuracy, std::less<>> functions;
  for (const Contract* each : {static_cast<const Contract*>(&c), &other})
    for (const auto& named : each->functions) {
      const Accuracy a = listed(c, named.first), b = listed(other, named.first);
      functions[named.first] = {.ulp = std::max(a.ulp, b.ulp),
                                .arg = std::max(a.arg, b.arg),
                                .abs = std::max(a.abs, b.abs)};
    }
  c.functions = std::move(functions);
  if (c.multiply_bits == 0 || (other.multiply_bits != 0 && other.multiply_bits < c.multiply_bits))
    c.multiply_bits = other.multiply_bits;
  c.flushes_denormals = c.flushes_denormals || other.flushes_denormals;
  // The usual bound holds for the wider accumulator too.
  const Accumulation next =
      other.accumulator == Accumulation::f64 ? Accumulation::usual : other.accumulator;
  if (next == Accumulation::usual || next == c.accumulator) return true;
  if (c.accumulator != Accumulation::usual) return false;
  c.accumulator = next;
  return true;
}

/// Returns the dtype of the node's first real tensor, by which a contract is read.
DType real_dtype(const SymbolicGraph& graph, const NodeInfo& node) {
  for (const auto* symbols : {&node.outputs, &node.inputs})
    for (const std::uint32_t x : *symbols)
      if (x != kNoIndex && is_real(graph.symbols()[x].form->dtype))
        return graph.symbols()[x].form->dtype;
  return DType::f32;
}

std::shared_ptr<const KernelPlan> plan_of(const SymbolicGraph& graph, const NodeInfo& node,
                                          Context& context) {
  const auto forms = [&](std::span<const std::uint32_t> symbols) {
    std::vector<const TensorForm*> all;
    for (const std::uint32_t x : symbols)
      all.push_back(x == kNoIndex ? nullptr : &*graph.symbols()[x].form);
    return all;
  };
  return KernelPlan::make(*node.command, forms(node.inputs), forms(node.outputs), {},
                          {.context = &context});
}

}  // namespace

std::variant<NodeContracts, Reason> node_contracts(const SymbolicGraph& graph,
                                                   std::span<const TensorSymbol> outputs,
                                                   Context& context) {
  NodeContracts result;
  const std::vector<bool> needed = ancestors(graph, outputs);
  for (std::uint32_t k = 0; k < graph.node_count(); ++k) {
    const NodeInfo& node = graph.nodes()[k];
    if (!needed[k] || node.removed || node.kind != NodeKind::command) continue;
    const auto plan = plan_of(graph, node, context);
    const mote_contract* given = plan->kernel().contract;
    if (form_of(given) != kDirect) result.forms.emplace(k, form_of(given));
    if (!weaken(result.weakest, contract_of(given, real_dtype(graph, node))))
      return Reason{graph.text(graph.node_at(k)) +
                    ": its kernel's accumulator and those of other nodes have no common bound"};
  }
  return result;
}

}  // namespace mote
