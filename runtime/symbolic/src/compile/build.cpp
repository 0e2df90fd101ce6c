// SPDX-License-Identifier: Apache-2.0
#include "compile/build.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "compile/pointed_layout.h"
#include "device_index.h"
#include "fail.h"
#include "mote/base/dlpack.h"
#include "mote/memory/plan.h"
#include "mote/runtime/device.h"
#include "mote/runtime/error_under_way.h"
#include "mote/symbolic/control.h"

namespace mote {
namespace {

/// Runs the function; what it throws names it.
void run_named(const NamedFunction& function, std::span<const Tensor> reads,
               std::span<const Tensor> writes) {
  try {
    function.run(reads, writes);
  } catch (...) {
    const auto [status, what] = error_under_way();
    throw StatusError(status, function.name + ": " + what);
  }
}

class GraphBuilder {
 public:
  /// `memory`: where the plans' bytes are, by device of the layout.
  GraphBuilder(const SymbolicGraph& symbolic, const GraphLayout& layout,
               std::vector<std::byte*> memory, bool is_nowhere)
      : symbolic_(symbolic),
        layout_(layout),
        steps_(layout.steps),
        blocks_(layout.blocks),
        memory_(std::move(memory)),
        is_nowhere_(is_nowhere) {
    built_.tensors.resize(symbolic.symbol_count());
  }

  BuiltGraph build(std::span<const std::uint32_t> kept) {
    for (const RunStep& step : steps_.steps) add(step);
    for (const std::uint32_t symbol : kept) tensor(symbol);
    return std::move(built_);
  }

  Graph& graph() { return built_.graph; }
  /// Makes the symbol that tensor.
  void give(std::uint32_t symbol, GraphTensor tensor) { built_.tensors[symbol] = tensor; }
  /// Makes a slot of a loop inside the memory of one of the loop around.
  void lend(std::uint32_t node, std::uint32_t slot, const Tensor& memory) {
    lent_.insert_or_assign({node, slot}, memory);
  }
  /// Adds the steps of a body or a branch, in their order.
  void add_steps() {
    for (const RunStep& step : steps_.steps) add(step);
    const std::vector<GraphNode> nodes = built_.graph.nodes();
    const ScheduleProblem& p = steps_.problem;
    for (std::size_t k = 0; k < nodes.size(); ++k)
      for (std::size_t e = p.begin[k]; e < p.begin[k + 1]; ++e)
        built_.graph.order(nodes[p.predecessors[e]], nodes[k]);
  }
  GraphTensor tensor_of(std::uint32_t symbol) { return tensor(symbol); }

 private:
  std::string name_of(std::uint32_t symbol) const { return symbolic_.text(symbolic_.at(symbol)); }

  /// Returns the tensor of a symbol, which is made when it is first asked for.
  GraphTensor tensor(std::uint32_t symbol) {
    if (symbol == kNoIndex) return {};
    GraphTensor& made = built_.tensors[symbol];
    if (made != GraphTensor{}) return made;
    const SymbolInfo& info = symbolic_.symbols()[symbol];
    if (info.root == symbol) return made = root(symbol);
    const GraphTensor of = tensor(info.root);
    const auto size = static_cast<std::int64_t>(size_of(info.form->dtype));
    // A view without elements begins nowhere.
    const std::int64_t begin = element_count(info.form) == 0 ? 0 : info.offset * size;
    return built_.tensors[symbol] = built_.graph.view(of, begin, info.form, name_of(symbol));
  }

  GraphTensor root(std::uint32_t symbol) {
    const SymbolInfo& info = symbolic_.symbols()[symbol];
    const TensorForm& form = info.form;
    switch (blocks_.owner[symbol]) {
      case Owner::caller:
        return built_.graph.placeholder(form, name_of(symbol));
      case Owner::plan: {
        const std::uint32_t block = blocks_.block[symbol];
        if (block == kNoIndex)
          throw InternalError("symbol " + name_of(symbol) + " has no block of the plan");
        return built_.graph.tensor(in_block(block, form), name_of(symbol));
      }
      case Owner::chosen:
        throw InternalError("symbol " + name_of(symbol) + " is used before its loop or branch");
      case Owner::constant:
        break;
    }
    if (info.kind == SymbolOrigin::constant)
      return built_.graph.constant(symbolic_.value(symbolic_.at(symbol)), name_of(symbol));
    // Constants are only read, so that one address does for all.
    if (is_nowhere_) return built_.graph.constant(nowhere(form, memory_.size()), name_of(symbol));
    const std::optional<Device> device = Device::of(form.device);
    const Tensor zeros =
        device ? Tensor(form.dtype, form.shape, *device) : Tensor(form.dtype, form.shape);
    fill(zeros, 0);
    return built_.graph.constant(zeros, name_of(symbol));
  }

  std::byte* at(DLDevice device, std::uint32_t block) const {
    const std::uint32_t d = device_index(blocks_.devices, device);
    return memory_[d] + layout_.plans[d].offsets[block];
  }

  /// The tensor's lowest element is at the beginning of the block.
  Tensor in_block(std::uint32_t block, const TensorForm& form) const {
    return Tensor::over(at(form.device, block) + bytes_below(form), form.dtype, form.shape,
                        form.strides, form.device);
  }

  /// Makes it the list of the symbols' tensors.
  void list_tensors(std::span<const std::uint32_t> symbols, std::vector<GraphTensor>& list) {
    list.clear();
    for (const std::uint32_t symbol : symbols) list.push_back(tensor(symbol));
  }

  void add(const RunStep& step) {
    switch (step.kind) {
      case RunStepKind::zeros:
        built_.graph.fill(tensor(step.index), 0, {.name = "zeros of " + name_of(step.index)});
        return;
      case RunStepKind::poison:
      case RunStepKind::death:
        add_poison(step.index);
        return;
      case RunStepKind::node:
        add_node(step.index);
        return;
    }
  }

  void add_poison(std::uint32_t symbol) {
    const auto poison = [](std::span<const Tensor>, std::span<const Tensor> writes) {
      const std::span<std::byte> memory = memory_of(writes[0].dl());
      if (writes[0].device().device_type == kDLCPU) {
        std::ranges::fill(memory, std::byte{0xFF});  // NaN in all reals
        return;
      }
      const Tensor bytes =
          Tensor::over(memory.data(), DType::u8, {static_cast<std::int64_t>(memory.size())}, {1},
                       writes[0].device());
      fill(bytes, 0xFF);
    };
    built_.graph.call(poison, {}, {tensor(symbol)}, {.name = "poison of " + name_of(symbol)});
  }

  void add_node(std::uint32_t index) {
    const NodeInfo& node = symbolic_.nodes()[index];
    std::vector<GraphTensor>& inputs = inputs_;
    std::vector<GraphTensor>& outputs = outputs_;
    list_tensors(node.inputs, inputs);
    outputs.clear();
    if (node.kind != NodeKind::control) list_tensors(node.outputs, outputs);
    NodeOptions options{.name = node.name};
    if (options.name.empty())
      for (const std::uint32_t output : node.outputs)
        if (output != kNoIndex && options.name.empty()) options.name = name_of(output);
    switch (node.kind) {
      case NodeKind::command:
        built_.graph.add(*node.command, inputs, outputs, options);
        return;
      case NodeKind::copy:
        built_.graph.copy(inputs[0], outputs[0], options);
        return;
      case NodeKind::fill:
        built_.graph.fill(outputs[0], node.value, options);
        return;
      case NodeKind::function:
        built_.graph.call(
            [function = node.function](std::span<const Tensor> reads,
                                       std::span<const Tensor> writes) {
              run_named(*function, reads, writes);
            },
            inputs, outputs, options);
        return;
      case NodeKind::control:
        return add_control(index, options);
    }
  }

  /// A body or a branch as a graph, and what it uses of this one.
  struct Inside {
    GraphBranch branch;
    GraphTensor condition, counter;
    std::vector<PointerMove> begins;
  };

  /// Returns the choice among tensors, or the one that is all of them.
  static GraphTensor chosen(Graph& graph, const TensorForm& form, const TensorChoice& choice,
                            const std::string& name) {
    if (choice.pointer != 0) return pointed_tensor(graph, form, choice, name);
    const auto is_first = [&](const GraphTensor& t) {
      return t == (choice.first.empty() ? choice.cycle : choice.first).front();
    };
    if (std::ranges::all_of(choice.first, is_first) && std::ranges::all_of(choice.cycle, is_first))
      return (choice.first.empty() ? choice.cycle : choice.first).front();
    return graph.choice(choice, name);
  }

  /// Returns the memory of a slot of a loop or a case..of.
  Tensor slot_memory(std::uint32_t node, std::size_t slot) const {
    const ControlLayout& control = layout_.controls.at(node);
    if (is_lent(control, slot)) return lent_.at({node, static_cast<std::uint32_t>(slot)});
    return in_block(control.slot_blocks[slot], control.slots[slot]);
  }

  Inside inside(std::uint32_t index, std::size_t g) {
    const NodeInfo& node = symbolic_.nodes()[index];
    const ControlLayout& control = layout_.controls.at(index);
    const SubLayout& sub = control.subs[g];
    std::vector<std::byte*> memory;
    for (const DeviceBlocks& on : sub.layout->blocks.devices) {
      const InnerArena& arena = control.arenas[device_index(control.arenas, on.device)];
      memory.push_back(at(on.device, arena.block));
    }
    GraphBuilder builder(sub.graph, *sub.layout, std::move(memory), is_nowhere_);
    Inside made;
    Graph& graph = builder.graph();
    std::vector<GraphTensor> slots;
    for (std::size_t k = 0; k < control.slots.size(); ++k)
      slots.push_back(graph.tensor(slot_memory(index, k)));
    for (const SubLayout::Lent& lent : sub.lent)
      builder.lend(lent.node, lent.inner, slot_memory(index, lent.slot));
    const std::vector<std::uint32_t> inputs = input_indices(sub.graph);
    const std::size_t first = first_input(node, g);
    std::vector<GraphTensor> given;  // the node's inputs of this graph
    for (std::size_t k = 0; k < input_count(*node.control, g); ++k) {
      const SymbolInfo& info = sub.graph.symbols()[inputs[k]];
      given.push_back(graph.placeholder(info.form, info.name));
      made.branch.tensors.push_back({tensor(node.inputs[first + k]), given.back()});
      builder.give(inputs[k], given.back());
    }
    const auto give_pointed = [&](const SubLayout::Root& root) {
      PointedRoot pointed = add_pointed_root(graph, sub.graph, root, slots);
      builder.give(root.symbol, pointed.tensor);
      made.branch.takes.push_back(std::move(pointed.take));
    };
    if (sub.counter)
      give_pointed(*sub.counter);
    else if (node.control->has_counter)
      builder.give(inputs.back(), graph.tensor(Tensor(DType::i64, AxisList{}), "counter"));
    if (node.control->has_counter) made.counter = builder.tensor_of(inputs.back());
    for (const SubLayout::Root& root : sub.roots) {
      if (root.pointer != 0) {
        give_pointed(root);
        continue;
      }
      TensorChoice choice;
      for (const std::uint32_t slot : root.slots) choice.cycle.push_back(slots[slot]);
      choice.clock = root.clock;
      builder.give(root.symbol, chosen(graph, sub.graph.symbols()[root.symbol].form, choice,
                                       sub.graph.text(sub.graph.at(root.symbol))));
    }
    if (node.control->is_loop) {
      const auto location = [&](const ResultLocation& at) {
        return part_of(graph, at,
                       at.kind == ResultLocation::Kind::constant ? builder.tensor_of(at.index)
                       : at.kind == ResultLocation::Kind::slot   ? slots[at.index]
                                                                 : given[at.index]);
      };
      for (std::size_t k = 0; k < control.results.size(); ++k) {
        const SymbolInfo& input = sub.graph.symbols()[inputs[k]];
        builder.give(inputs[k], chosen(graph, input.form, choice_of(control.results[k], location),
                                       input.name));
        if (const std::uint64_t pointer = control.results[k].pointer; pointer != 0)
          made.begins.push_back({pointer, given[k]});
      }
    }
    builder.add_steps();
    for (std::size_t k = 0; k < control.results.size(); ++k)
      if (const std::uint64_t pointer = control.results[k].pointer; pointer != 0)
        made.branch.moves.push_back({pointer, builder.tensor_of(sub.graph.output_indices()[k])});
    // An inner loop or branch may give it, whose result there is once it was added.
    if (node.control->is_loop)
      made.condition = builder.tensor_of(sub.graph.output_indices().back());
    graph.run_one_by_one();
    made.branch.graph = std::move(graph);
    return made;
  }

  static GraphTensor part_of(Graph& graph, const ResultLocation& at, GraphTensor whole) {
    if (!at.part) return whole;
    const TensorForm& form = at.part->form;
    const auto size = static_cast<std::int64_t>(size_of(form.dtype));
    const std::int64_t begin = element_count(form) == 0 ? 0 : at.part->offset * size;
    return graph.view(whole, begin, form, "part");
  }

  template <typename Location>
  static TensorChoice choice_of(const ResultLocations& locations, const Location& location) {
    TensorChoice choice;
    for (const ResultLocation& at : locations.first) choice.first.push_back(location(at));
    for (const ResultLocation& at : locations.cycle) choice.cycle.push_back(location(at));
    choice.clock = locations.clock;
    choice.pointer = locations.pointer;
    return choice;
  }

  void add_control(std::uint32_t index, const NodeOptions& options) {
    const NodeInfo& node = symbolic_.nodes()[index];
    const ControlLayout& control = layout_.controls.at(index);
    std::vector<Inside> graphs;
    for (std::size_t g = 0; g < control.subs.size(); ++g) graphs.push_back(inside(index, g));
    GraphNode made;
    if (node.control->is_loop) {
      made = built_.graph.add_while(std::move(graphs[0].branch.graph),
                                    {.condition = graphs[0].condition,
                                     .counter = graphs[0].counter,
                                     .limit = node.control->limit,
                                     .starts = control.starts,
                                     .counts = control.counts.at(0),
                                     .takes = std::move(graphs[0].branch.takes),
                                     .begins = std::move(graphs[0].begins),
                                     .carries = std::move(graphs[0].branch.moves)},
                                    graphs[0].branch.tensors, options);
    } else {
      std::vector<GraphBranch> branches;
      for (Inside& branch : graphs) branches.push_back(std::move(branch.branch));
      const auto is_left_out = [](std::uint32_t k) { return k == kNoIndex; };
      const bool must_run = std::any_of(
          node.inputs.begin() + 1,
          node.inputs.begin() + 1 + static_cast<std::ptrdiff_t>(node.outputs.size()), is_left_out);
      std::vector<PointerMove> without;
      for (std::size_t k = 0; k < node.outputs.size(); ++k)
        if (control.results[k].pointer != 0 && node.inputs[1 + k] != kNoIndex)
          without.push_back({control.results[k].pointer, tensor(node.inputs[1 + k])});
      made = built_.graph.add_case_of(std::move(branches),
                                      {.index = tensor(node.inputs[0]),
                                       .must_run = must_run,
                                       .counts = control.counts,
                                       .without = std::move(without)},
                                      options);
    }
    std::vector<GraphTensor> slots;
    for (std::size_t k = 0; k < control.slots.size(); ++k)
      slots.push_back(built_.graph.tensor(slot_memory(index, k)));
    const auto whole = [&](const ResultLocation& at) {
      if (at.kind == ResultLocation::Kind::input) return tensor(node.inputs[at.index]);
      if (at.kind == ResultLocation::Kind::slot) return slots[at.index];
      const SymbolicGraph& of = control.subs[at.graph].graph;
      return built_.graph.constant(of.value(of.at(at.index)));
    };
    const auto location = [&](const ResultLocation& at) {
      return part_of(built_.graph, at, whole(at));
    };
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      TensorChoice choice = choice_of(control.results[k], location);
      // A value that goes on in the next iteration around is where its clock says at any time.
      const bool goes_on = choice.clock != 0 &&
                           std::ranges::find(control.starts, choice.clock) == control.starts.end();
      if (!goes_on) choice.by = made;
      give(node.outputs[k], chosen(built_.graph, symbolic_.symbols()[node.outputs[k]].form, choice,
                                   name_of(node.outputs[k])));
    }
  }

  const SymbolicGraph& symbolic_;
  const GraphLayout& layout_;
  const Steps& steps_;
  const Blocks& blocks_;
  std::vector<std::byte*> memory_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Tensor> lent_;  ///< by node and slot
  bool is_nowhere_;
  std::vector<GraphTensor> inputs_, outputs_;  ///< of the node that is added; they keep their room
  BuiltGraph built_;
};

}  // namespace

Tensor nowhere(const TensorForm& form, std::size_t number) {
  const std::uintptr_t at = (std::uintptr_t{1} << 61) + (std::uintptr_t{number} << 50);
  return Tensor::over(reinterpret_cast<void*>(at), form.dtype, form.shape, form.strides,
                      form.device);
}

BuiltGraph build_graph(const SymbolicGraph& symbolic, const GraphLayout& layout,
                       std::span<const std::uint32_t> kept, std::span<const Tensor> arenas,
                       bool are_nowhere) {
  std::vector<std::byte*> memory;
  for (const Tensor& arena : arenas) memory.push_back(static_cast<std::byte*>(arena.data()));
  return GraphBuilder(symbolic, layout, std::move(memory), are_nowhere).build(kept);
}

}  // namespace mote
