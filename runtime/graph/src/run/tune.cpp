// SPDX-License-Identifier: Apache-2.0
// Measures the commands of a graph, and prepares it again with what was found.
#include "mote/runtime/tune.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "state.h"

namespace mote::graph {
namespace {

/// Returns the tensor of a node; where no memory is shown now, since the run decides where it is,
/// at the memory that the node had last. None if it has had none, or if tensors were bound since:
/// what a run decided may be memory that the caller has given up.
std::optional<Tensor> last_tensor(const Graph::State& state, const NodeRecord& node,
                                  std::uint32_t tensor, bool is_bound_anew) {
  const TensorRecord& record = state.tensors[tensor];
  const std::vector<bool>& is_variable = state.prepared.variables.is_root;
  if (is_bound_anew && record.root < is_variable.size() && is_variable[record.root])
    return std::nullopt;
  if (record.has_memory) return state.tensor_at(tensor);
  const std::vector<VariableNode>& all = state.prepared.variables.nodes;
  const auto variable = std::ranges::lower_bound(all, node.index, {}, &VariableNode::node);
  if (variable == all.end() || variable->node != node.index || variable->variants.empty())
    return std::nullopt;
  const auto root = std::ranges::find(variable->roots, record.root) - variable->roots.begin();
  std::byte* const data = variable->variants[variable->current].at[static_cast<std::size_t>(root)];
  return make_tensor(*record.form, tensor == record.root ? data : data + record.offset, nullptr);
}

/// Returns null if the node's tensors have had no memory yet: it has not run.
const TuningEntry* tune_node(const Graph::State& state, const NodeRecord& node, Context& context,
                             const TuningOptions& options, bool is_bound_anew) {
  std::vector<Tensor> tensors;  // all that are there
  tensors.reserve(node.operands.size());
  std::vector<const Tensor*> inputs;
  std::vector<Tensor*> outputs;
  bool has_run = true;
  const auto pointer = [&](std::uint32_t t) -> Tensor* {
    if (t == kNone) return nullptr;
    const std::optional<Tensor> at = last_tensor(state, node, t, is_bound_anew);
    has_run = has_run && at.has_value();
    return &tensors.emplace_back(at ? *at : state.tensor_at(t));
  };
  for (const std::uint32_t t : node.inputs()) inputs.push_back(pointer(t));
  for (const std::uint32_t t : node.outputs()) outputs.push_back(pointer(t));
  if (!has_run) return nullptr;
  try {
    return &autotune(*std::get<CommandNode>(node.work).command, inputs, outputs, context, options);
  } catch (...) {
    rethrow_of(node);
  }
}

/// Measures the commands of one graph, which is at `where` in the outermost one. Returns how many,
/// and adds those that it cannot measure to `untuned`.
std::size_t tune_graph(Graph::State& state, Context& context, const TuningOptions& options,
                       const std::string& where, bool is_bound_anew,
                       std::vector<std::string>& untuned) {
  std::size_t asked = 0;
  for (NodeRecord& node : state.nodes) {
    if (node.removed || !std::holds_alternative<CommandNode>(node.work)) continue;
    const TuningEntry* entry = tune_node(state, node, context, options, is_bound_anew);
    if (entry == nullptr) {
      untuned.push_back(where + text_of(node));
      continue;
    }
    state.rare.weights = true;
    node.weight = std::ranges::min_element(entry->timings, {}, &Timing::nanoseconds)->nanoseconds;
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
  std::vector<std::string> untuned;
  Context& context = *state_->options.context;
  const bool is_bound_anew = state_->ran_with != state_->binding;
  std::size_t asked = graph::tune_graph(*state_, context, options, "", is_bound_anew, untuned);
  const std::vector<graph::SubLocation>& subs = state_->prepared.subs;
  std::vector<std::string> where(subs.size());
  std::unordered_map<const Graph::State*, std::size_t> numbers;
  for (std::size_t k = 0; k < subs.size(); ++k) {
    if (const auto around = numbers.find(subs[k].around); around != numbers.end())
      where[k] = where[around->second];
    numbers.emplace(subs[k].state, k);
    where[k] += text_of(subs[k].around->nodes[subs[k].node]) + ": ";
    asked += graph::tune_graph(*subs[k].state, context, options, where[k], is_bound_anew, untuned);
  }
  state_->untuned = std::move(untuned);
  const StreamSchedule given = plan.schedule;
  const GraphOptions with = state_->options;
  graph::prepare(*state_, with, state_->prepared.has_given_schedule ? &given : nullptr);
  return asked;
}

const std::vector<std::string>& Graph::untuned() const { return state().untuned; }

}  // namespace mote
