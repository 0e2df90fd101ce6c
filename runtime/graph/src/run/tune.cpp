// SPDX-License-Identifier: Apache-2.0
// Measures the commands of a graph, and prepares it again with what was found.
#include "mote/runtime/tune.h"

#include <algorithm>

#include "state.h"

namespace mote::graph {
namespace {

const TuningEntry& tune_node(const Graph::State& state, const NodeRecord& node, Context& context,
                             const TuningOptions& options) {
  std::vector<Tensor> tensors;  // all that are there
  tensors.reserve(node.operands.size());
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
  const auto pointer = [&](std::uint32_t t) {
    return t == kNone ? nullptr : &tensors.emplace_back(state.tensor_at(t));
  };
  for (const std::uint32_t t : node.inputs()) inputs.push_back(pointer(t));
  for (const std::uint32_t t : node.outputs()) outputs.push_back(pointer(t));
  try {
    return autotune(*std::get<CommandNode>(node.work).command, inputs, outputs, context, options);
  } catch (...) {
    rethrow_of(node);
  }
}

/// Measures the commands of one graph. Returns how many.
std::size_t tune_graph(Graph::State& state, Context& context, const TuningOptions& options) {
  std::size_t asked = 0;
  for (NodeRecord& node : state.nodes) {
    if (node.removed || !std::holds_alternative<CommandNode>(node.work)) continue;
    const TuningEntry& entry = tune_node(state, node, context, options);
    state.rare.weights = true;
    node.weight = std::ranges::min_element(entry.timings, {}, &Timing::nanoseconds)->nanoseconds;
    ++asked;
  }
  return asked;
}

}  // namespace
}  // namespace mote::graph

namespace mote {

std::size_t Graph::autotune(const TuningOptions& options) {
  const graph::InUse use(state_, "autotune");
  const graph::Plan& plan = *graph::ready_plan(*state_, 0);
  if (state_->options.context == nullptr)
    graph::refuse("autotune: it must be prepared with a context, which keeps the times");
  graph::wait_to_change(*state_, "autotune");
  std::size_t asked = graph::tune_graph(*state_, *state_->options.context, options);
  for (const graph::SubLocation& location : state_->prepared.subs)
    asked += graph::tune_graph(*location.state, *state_->options.context, options);
  const StreamSchedule given = plan.schedule;
  const GraphOptions with = state_->options;
  graph::prepare(*state_, with, state_->prepared.has_given_schedule ? &given : nullptr);
  return asked;
}

}  // namespace mote
