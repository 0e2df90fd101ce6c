// SPDX-License-Identifier: Apache-2.0
// Adds loops, branches and choices to a graph: checks what they name, and finds which tensors of
// the graph around a sub-graph reads and writes.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "state.h"

namespace mote {

using graph::ControlWork;
using graph::InUse;
using graph::kNone;
using graph::refuse;
using graph::TensorKind;
using graph::TensorRecord;

namespace {

bool is_decision(const TensorForm& form) {
  return !is_real(form.dtype) && form.element_count() == 1;
}

std::uint32_t decision(const Graph::State& state, GraphTensor tensor, const char* op,
                       const char* what) {
  const std::uint32_t index = state.index_of(tensor, op);
  if (!is_decision(state.tensors[index].form->form))
    refuse(std::string(op) + ": the " + what +
           " must be a bool or an integer of one element, got " + state.text_of_tensor(index));
  return index;
}

std::vector<std::uint32_t> indices(const Graph::State& state, std::span<const GraphTensor> tensors,
                                   const char* op) {
  std::vector<std::uint32_t> list;
  for (const GraphTensor& t : tensors) list.push_back(state.index_of(t, op));
  return list;
}

/// Returns the sub-graph, whose placeholders it links to tensors of the graph around.
graph::SubGraph linked(Graph::State& state, const Graph& sub, std::span<const OuterTensor> tensors,
                       const char* op) {
  const Graph::State& inside = sub.state();
  graph::SubGraph made{.state = nullptr, .links = {}};
  std::vector<bool> is_linked(inside.tensors.size());
  for (const OuterTensor& t : tensors) {
    const graph::Link link{state.index_of(t.outer, op), inside.index_of(t.inner, op)};
    const TensorRecord& inner = inside.tensors[link.inner];
    const auto what = [&] { return std::string(op) + ": " + inside.text_of_tensor(link.inner); };
    if (inner.kind != TensorKind::placeholder)
      refuse(what() + " is no placeholder of the sub-graph");
    if (inner.form->form != state.tensors[link.outer].form->form)
      refuse(what() + " stands for " + state.text_of_tensor(link.outer) +
             ", which has another form");
    if (is_linked[link.inner]) refuse(what() + " stands for two tensors");
    is_linked[link.inner] = true;
    made.links.push_back(link);
  }
  for (std::uint32_t t = 0; t < inside.tensors.size(); ++t) {
    const TensorRecord& inner = inside.tensors[t];
    if (inner.kind == TensorKind::placeholder && !is_linked[t] && !inner.has_memory)
      refuse(std::string(op) + ": the placeholder " + inside.text_of_tensor(t) +
             " of the sub-graph stands for no tensor");
  }
  return made;
}

std::vector<graph::MoveRecord> moves_of(const Graph::State& state,
                                        std::span<const PointerMove> moves, const char* op) {
  std::vector<graph::MoveRecord> list;
  for (const PointerMove& move : moves)
    list.push_back({move.pointer, state.index_of(move.tensor, op)});
  return list;
}

std::vector<graph::TakeRecord> takes_of(const Graph::State& state,
                                        std::span<const RegionTake> takes, const char* op) {
  std::vector<graph::TakeRecord> list;
  for (const RegionTake& take : takes) {
    list.push_back({take.pointer, indices(state, take.regions, op), take.held, take.begin});
    for (const std::uint32_t region : list.back().regions)
      if (const TensorForm& form = state.tensors[region].form->form;
          form.dtype != DType::u8 || form.shape.size() != 1)
        refuse(std::string(op) + ": a region must be u8[n], got " + state.text_of_tensor(region));
  }
  return list;
}

/// The tensors of a graph around that sub-graphs read and write, each once.
class Operands {
 public:
  void read(std::uint32_t outer) { add(reads_, outer); }
  void write(std::uint32_t outer) { add(writes_, outer); }
  /// Adds those of a sub-graph.
  void add_sub(const Graph::State& sub, const graph::SubGraph& links, const ControlWork& work) {
    std::vector<std::uint8_t> used(sub.tensors.size());
    const auto use = [&](std::uint32_t t, std::uint8_t how) {
      if (t == kNone) return;
      graph::each_memory(sub, t,
                         [&](std::uint32_t memory) { used[sub.tensors[memory].root] |= how; });
    };
    for (const graph::NodeRecord& node : sub.nodes)
      if (!node.removed)
        graph::each_operand(node, [&](std::uint32_t t, bool writes) { use(t, writes ? 2 : 1); });
    if (work.is_loop) {
      use(work.tensor, 1);
      for (const std::uint32_t t : work.reads) use(t, 1);
      use(work.counter, 2);
    }
    for (const graph::Link& link : links.links) {
      if ((used[link.inner] & 1U) != 0) read(link.outer);
      if ((used[link.inner] & 2U) != 0) write(link.outer);
    }
  }
  const std::vector<std::uint32_t>& reads() const { return reads_; }
  const std::vector<std::uint32_t>& writes() const { return writes_; }

 private:
  static void add(std::vector<std::uint32_t>& list, std::uint32_t t) {
    if (std::ranges::find(list, t) == list.end()) list.push_back(t);
  }
  std::vector<std::uint32_t> reads_, writes_;
};

GraphNode add_control(Graph::State& state, ControlWork work, const Operands& operands,
                      const NodeOptions& options) {
  if (state.nodes.size() >= kNone) refuse("add: it has too many nodes");
  graph::NodeRecord node{.work = {},
                         .operands = operands.reads(),
                         .input_count = static_cast<std::uint32_t>(operands.reads().size()),
                         .index = static_cast<std::uint32_t>(state.nodes.size()),
                         .options = options};
  for (const std::uint32_t y : operands.writes()) node.operands.push_back(y);
  node.work = graph::ControlNode{std::make_shared<const ControlWork>(std::move(work))};
  for (const std::uint32_t y : node.outputs())
    graph::each_memory(state, y, [&](std::uint32_t memory) {
      if (state.root_of(memory).kind == TensorKind::constant)
        refuse(graph::text_of(node) + " writes the constant " + state.text_of_tensor(memory));
    });
  state.nodes.push_back(std::move(node));
  state.rare.note(state.nodes.back().work);
  state.prepared.is_current = false;
  return {state.id, state.nodes.back().index};
}

void check_one(bool has_tensor, bool has_function, const char* op, const char* what) {
  if (has_tensor == has_function)
    refuse(std::string(op) + ": it needs " + what + (has_tensor ? ", got both" : ", got neither"));
}

/// True if a tensor that is written may be in the condition's memory. Two choices of the loop take
/// turns together, so that they may be in one memory only at different times.
bool meet(const Graph::State& inside, std::uint32_t condition, std::uint32_t written) {
  const std::array<std::uint32_t, 2> roots = {inside.tensors[condition].root,
                                              inside.tensors[written].root};
  std::array<const graph::ChoiceRecord*, 2> choices = {};
  const auto has_pointer = [&](std::uint32_t root) {
    return inside.tensors[root].choice != nullptr && inside.tensors[root].choice->pointer != 0;
  };
  // A node that writes where a pointer shows has a region that no other pointer shows.
  if (has_pointer(roots[0]) && has_pointer(roots[1])) return roots[0] == roots[1];
  for (std::size_t k = 0; k < 2; ++k) {
    choices[k] = inside.tensors[roots[k]].choice.get();
    if (choices[k] != nullptr &&
        (choices[k]->by != kNone || choices[k]->clock != 0 || choices[k]->pointer != 0))
      choices[k] = nullptr;
  }
  const auto share = [&](std::uint32_t a, std::uint32_t b) {
    bool found = false;
    graph::each_memory(inside, a, [&](std::uint32_t x) {
      graph::each_memory(inside, b, [&](std::uint32_t y) {
        found = found || inside.tensors[x].root == inside.tensors[y].root;
      });
    });
    return found;
  };
  std::size_t turns = 1, first = 0;
  for (const graph::ChoiceRecord* choice : choices) {
    if (choice == nullptr) continue;
    first = std::max(first, choice->first.size());
    turns *= std::max<std::size_t>(1, choice->cycle.size());
  }
  constexpr std::size_t kMaxTurns = 4096;
  if (turns > kMaxTurns) return share(roots[0], roots[1]);
  for (std::size_t turn = 0; turn < first + turns; ++turn) {
    std::array<std::uint32_t, 2> at = roots;
    for (std::size_t k = 0; k < 2; ++k)
      if (choices[k] != nullptr) at[k] = choices[k]->at(static_cast<std::int64_t>(turn));
    if (at[0] != kNone && at[1] != kNone && share(at[0], at[1])) return true;
  }
  return false;
}

/// Lists the nodes after which it is known where a tensor is: those by which it, and what it is
/// chosen among, is chosen.
void add_choosers(const Graph::State& inside, std::uint32_t tensor,
                  std::vector<std::uint32_t>& nodes) {
  std::vector<bool> is_reached(inside.tensors.size());
  std::vector<std::uint32_t> open;
  const auto reach = [&](std::uint32_t t) {
    const std::uint32_t root = inside.tensors[t].root;
    if (inside.tensors[root].choice != nullptr && !is_reached[root]) open.push_back(root);
    is_reached[root] = true;
  };
  for (reach(tensor); !open.empty();) {
    const graph::ChoiceRecord& choice = *inside.tensors[open.back()].choice;
    open.pop_back();
    if (choice.by != kNone && std::ranges::find(nodes, choice.by) == nodes.end())
      nodes.push_back(choice.by);
    for (const auto* list : {&choice.first, &choice.cycle})
      for (const std::uint32_t among : *list) reach(among);
  }
}

/// Adds the nodes that write the condition, or choose its memory, to those that are evaluated.
void evaluate_condition(const Graph::State& inside, ControlWork& work) {
  if (work.tensor == kNone) return;
  add_choosers(inside, work.tensor, work.evaluated);
  for (const graph::NodeRecord& node : inside.nodes) {
    bool writes_it = false;
    if (!node.removed)
      graph::each_operand(node, [&](std::uint32_t t, bool writes) {
        writes_it = writes_it || (writes && meet(inside, work.tensor, t));
      });
    if (writes_it && std::ranges::find(work.evaluated, node.index) == work.evaluated.end())
      work.evaluated.push_back(node.index);
  }
}

}  // namespace

GraphNode Graph::add_while(Graph body, const WhileLoop& loop, std::span<const OuterTensor> tensors,
                           const NodeOptions& options) {
  constexpr const char* kOp = "add_while";
  const InUse use(state_, kOp);
  check_one(loop.condition != GraphTensor{}, loop.function != nullptr, kOp,
            "a condition or a function");
  if (loop.limit < 0)
    refuse("add_while: the limit must be at least 0, got " + std::to_string(loop.limit));
  ControlWork work;
  work.subs.push_back(linked(*state_, body, tensors, kOp));
  const Graph::State& inside = body.state();
  if (loop.condition != GraphTensor{})
    work.tensor = decision(inside, loop.condition, kOp, "condition");
  if (loop.function)
    work.function = [ask = loop.function](LoopCounters counters, std::span<const Tensor> reads) {
      return std::int64_t{ask(counters, reads) ? 1 : 0};
    };
  work.reads = indices(inside, loop.reads, kOp);
  for (const GraphNode& node : loop.evaluated) work.evaluated.push_back(inside.index_of(node, kOp));
  evaluate_condition(inside, work);
  work.limit = loop.limit;
  work.starts = loop.starts;
  work.counts = {loop.counts};
  work.takes = {takes_of(inside, loop.takes, kOp)};
  work.moves = {moves_of(inside, loop.carries, kOp)};
  work.others = moves_of(inside, loop.begins, kOp);
  if (loop.counter != GraphTensor{}) {
    work.counter = inside.index_of(loop.counter, kOp);
    const TensorForm& form = inside.tensors[work.counter].form->form;
    if (form.dtype != DType::i64 || form.shape.size() != 0 || !form.is_on_host())
      refuse("add_while: the counter must be i64[] on the host, got " +
             inside.text_of_tensor(work.counter));
  }
  Operands operands;
  operands.add_sub(inside, work.subs[0], work);
  const GraphNode node = add_control(*state_, work, operands, options);
  work.subs[0].state = graph::adopt(*state_, std::move(body.state_));
  state_->nodes.back().work =
      graph::ControlNode{std::make_shared<const ControlWork>(std::move(work))};
  return node;
}

GraphNode Graph::add_while(Graph body, const WhileLoop& loop,
                           std::initializer_list<OuterTensor> tensors, const NodeOptions& options) {
  return add_while(std::move(body), loop, std::span(tensors.begin(), tensors.size()), options);
}

GraphNode Graph::add_case_of(std::vector<GraphBranch> branches, const CaseOf& choice,
                             const NodeOptions& options) {
  constexpr const char* kOp = "add_case_of";
  const InUse use(state_, kOp);
  check_one(choice.index != GraphTensor{}, choice.function != nullptr, kOp,
            "an index or a function");
  if (branches.empty()) refuse("add_case_of: it has no branches");
  ControlWork work;
  work.is_loop = false;
  Operands operands;
  if (choice.index != GraphTensor{}) {
    work.tensor = decision(*state_, choice.index, kOp, "index");
    operands.read(work.tensor);
  }
  work.function = choice.function;
  work.must_run = choice.must_run;
  work.counts = choice.counts;
  work.others = moves_of(*state_, choice.without, kOp);
  work.reads = indices(*state_, choice.reads, kOp);
  for (const std::uint32_t t : work.reads) operands.read(t);
  for (const GraphBranch& branch : branches) {
    work.subs.push_back(linked(*state_, branch.graph, branch.tensors, kOp));
    operands.add_sub(branch.graph.state(), work.subs.back(), work);
    work.takes.push_back(takes_of(branch.graph.state(), branch.takes, kOp));
    work.moves.push_back(moves_of(branch.graph.state(), branch.moves, kOp));
  }
  const GraphNode node = add_control(*state_, work, operands, options);
  for (std::size_t k = 0; k < branches.size(); ++k)
    work.subs[k].state = graph::adopt(*state_, std::move(branches[k].graph.state_));
  state_->nodes.back().work =
      graph::ControlNode{std::make_shared<const ControlWork>(std::move(work))};
  return node;
}

GraphTensor Graph::choice(const TensorChoice& choice, std::string_view name) {
  const InUse use(state_, "choice");
  graph::ChoiceRecord record;
  record.first = indices(*state_, choice.first, "choice");
  record.cycle = indices(*state_, choice.cycle, "choice");
  record.clock = choice.clock;
  record.pointer = choice.pointer;
  std::vector<std::uint32_t> all = record.first;
  all.insert(all.end(), record.cycle.begin(), record.cycle.end());
  if (all.empty()) refuse("choice: '" + std::string(name) + "' is among no tensors");
  if (choice.by != GraphNode{}) {
    record.by = state_->index_of(choice.by, "choice");
    if (graph::control_of(state_->nodes[record.by]) == nullptr)
      refuse("choice: " + graph::text_of(state_->nodes[record.by]) + " is no loop and no case..of");
  }
  const TensorRecord& first = state_->tensors[all.front()];
  for (const std::uint32_t t : all)
    if (choice.pointer == 0 && state_->tensors[t].form->form != first.form->form)
      refuse("choice: " + state_->text_of_tensor(all.front()) + " and " +
             state_->text_of_tensor(t) + " have different forms");
  TensorRecord made;
  made.kind = TensorKind::choice;
  made.form = first.form;
  made.has_memory = first.has_memory;
  made.data = first.data;
  made.owner = first.owner;
  made.root = static_cast<std::uint32_t>(state_->tensors.size());
  made.choice = std::make_shared<const graph::ChoiceRecord>(std::move(record));
  made.name = name;
  state_->tensors.push_back(std::move(made));
  state_->rare.choices = true;
  return {state_->id, static_cast<std::uint32_t>(state_->tensors.size() - 1)};
}

}  // namespace mote
