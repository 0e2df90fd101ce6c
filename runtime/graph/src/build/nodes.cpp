// SPDX-License-Identifier: Apache-2.0
// The nodes of a graph, the edges that are given, and parts.
#include <string>
#include <utility>

#include "state.h"

namespace mote {

using graph::InUse;
using graph::kNone;
using graph::NodeRecord;
using graph::refuse;
using graph::TensorKind;

namespace {

using Tensors = std::span<const GraphTensor>;

ShortList operands(const Graph::State& state, Tensors inputs, Tensors outputs, bool may_lack,
                   const char* op) {
  ShortList indices;
  indices.reserve(inputs.size() + outputs.size());
  for (const Tensors& tensors : {inputs, outputs})
    for (const GraphTensor& t : tensors)
      indices.push_back(may_lack && t == GraphTensor{} ? kNone : state.index_of(t, op));
  return indices;
}

/// Adds a node, whose work is what work() returns.
template <typename Work>
GraphNode add_node(const std::unique_ptr<Graph::State>& state, const char* op, const Work& work,
                   Tensors inputs, Tensors outputs, const NodeOptions& options) {
  const InUse use(state, op);
  if (state->nodes.size() >= kNone) refuse(std::string(op) + ": it has too many nodes");
  NodeRecord node{.work = work(),
                  .operands = {},
                  .input_count = static_cast<std::uint32_t>(inputs.size()),
                  .index = static_cast<std::uint32_t>(state->nodes.size()),
                  .options = options};
  const bool is_command = std::holds_alternative<graph::CommandNode>(node.work);
  node.operands = operands(*state, inputs, outputs, is_command, op);
  for (const std::uint32_t y : node.outputs())
    if (y != kNone)
      graph::each_memory(*state, y, [&](std::uint32_t memory) {
        if (state->root_of(memory).kind == TensorKind::constant)
          refuse(graph::text_of(node) + " writes the constant " + state->text_of_tensor(memory));
      });
  state->nodes.push_back(std::move(node));
  state->rare.note(state->nodes.back().work);
  state->prepared.is_current = false;
  return {state->id, state->nodes.back().index};
}

}  // namespace

GraphNode Graph::add(const Command& command, Tensors inputs, Tensors outputs,
                     const NodeOptions& options) {
  const auto work = [&] { return graph::CommandNode{state_->commands.of(command)}; };
  return add_node(state_, "add", work, inputs, outputs, options);
}

GraphNode Graph::add(const Command& command, std::initializer_list<GraphTensor> inputs,
                     std::initializer_list<GraphTensor> outputs, const NodeOptions& options) {
  return add(command, Tensors(inputs.begin(), inputs.size()),
             Tensors(outputs.begin(), outputs.size()), options);
}

GraphNode Graph::copy(GraphTensor x, GraphTensor y, const NodeOptions& options) {
  const auto work = [] { return graph::CopyNode{}; };
  return add_node(state_, "copy", work, Tensors(&x, 1), Tensors(&y, 1), options);
}

GraphNode Graph::add_fill(GraphTensor y, double value, const NodeOptions& options) {
  const auto work = [&] { return graph::FillNode{value}; };
  return add_node(state_, "fill", work, {}, Tensors(&y, 1), options);
}

GraphNode Graph::add_fill(GraphTensor y, std::int64_t value, const NodeOptions& options) {
  const auto work = [&] { return graph::FillNode{value}; };
  return add_node(state_, "fill", work, {}, Tensors(&y, 1), options);
}

GraphNode Graph::call(NodeFunction function, Tensors reads, Tensors writes,
                      const NodeOptions& options) {
  if (!function) refuse("call: the function is empty");
  const auto work = [&] { return graph::FunctionNode{std::move(function)}; };
  return add_node(state_, "call", work, reads, writes, options);
}

GraphNode Graph::call(NodeFunction function, std::initializer_list<GraphTensor> reads,
                      std::initializer_list<GraphTensor> writes, const NodeOptions& options) {
  return call(std::move(function), Tensors(reads.begin(), reads.size()),
              Tensors(writes.begin(), writes.size()), options);
}

void Graph::remove(GraphNode node) {
  const InUse use(state_, "remove");
  const std::uint32_t index = state_->index_of(node, "remove");
  std::erase_if(state_->edges,
                [&](const graph::Edge& e) { return e.first == index || e.second == index; });
  state_->nodes[index].removed = true;
  state_->prepared.is_current = false;
}

void Graph::order(GraphNode before, GraphNode after) {
  const InUse use(state_, "order");
  const std::uint32_t first = state_->index_of(before, "order");
  const std::uint32_t second = state_->index_of(after, "order");
  if (first == second)
    refuse("order: " + graph::text_of(state_->nodes[first]) + " cannot be before itself");
  state_->edges.emplace_back(first, second);
  state_->prepared.is_current = false;
}

void Graph::find_order() {
  const InUse use(state_, "find_order");
  graph::find_order(*state_);
  state_->prepared.is_current = false;
}

std::vector<GraphNode> Graph::nodes() const {
  const InUse use(state_, "nodes");
  std::vector<GraphNode> nodes;
  for (const std::uint32_t n : graph::live_nodes(*state_)) nodes.push_back({state_->id, n});
  return nodes;
}

std::string Graph::describe(GraphNode node) const {
  const InUse use(state_, "describe");
  return graph::text_of(state_->nodes[state_->index_of(node, "describe")]);
}

GraphPart Graph::part(std::span<const GraphNode> sources, std::span<const GraphNode> destinations) {
  const InUse use(state_, "part");
  graph::PartRecord record;
  for (const GraphNode& n : sources) record.sources.push_back(state_->index_of(n, "part"));
  for (const GraphNode& n : destinations)
    record.destinations.push_back(state_->index_of(n, "part"));
  state_->parts.push_back(std::move(record));
  return {state_->id, static_cast<std::uint32_t>(state_->parts.size() - 1)};
}

GraphPart Graph::part(std::initializer_list<GraphNode> sources,
                      std::initializer_list<GraphNode> destinations) {
  return part(std::span(sources.begin(), sources.size()),
              std::span(destinations.begin(), destinations.size()));
}

std::vector<GraphNode> Graph::nodes(GraphPart part) const {
  const InUse use(state_, "nodes");
  std::vector<GraphNode> nodes;
  for (const std::uint32_t n :
       graph::nodes_of(*state_, state_->parts[state_->index_of(part, "nodes")]))
    nodes.push_back({state_->id, n});
  return nodes;
}

ScheduleProblem Graph::schedule_problem() const {
  const InUse use(state_, "schedule_problem");
  return graph::problem_of(*state_);
}

}  // namespace mote
