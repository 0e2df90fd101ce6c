// SPDX-License-Identifier: Apache-2.0
#include "part.h"

#include <algorithm>
#include <string>
#include <utility>

#include "control/splice.h"

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
    trace::describe(view, part_.structure);
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
  GraphMaker(const Part& part, std::span<Value* const> apart)
      : part_(part), apart_(apart), made_{.graph = SymbolicGraph("trace")} {
    made_.symbols.resize(part.values.size());
    // A gradient has about as many nodes as what it is the gradient of.
    made_.graph.reserve(2 * part.values.size(), 2 * part.steps.size());
  }

  PartGraph run() {
    for (std::size_t k = 1; k < part_.values.size(); ++k)
      if (part_.is_leaf[k])
        made_.symbols[k] = made_.graph.input("v" + std::to_string(k), part_.values[k]->form->form);
    std::size_t next = 1;
    std::vector<TensorSymbol> inputs, outputs;
    for (const Step* step : part_.steps) {
      inputs.clear();
      outputs.clear();
      for (const Value* input : step->inputs) {
        inputs.push_back(input == nullptr ? TensorSymbol{} : made_.symbols[input->number]);
        if (input != nullptr && part_.is_leaf[input->number])
          next = std::max<std::size_t>(next, input->number + 1);
      }
      std::visit([&](const auto& work) { add(inputs, work, outputs); }, step->work);
      const bool is_view = std::holds_alternative<ViewStep>(step->work);
      if (is_view || std::holds_alternative<std::shared_ptr<GraphWork>>(step->work))
        for (std::size_t k = 0; k < outputs.size(); ++k)
          if (std::ranges::find(apart_, step->outputs[k]) != apart_.end())
            outputs[k] = is_view ? apart(outputs[k]) : copied(outputs[k]);
      for (std::size_t k = 0; k < step->outputs.size(); ++k)
        made_.symbols[next++] = k < outputs.size() ? outputs[k] : TensorSymbol{};
    }
    made_.nodes = made_.graph.node_count();
    return std::move(made_);
  }

 private:
  void add(const std::vector<TensorSymbol>& inputs, const Ref<Kernel>& kernel,
           std::vector<TensorSymbol>& outputs) {
    const NodeSymbol node = made_.graph.add_node(kernel->command, inputs, kernel->dtype);
    for (std::size_t k = 0; k < kernel->outputs.size(); ++k)
      outputs.push_back(kernel->outputs[k] ? made_.graph.output(node, k) : TensorSymbol{});
  }
  TensorSymbol copied(TensorSymbol x) {
    return made_.graph.convert(x, TensorForm(made_.graph.form(x)));
  }
  /// Returns the view of a copy of what it is a view of; of one that repeats elements, a copy.
  TensorSymbol apart(TensorSymbol x) {
    const SymbolInfo info = made_.graph.info(x);
    if (repeats(info.form))
      return made_.graph.convert(
          x, {info.form->dtype, info.form->shape,
              checked_strides(info.form->dtype, info.form->shape), info.form->device});
    if (info.kind != SymbolOrigin::view) return copied(x);
    const ViewStep step = made_.graph.view_step(x);
    return made_.graph.view(apart(made_.graph.at(info.base)), step);
  }
  void add(const std::vector<TensorSymbol>& inputs, const ViewStep& view,
           std::vector<TensorSymbol>& outputs) {
    outputs.push_back(made_.graph.view(inputs[0], view));
  }
  void add(const std::vector<TensorSymbol>& inputs, const Conversion& conversion,
           std::vector<TensorSymbol>& outputs) {
    outputs.push_back(made_.graph.convert(inputs[0], conversion.form->form));
  }
  void add(const std::vector<TensorSymbol>& inputs, const std::shared_ptr<GraphWork>& work,
           std::vector<TensorSymbol>& outputs) {
    made_.has_graphs = true;
    std::vector<TensorSymbol> symbols(work->graph.symbol_count());
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k]) symbols[work->inputs[k].index] = inputs[k];
    symbols = splice(
        made_.graph, work->graph, std::move(symbols), [](std::uint32_t) { return true; },
        work->outputs);
    for (const TensorSymbol output : work->outputs) outputs.push_back(symbols[output.index]);
    // The gradient reads what hidden outputs are copies of.
    for (std::size_t k = work->visible_outputs; k < outputs.size(); ++k)
      outputs[k] = symbols[work->asked[k].index];
  }
  void add(const std::vector<TensorSymbol>& inputs, const FunctionWork& work,
           std::vector<TensorSymbol>& outputs) {
    for (const SharedForm& form : work.outputs) outputs.push_back(made_.graph.tensor(form->form));
    made_.graph.call(*work.function, inputs, outputs);
  }

  const Part& part_;
  std::span<Value* const> apart_;
  PartGraph made_;
};

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

PartGraph symbolic(const Part& part, std::span<Value* const> apart) {
  return GraphMaker(part, apart).run();
}

std::vector<std::shared_ptr<const void>> functions_of(const Part& part) {
  std::vector<std::shared_ptr<const void>> functions;
  for (const Step* step : part.steps)
    if (const auto* work = std::get_if<FunctionWork>(&step->work))
      functions.push_back(work->function);
  return functions;
}

}  // namespace mote::trace
