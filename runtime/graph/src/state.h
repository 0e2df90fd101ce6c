// SPDX-License-Identifier: Apache-2.0
// The contents of a graph: its tensors, nodes and edges, and what was prepared of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mote/graph/graph.h"
#include "mote/runtime/status.h"
#include "run/prepared_graph.h"
#include "shared_values.h"

namespace mote::graph {

inline constexpr std::uint32_t kNone = UINT32_MAX;

enum class TensorKind : std::uint8_t { data, constant, intermediate, placeholder, view };

struct TensorRecord {
  TensorKind kind = TensorKind::data;
  bool has_memory = false;
  std::uint32_t root = 0;   ///< the tensor that this is a view of, or itself
  std::int64_t offset = 0;  ///< bytes from the root's first element
  std::shared_ptr<const GraphForm> form;
  std::byte* data = nullptr;      ///< the first element; null if it has no memory
  std::shared_ptr<Tensor> owner;  ///< shares the memory; null if the caller keeps it
  std::string name;

  ViewPlaces locations() const {
    return form->locations_from(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(data)));
  }
};

struct CommandNode {
  std::shared_ptr<const Command> command;
};
struct CopyNode {};
struct FillNode {
  std::variant<double, std::int64_t> value;
};
struct FunctionNode {
  NodeFunction function;
};
using NodeWork = std::variant<CommandNode, CopyNode, FillNode, FunctionNode>;

/// Nothing of it changes once it is added, except whether it is removed and its weight.
struct NodeRecord {
  using Tensors = std::span<const std::uint32_t>;
  Tensors inputs() const { return Tensors(operands).first(input_count); }
  Tensors outputs() const { return Tensors(operands).subspan(input_count); }

  NodeWork work;
  std::vector<std::uint32_t> operands;  ///< tensors, inputs first; kNone: left out
  std::uint32_t input_count = 0;
  std::uint32_t index = 0;
  NodeOptions options;
  bool removed = false;
  double weight = 0;  ///< nanoseconds; 0: not measured
};

struct PartRecord {
  std::vector<std::uint32_t> sources, destinations;
};

/// A graph that this one is a copy of, and how many of its tensors, nodes and parts were copied.
struct Ancestor {
  std::uint64_t id;
  std::size_t tensors, nodes, parts;
};

using Edge = std::pair<std::uint32_t, std::uint32_t>;

/// Throws StatusError "graph: what".
[[noreturn]] void refuse(const std::string& what, mote_status status = MOTE_INVALID);

std::string text_of(const NodeRecord& node);
const char* kind_of(const NodeRecord& node);  ///< "matmul", "copy", "fill", "function"
/// Returns a tensor of that form at that address. It shares the memory with `owner`, unless that is
/// null.
Tensor make_tensor(const GraphForm& form, std::byte* data, const Tensor* owner);

/// Calls use(tensor index, is it written) for each tensor of a node that is not left out.
template <typename Use>
void each_operand(const NodeRecord& node, const Use& use) {
  for (const std::uint32_t t : node.inputs())
    if (t != kNone) use(t, false);
  for (const std::uint32_t t : node.outputs())
    if (t != kNone) use(t, true);
}

}  // namespace mote::graph

namespace mote {

struct Graph::State {
  State();
  State(const State& other);  ///< without what was prepared
  State& operator=(const State&) = delete;
  ~State();

  std::uint32_t index_of(GraphTensor tensor, const char* op) const;
  std::uint32_t index_of(GraphNode node, const char* op) const;
  std::uint32_t index_of(GraphPart part, const char* op) const;
  std::string text_of_tensor(std::uint32_t index) const;
  Tensor tensor_at(std::uint32_t index) const;  ///< without data if it has no memory
  const graph::TensorRecord& root_of(std::uint32_t tensor) const {
    return tensors[tensors[tensor].root];
  }

  std::uint64_t id;
  std::vector<graph::Ancestor> ancestors;
  graph::SharedValues<graph::GraphForm, TensorForm> forms;
  graph::SharedValues<Command> commands;
  std::deque<graph::TensorRecord> tensors;
  bool is_on_host = true;                                     ///< all tensors are
  std::map<std::uint32_t, std::vector<std::uint32_t>> views;  ///< of placeholders
  std::deque<graph::NodeRecord> nodes;                        ///< work under way refers to them
  std::vector<graph::Edge> edges;                             ///< from first to second
  std::vector<graph::PartRecord> parts = std::vector<graph::PartRecord>(1);  ///< the first: all
  std::uint64_t binding = 0;           ///< counts the calls of bind()
  std::vector<std::uint32_t> rebound;  ///< placeholders that nodes do not know of yet
  /// Memory that runs under way may still use.
  std::vector<std::shared_ptr<const Tensor>> replaced;

  GraphOptions options;
  graph::PreparedGraph prepared;
  GraphTrace* trace = nullptr;
  std::atomic<bool> in_use{false};
};

namespace graph {

/// Takes a graph for one call. Throws StatusError if another call has it.
class InUse {
 public:
  InUse(const std::unique_ptr<Graph::State>& state, const char* op);
  ~InUse() { state_.in_use.store(false, std::memory_order_release); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Graph::State& state_;
};

/// Returns the nodes that were not removed, in the order of addition.
std::vector<std::uint32_t> live_nodes(const Graph::State& state);
/// Returns the problem of nodes() and the edges between them.
ScheduleProblem problem_of(const Graph::State& state);
/// Returns the live nodes of a part, in the order of addition.
std::vector<std::uint32_t> nodes_of(const Graph::State& state, const PartRecord& part);
/// True if there is a path from a node of one list to a node of the other, or they share a node.
bool are_related(const Graph::State& state, const std::vector<std::uint32_t>& a,
                 const std::vector<std::uint32_t>& b);
/// Adds the edges that follow from memory.
void find_order(Graph::State& state);
/// Returns the device that the node's work is given to: that of its tensors; none for the host, for
/// a device that no plug-in offers, and for functions.
std::optional<Device> device_of(const Graph::State& state, const NodeRecord& node);

}  // namespace graph
}  // namespace mote
