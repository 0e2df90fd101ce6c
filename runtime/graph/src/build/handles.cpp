// SPDX-License-Identifier: Apache-2.0
// Handles, texts, and the rule that one call at a time uses a graph.
#include <algorithm>
#include <atomic>

#include "state.h"

namespace mote::graph {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::string quoted(const std::string& name) {
  return name.empty() ? std::string() : " '" + name + "'";
}

}  // namespace

void refuse(const std::string& what, mote_status status) {
  throw StatusError(status, "graph: " + what);
}

const char* kind_of(const NodeRecord& node) {
  if (const auto* work = std::get_if<CommandNode>(&node.work))
    return work->command->definition().name;
  if (std::holds_alternative<CopyNode>(node.work)) return "copy";
  if (const ControlWork* work = control_of(node)) return work->is_loop ? "while" : "case..of";
  return std::holds_alternative<FillNode>(node.work) ? "fill" : "function";
}

std::string text_of(const NodeRecord& node) {
  return "node " + std::to_string(node.index) + quoted(node.options.name) + " (" + kind_of(node) +
         ")";
}

Tensor make_tensor(const GraphForm& of, std::byte* data, const Tensor* owner) {
  const TensorForm& form = of.form;
  Tensor y = Tensor::over(data, form.dtype, form.shape, form.strides, form.device);
  if (owner == nullptr) return y;
  Tensor shared = *owner;
  DLTensor& to = shared.dl();
  const DLTensor& from = y.dl();
  for (int axis = 0; axis < kMaxAxes; ++axis) {
    to.shape[axis] = from.shape[axis];
    to.strides[axis] = from.strides[axis];
  }
  to.ndim = from.ndim;
  to.dtype = from.dtype;
  if (data != nullptr)
    to.byte_offset += static_cast<std::uint64_t>(data - static_cast<std::byte*>(owner->data()));
  return shared;
}

InUse::InUse(const std::unique_ptr<Graph::State>& state, const char* op)
    : state_(state ? *state
                   : throw StatusError(MOTE_INVALID, std::string("graph: ") + op +
                                                         ": it was moved to another one")) {
  if (state_.in_use.exchange(true, std::memory_order_acquire))
    refuse(std::string(op) +
           ": another call uses the graph, in another thread or around this one (each thread may "
           "run a copy)");
}

}  // namespace mote::graph

namespace mote {

using graph::refuse;

Graph::State::State() : id(graph::next_id()) {}
Graph::State::State(const State& other)
    : id(graph::next_id()),
      ancestors(other.ancestors),
      forms(other.forms),
      commands(other.commands),
      tensors(other.tensors),
      is_on_host(other.is_on_host),
      rare(other.rare),
      views(other.views),
      nodes(other.nodes),
      edges(other.edges),
      parts(other.parts),
      options(other.options),
      is_serial(other.is_serial) {
  ancestors.push_back({other.id, other.tensors.size(), other.nodes.size(), other.parts.size()});
}

namespace {

/// Returns the handle's index. `count` gives the number of things of an ancestor.
template <typename Handle>
std::uint32_t checked_index(const Graph::State& state, Handle handle, std::size_t own,
                            std::size_t graph::Ancestor::*count, const char* what, const char* op) {
  const auto name = [&] {
    return std::string(op) + ": " + what + " " + std::to_string(handle.index);
  };
  if (handle.graph == 0) refuse(std::string(op) + ": the " + what + " is a handle of no graph");
  std::size_t limit = own;
  if (handle.graph != state.id) {
    const auto ancestor = std::ranges::find(state.ancestors, handle.graph, &graph::Ancestor::id);
    if (ancestor == state.ancestors.end()) refuse(name() + " is of another graph");
    limit = (*ancestor).*count;
    if (handle.index >= limit) refuse(name() + " is of another graph, which this is a copy of");
  }
  if (handle.index >= limit)
    refuse(name() + " is not there, the graph has " + std::to_string(limit));
  return handle.index;
}

}  // namespace

std::uint32_t Graph::State::index_of(GraphTensor tensor, const char* op) const {
  return checked_index(*this, tensor, tensors.size(), &graph::Ancestor::tensors, "tensor", op);
}

std::uint32_t Graph::State::index_of(GraphNode node, const char* op) const {
  const std::uint32_t index =
      checked_index(*this, node, nodes.size(), &graph::Ancestor::nodes, "node", op);
  if (nodes[index].removed)
    refuse(std::string(op) + ": " + graph::text_of(nodes[index]) + " was removed");
  return index;
}

std::uint32_t Graph::State::index_of(GraphPart part, const char* op) const {
  return checked_index(*this, part, parts.size(), &graph::Ancestor::parts, "part", op);
}

std::string Graph::State::text_of_tensor(std::uint32_t index) const {
  const graph::TensorRecord& t = tensors[index];
  const std::string name = t.name.empty() ? "tensor " + std::to_string(index) : "'" + t.name + "'";
  return name + " " + mote::describe(tensor_at(index));
}

Tensor Graph::State::tensor_at(std::uint32_t index) const {
  const graph::TensorRecord& t = tensors[index];
  return graph::make_tensor(*t.form, t.data, t.owner.get());
}

}  // namespace mote
