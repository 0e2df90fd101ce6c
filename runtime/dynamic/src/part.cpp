// SPDX-License-Identifier: Apache-2.0
#include "part.h"

#include <algorithm>
#include <string>
#include <utility>

#include "control/splice.h"
#include "mote/symbolic/dependencies.h"

namespace mote::trace {
namespace {

/// The first number of a step in a structure.
enum class Tag : std::uint64_t { command = 1, view, conversion, graph, function };

class Numberer {
 public:
  Numberer(State& state, std::vector<Step*> steps) : walk_(++state.last_walk) {
    sort_by_id(steps);
    part_.values.push_back(nullptr);
    part_.is_leaf.push_back(false);
    part_.steps = std::move(steps);
  }

  Part run(std::span<Value* const> others) {
    for (Step* step : part_.steps) {
      std::visit([&](const auto& work) { describe(*step, work); }, step->work);
      add(step->outputs.size());
      for (Value* output : step->outputs) number(output, false);
    }
    for (Value* value : others)
      if (value->walk != walk_) number(value, true);
    return std::move(part_);
  }

 private:
  void add(std::uint64_t number) { part_.structure.push_back(number); }
  void add(Tag tag) { add(static_cast<std::uint64_t>(tag)); }

  std::uint64_t number(Value* value, bool is_leaf) {
    const auto number = static_cast<std::uint32_t>(part_.values.size());
    part_.values.push_back(value);
    part_.is_leaf.push_back(is_leaf);
    if (value == nullptr) return number;
    value->walk = walk_;
    return value->number = number;
  }

  void add_inputs(const Step& step) {
    for (Value* input : step.inputs) {
      if (input == nullptr)
        add(0);
      else if (input->walk == walk_)
        add(input->number);
      else
        add(number(input, true));
    }
  }

  void describe(const Step& step, const Ref<Kernel>& kernel) {
    add(Tag::command);
    add(kernel->id);
    add_inputs(step);
  }
  void describe(const Step& step, const ViewStep& view) {
    add(Tag::view);
    add(step.inputs[0]->form->id);
    add(static_cast<std::uint64_t>(view.kind));
    add(static_cast<std::uint64_t>(view.numbers.size()));
    for (const std::int64_t entry : view.numbers) add(static_cast<std::uint64_t>(entry));
    add_inputs(step);
  }
  void describe(const Step& step, const Conversion& conversion) {
    add(Tag::conversion);
    add(step.inputs[0]->form->id);
    add(conversion.form->id);
    add_inputs(step);
  }
  void describe(const Step& step, const std::shared_ptr<GraphWork>& work) {
    add(Tag::graph);
    add(work->id);
    add_inputs(step);
  }
  void describe(const Step& step, const FunctionWork& work) {
    add(Tag::function);
    add(reinterpret_cast<std::uintptr_t>(work.function.get()));
    for (const SharedForm& form : work.outputs) add(form->id);
    for (const Value* input : step.inputs) add(input == nullptr ? 0 : input->form->id);
    add_inputs(step);
  }

  std::uint64_t walk_;
  Part part_;
};

class GraphMaker {
 public:
  explicit GraphMaker(const Part& part) : part_(part), made_{SymbolicGraph("trace"), {}} {
    made_.symbols.resize(part.values.size());
  }

  PartGraph run() {
    for (std::size_t k = 1; k < part_.values.size(); ++k)
      if (part_.is_leaf[k])
        made_.symbols[k] = made_.graph.input("v" + std::to_string(k), part_.values[k]->form->form);
    std::size_t next = 1;
    for (const Step* step : part_.steps) {
      std::vector<TensorSymbol> inputs;
      for (const Value* input : step->inputs) {
        inputs.push_back(input == nullptr ? TensorSymbol{} : made_.symbols[input->number]);
        if (input != nullptr && part_.is_leaf[input->number])
          next = std::max<std::size_t>(next, input->number + 1);
      }
      const std::vector<TensorSymbol> outputs =
          std::visit([&](const auto& work) { return add(inputs, work); }, step->work);
      for (std::size_t k = 0; k < step->outputs.size(); ++k)
        made_.symbols[next++] = k < outputs.size() ? outputs[k] : TensorSymbol{};
    }
    return std::move(made_);
  }

 private:
  std::vector<TensorSymbol> add(const std::vector<TensorSymbol>& inputs,
                                const Ref<Kernel>& kernel) {
    const NodeSymbol node = made_.graph.add_node(kernel->command, inputs, kernel->dtype);
    std::vector<TensorSymbol> outputs;
    for (std::size_t k = 0; k < kernel->outputs.size(); ++k)
      outputs.push_back(kernel->outputs[k] ? made_.graph.output(node, k) : TensorSymbol{});
    return outputs;
  }
  std::vector<TensorSymbol> add(const std::vector<TensorSymbol>& inputs, const ViewStep& view) {
    return {made_.graph.view(inputs[0], view)};
  }
  std::vector<TensorSymbol> add(const std::vector<TensorSymbol>& inputs,
                                const Conversion& conversion) {
    return {made_.graph.convert(inputs[0], conversion.form->form)};
  }
  std::vector<TensorSymbol> add(const std::vector<TensorSymbol>& inputs,
                                const std::shared_ptr<GraphWork>& work) {
    std::vector<TensorSymbol> symbols(work->graph.symbol_count());
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k]) symbols[work->inputs[k].index] = inputs[k];
    symbols = splice(
        made_.graph, work->graph, std::move(symbols), [](std::uint32_t) { return true; },
        work->outputs);
    std::vector<TensorSymbol> outputs;
    for (const TensorSymbol output : work->outputs) outputs.push_back(symbols[output.index]);
    return outputs;
  }
  std::vector<TensorSymbol> add(const std::vector<TensorSymbol>& inputs, const FunctionWork& work) {
    std::vector<TensorSymbol> outputs;
    for (const SharedForm& form : work.outputs) outputs.push_back(made_.graph.tensor(form->form));
    made_.graph.call(*work.function, inputs, outputs);
    return outputs;
  }

  const Part& part_;
  PartGraph made_;
};

/// Finds what outputs need, down to symbols that are given.
class Needed {
 public:
  Needed(const SymbolicGraph& graph, const std::vector<std::uint32_t>& number)
      : nodes(graph.node_count()),
        used(graph.symbol_count()),
        graph_(graph),
        number_(number),
        written_(writers(graph)),
        seen_(graph.symbol_count()) {}

  void run(const std::vector<TensorSymbol>& outputs) {
    for (const TensorSymbol output : outputs) symbol(output.index);
    while (!open_.empty()) {
      const std::uint32_t node = open_.back();
      open_.pop_back();
      for (const std::uint32_t input : graph_.nodes()[node].inputs) symbol(input);
    }
  }

  std::vector<bool> nodes;
  std::vector<bool> used;  ///< symbols that are given, and that a node or an output reads

 private:
  void symbol(std::uint32_t k) {
    if (k == kNoIndex) return;
    for (; number_[k] == 0 && graph_.symbols()[k].kind == SymbolOrigin::view;
         k = graph_.symbols()[k].base) {
    }
    if (number_[k] != 0) {
      used[k] = true;
      return;
    }
    if (seen_[k]) return;
    seen_[k] = true;
    for (const std::uint32_t node : written_[k]) {
      if (nodes[node]) continue;
      nodes[node] = true;
      open_.push_back(node);
    }
  }

  const SymbolicGraph& graph_;
  const std::vector<std::uint32_t>& number_;  ///< of symbols that are given; 0 for others
  IndexLists written_;
  std::vector<bool> seen_;
  std::vector<std::uint32_t> open_;
};

/// A node that is needed writes all of its outputs: none of them is taken as given then.
Needed find_needed(const SymbolicGraph& graph, std::vector<std::uint32_t>& number,
                   const std::vector<TensorSymbol>& outputs) {
  while (true) {
    Needed needed(graph, number);
    needed.run(outputs);
    bool is_done = true;
    for (std::uint32_t node = 0; node < graph.node_count(); ++node) {
      if (!needed.nodes[node]) continue;
      for (const std::uint32_t output : graph.nodes()[node].outputs)
        if (output != kNoIndex && std::exchange(number[output], 0) != 0) is_done = false;
    }
    if (is_done) return needed;
  }
}

}  // namespace

Part number_values(State& state, std::vector<Step*> steps, std::span<Value* const> others) {
  return Numberer(state, std::move(steps)).run(others);
}

std::uint32_t number_of(const State& state, const Value& value) {
  return value.walk == state.last_walk ? value.number : 0;
}

void sort_by_id(std::vector<Step*>& steps) {
  if (!std::ranges::is_sorted(steps, {}, &Step::id)) std::ranges::sort(steps, {}, &Step::id);
}

PartGraph symbolic(const Part& part) { return GraphMaker(part).run(); }

CachedGraph cut(const PartGraph& from, const std::vector<bool>& given,
                const std::vector<TensorSymbol>& outputs) {
  const SymbolicGraph& graph = from.graph;
  std::vector<std::uint32_t> number(graph.symbol_count());
  for (std::uint32_t k = 1; k < from.symbols.size(); ++k)
    if (given[k] && from.symbols[k]) number[from.symbols[k].index] = k;
  const Needed needed = find_needed(graph, number, outputs);
  SymbolicGraph made("trace");
  std::vector<TensorSymbol> symbols(graph.symbol_count());
  std::vector<TensorSymbol> inputs;
  CachedGraph cut;
  for (std::uint32_t k = 0; k < graph.symbol_count(); ++k) {
    if (!needed.used[k]) continue;
    symbols[k] = made.input("v" + std::to_string(k), graph.form(graph.at(k)));
    inputs.push_back(symbols[k]);
    cut.inputs.push_back(number[k]);
  }
  symbols = splice(
      made, graph, std::move(symbols), [&](std::uint32_t node) { return needed.nodes[node]; },
      outputs);
  std::vector<TensorSymbol> asked;
  for (const TensorSymbol output : outputs) asked.push_back(symbols[output.index]);
  cut.work = std::make_shared<GraphWork>(std::move(made), std::move(inputs), std::move(asked));
  return cut;
}

std::vector<std::shared_ptr<const void>> functions_of(const Part& part) {
  std::vector<std::shared_ptr<const void>> functions;
  for (const Step* step : part.steps)
    if (const auto* work = std::get_if<FunctionWork>(&step->work))
      functions.push_back(work->function);
  return functions;
}

}  // namespace mote::trace
