// SPDX-License-Identifier: Apache-2.0
#include "compile/same_kernel.h"

#include <algorithm>
#include <span>

#include "mote/runtime/kernel_plan.h"
#include "mote/runtime/status.h"

namespace mote {
namespace {

std::vector<const TensorForm*> forms_of(const SymbolicGraph& graph,
                                        std::span<const std::uint32_t> symbols) {
  std::vector<const TensorForm*> forms;
  for (const std::uint32_t symbol : symbols)
    forms.push_back(symbol == kNoIndex ? nullptr : &*graph.symbols()[symbol].form);
  return forms;
}

bool same_forms(const std::vector<const TensorForm*>& a, const std::vector<const TensorForm*>& b) {
  return std::ranges::equal(a, b, [](const TensorForm* x, const TensorForm* y) {
    return x == nullptr || y == nullptr ? x == y : *x == *y;
  });
}

std::size_t hash_of(const SymbolicGraph& graph, const NodeInfo& node) {
  std::size_t hash = node.command->hash();
  for (const auto* symbols : {&node.inputs, &node.outputs})
    for (const TensorForm* form : forms_of(graph, *symbols))
      hash = hash * 31 + (form == nullptr ? 1 : form->hash());
  return hash;
}

}  // namespace

bool SameKernels::is_alike(const Answer& known, std::span<const NodeInPlacePair> pairs) const {
  const NodeInfo& a = graph_.nodes()[known.node];
  const NodeInfo& b = graph_.nodes()[pairs[0].node];
  const auto same_pair = [](const NodeInPlacePair& x, const NodeInPlacePair& y) {
    return x.input == y.input && x.output == y.output;
  };
  return std::ranges::equal(known.pairs, pairs, same_pair) && *a.command == *b.command &&
         same_forms(forms_of(graph_, a.inputs), forms_of(graph_, b.inputs)) &&
         same_forms(forms_of(graph_, a.outputs), forms_of(graph_, b.outputs));
}

bool SameKernels::ask(std::span<const NodeInPlacePair> pairs) const {
  const NodeInfo& node = graph_.nodes()[pairs[0].node];
  const std::vector<const TensorForm*> inputs = forms_of(graph_, node.inputs);
  const std::vector<const TensorForm*> outputs = forms_of(graph_, node.outputs);
  std::vector<mote_op_pair> shared;
  for (const NodeInPlacePair& pair : pairs)
    shared.push_back(
        {static_cast<std::int32_t>(pair.input), static_cast<std::int32_t>(pair.output)});
  const RunOptions options{.context = context_};
  try {
    const auto apart = KernelPlan::make(*node.command, inputs, outputs, {}, options);
    const auto together = KernelPlan::make(*node.command, inputs, outputs, shared, options);
    return &apart->kernel() == &together->kernel();
  } catch (const StatusError&) {
    return false;  // no kernel takes it; preparing the node says why
  }
}

bool SameKernels::keeps(std::span<const NodeInPlacePair> pairs) {
  const std::size_t hash = hash_of(graph_, graph_.nodes()[pairs[0].node]);
  const auto [begin, end] = answers_.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (is_alike(known->second, pairs)) return known->second.keeps;
  const bool answer = ask(pairs);
  answers_.emplace(hash, Answer{pairs[0].node, {pairs.begin(), pairs.end()}, answer});
  return answer;
}

bool may_be_in_place(const SymbolicGraph& graph, std::uint32_t node, std::uint32_t from,
                     std::uint32_t to, Context* context) {
  const NodeInfo& info = graph.nodes()[node];
  const auto is_of_from = [&](std::uint32_t input) {
    return input != kNoIndex && graph.symbols()[input].root == from;
  };
  if (std::ranges::count_if(info.inputs, is_of_from) != 1) return false;
  if (info.kind == NodeKind::function)
    return info.function->is_in_place && info.inputs[0] == from && info.outputs[0] == to;
  if (info.kind != NodeKind::command || graph.symbols()[from].form != graph.symbols()[to].form)
    return false;
  const InPlacePairs* promised = graph.registry().column(kInPlace).find(info.command->op());
  if (promised == nullptr) return false;
  for (const auto& [input, output] : *promised) {
    const NodeInPlacePair pair{node, static_cast<std::uint32_t>(input),
                               static_cast<std::uint32_t>(output)};
    if (pair.input < info.inputs.size() && info.inputs[pair.input] == from &&
        pair.output < info.outputs.size() && info.outputs[pair.output] == to)
      return SameKernels(graph, context).keeps(std::span(&pair, 1));
  }
  return false;
}

}  // namespace mote
