// SPDX-License-Identifier: Apache-2.0
// The contents of a graph: its tensors, nodes and edges, and what was prepared of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mote/graph/graph.h"
#include "mote/graph/short_list.h"
#include "mote/runtime/status.h"
#include "run/prepared_graph.h"
#include "shared_values.h"

namespace mote::graph {

inline constexpr std::uint32_t kNone = UINT32_MAX;

enum class TensorKind : std::uint8_t { data, constant, intermediate, placeholder, view, choice };

/// TensorChoice, by index.
struct ChoiceRecord {
  /// Returns the tensor at that position; kNone: there is none.
  std::uint32_t at(std::int64_t position) const {
    const auto k = static_cast<std::size_t>(position);
    if (k < first.size()) return first[k];
    return cycle.empty() ? kNone : cycle[(k - first.size()) % cycle.size()];
  }

  std::vector<std::uint32_t> first, cycle;
  std::uint32_t by = kNone;   ///< the node; kNone: the loop around
  std::uint64_t clock = 0;    ///< not 0: the position is what it shows
  std::uint64_t pointer = 0;  ///< not 0: the memory is what it shows
};

struct TensorRecord {
  TensorKind kind = TensorKind::data;
  bool has_memory = false;
  std::uint32_t root = 0;   ///< the tensor that this is a view of, or itself
  std::int64_t offset = 0;  ///< bytes from the root's first element
  std::shared_ptr<const GraphForm> form;
  std::byte* data = nullptr;      ///< the first element; null if it has no memory
  std::shared_ptr<Tensor> owner;  ///< shares the memory; null if the caller keeps it
  std::string name;
  std::shared_ptr<const ChoiceRecord> choice;  ///< of a choice

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
struct Link {
  std::uint32_t outer;  ///< a tensor of the graph around
  std::uint32_t inner;  ///< the placeholder that has its memory
};

/// The body of a loop, or a branch. The outermost graph owns its state.
struct SubGraph {
  Graph::State* state;
  std::vector<Link> links;
};

/// PointerMove and RegionTake, by index.
struct MoveRecord {
  std::uint64_t pointer;
  std::uint32_t tensor;
};
struct TakeRecord {
  std::uint64_t pointer;
  std::vector<std::uint32_t> regions;
  std::vector<std::uint64_t> held;
  std::int64_t begin;
};

/// A loop, or a case..of.
struct ControlWork {
  bool is_loop = true;
  std::vector<SubGraph> subs;    ///< one body, or the branches
  std::uint32_t tensor = kNone;  ///< the condition, of the body, or the index, of the graph around
  BranchFunction function;       ///< a condition is 1 or 0
  std::vector<std::uint32_t> reads;
  std::vector<std::uint32_t> evaluated;
  std::uint32_t counter = kNone;
  std::int64_t limit = kNoLimit;
  bool must_run = false;                           ///< a branch
  std::vector<std::uint64_t> starts;               ///< clocks
  std::vector<std::vector<std::uint64_t>> counts;  ///< clocks, by sub-graph; fewer: none
  std::vector<std::vector<TakeRecord>> takes;      ///< by sub-graph
  std::vector<std::vector<MoveRecord>> moves;      ///< by sub-graph: at its end
  /// When a loop begins, of its body; if no branch runs, of the graph around.
  std::vector<MoveRecord> others;
};
struct ControlNode {
  std::shared_ptr<const ControlWork> work;
};
using NodeWork = std::variant<CommandNode, CopyNode, FillNode, FunctionNode, ControlNode>;

/// Nothing of it changes once it is added, except whether it is removed and its weight.
struct NodeRecord {
  using Tensors = std::span<const std::uint32_t>;
  Tensors inputs() const { return Tensors(operands).first(input_count); }
  Tensors outputs() const { return Tensors(operands).subspan(input_count); }

  NodeWork work;
  ShortList operands;  ///< tensors, inputs first; kNone: left out
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

/// True if a graph has, or had, some of these: most have none, and need no look at each tensor and
/// node.
struct RareContents {
  bool choices = false, placeholders = false, intermediates = false;
  bool controls = false, functions = false;
  bool weights = false;  ///< of nodes

  void note(TensorKind kind) {
    choices = choices || kind == TensorKind::choice;
    placeholders = placeholders || kind == TensorKind::placeholder;
    intermediates = intermediates || kind == TensorKind::intermediate;
  }
  void note(const NodeWork& work) {
    controls = controls || std::holds_alternative<ControlNode>(work);
    functions = functions || std::holds_alternative<FunctionNode>(work);
  }
};

using Edge = std::pair<std::uint32_t, std::uint32_t>;

/// Throws StatusError "graph: what".
[[noreturn]] void refuse(const std::string& what, mote_status status = MOTE_INVALID);

inline const ControlWork* control_of(const NodeRecord& node) {
  const auto* control = std::get_if<ControlNode>(&node.work);
  return control == nullptr ? nullptr : control->work.get();
}

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
  State(const State& other);  ///< without what was prepared, and without sub-graphs
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
  bool is_on_host = true;  ///< all tensors are
  graph::RareContents rare;
  std::map<std::uint32_t, std::vector<std::uint32_t>> views;  ///< of placeholders
  std::deque<graph::NodeRecord> nodes;                        ///< work under way refers to them
  std::vector<graph::Edge> edges;                             ///< from first to second
  std::vector<graph::PartRecord> parts = std::vector<graph::PartRecord>(1);  ///< the first: all
  std::uint64_t binding = 0;           ///< counts the calls of bind()
  std::uint64_t ran_with = 0;          ///< `binding` of the last run of all nodes
  std::vector<std::uint32_t> rebound;  ///< placeholders that nodes do not know of yet
  /// Memory that runs under way may still use.
  std::vector<std::shared_ptr<const Tensor>> replaced;

  GraphOptions options;
  graph::PreparedGraph prepared;
  bool is_serial = false;  ///< one stream of each device, whatever the options say
  GraphTrace* trace = nullptr;
  std::vector<std::string> untuned;  ///< commands that the last autotune has left out
  /// The states of all bodies and branches at any depth, of the outermost graph.
  std::vector<std::unique_ptr<State>> subs;
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

/// Calls use(tensor) for each tensor with memory of its own that a choice, or a view of one, may
/// be.
void each_chosen(const Graph::State& state, std::uint32_t tensor,
                 const std::function<void(std::uint32_t)>& use);
/// Calls use(tensor) for each tensor with memory of its own that a tensor may be: itself, or, of a
/// choice or a view of one, those that are chosen among.
template <typename Use>
void each_memory(const Graph::State& state, std::uint32_t tensor, const Use& use) {
  if (state.root_of(tensor).kind == TensorKind::choice)
    each_chosen(state, tensor, use);
  else
    use(tensor);
}
/// A body or a branch, and where it is.
struct SubLocation {
  Graph::State* state;
  Graph::State* around;
  std::uint32_t node;  ///< of the graph around
  const SubGraph* sub;
};
/// Lists the sub-graphs of the live nodes at any depth, each after the graph around it.
std::vector<SubLocation> sub_graphs_of(Graph::State& state);
/// Copies the sub-graphs of the one state to the other, which is a copy of it else.
void copy_sub_graphs(Graph::State& to, const Graph::State& from);
/// Takes over the states of a graph that becomes a sub-graph.
Graph::State* adopt(Graph::State& state, std::unique_ptr<Graph::State> sub);

/// Returns the nodes that were not removed, in the order of addition.
std::vector<std::uint32_t> live_nodes(const Graph::State& state);
/// Returns the problem of the live nodes and the edges between them.
ScheduleProblem problem_of(const Graph::State& state, const std::vector<std::uint32_t>& live);
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
