// SPDX-License-Identifier: Apache-2.0
// Computes values that have no memory: what is pending, and what was dropped. The caller's
// functions run in the order in which they were given, each by itself, since what they look at is
// not known; all other steps are compiled as one graph, and only what something needs gets memory
// of its own.
#include <algorithm>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "fail.h"
#include "part.h"
#include "state.h"

namespace mote::trace {
namespace {

/// Marks a part that is computed, as against one that is differentiated.
constexpr std::uint64_t kEvaluated = 0;

class Evaluation {
 public:
  Evaluation(State& state, std::vector<Step*> steps, std::span<Value* const> wanted)
      : state_(state), part_(number_values(state, std::move(steps))) {
    for (Step* step : part_.steps) {
      steps_.emplace_back(step);
      if (!step->is_pending) ++again_;
    }
    find_outputs(wanted);
  }

  void run(Lock& lock) {
    // A value that is needed only for its views would lose its memory as soon as it has some.
    std::vector<Value*> bases;
    for (const View& view : views_) bases.push_back(view.step->inputs[0]);
    const Kept stay(state_, bases);
    if (!outputs_.empty()) compute(lock);
    for (const View& view : views_) look(view);
    // Nothing fails from here on: a step whose values have memory is done.
    for (Made& one : made_)
      if (!one.value->tensor) state_.set_tensor(*one.value, std::move(one.tensor));
    state_.computed_again += again_;
    for (Step* step : part_.steps) {
      state_.set_done(*step);
      if (!step->is_traced) state_.forget(*step);
    }
  }

 private:
  struct View {
    const Step* step;
    std::uint32_t from, to;  ///< numbers of values
  };
  /// A value, and the memory that it gets.
  struct Made {
    Ref<Value> value;
    std::unique_ptr<Tensor> tensor;
  };

  /// Finds the values that get memory: those that are asked for, that variables have, and that
  /// steps outside of the part or gradients read. Views need that of what they are views of.
  void find_outputs(std::span<Value* const> wanted) {
    needed_.resize(part_.values.size());
    memory_.resize(part_.values.size());
    std::vector<std::uint32_t> own_pins(part_.values.size());
    for (const Step* step : part_.steps)
      for (const Value* input : step->inputs)
        if (input != nullptr && step->is_pending) ++own_pins[input->number];
    for (const Value* value : wanted)
      if (const std::uint32_t number = number_of(state_, *value)) needed_[number] = true;
    for (auto step = part_.steps.rbegin(); step != part_.steps.rend(); ++step) {
      for (const Value* output : (*step)->outputs) {
        if (output == nullptr || output->tensor) continue;
        const bool is_read = (*step)->is_pending && output->pins > own_pins[output->number];
        if (output->handles > 0 || is_read) needed_[output->number] = true;
        if (!needed_[output->number]) continue;
        if (std::holds_alternative<ViewStep>((*step)->work))
          needed_[(*step)->inputs[0]->number] = true;
        else
          outputs_.push_back(output->number);
      }
    }
    std::ranges::sort(outputs_);
    // Numbers are those of the last walk, and another thread may walk while a function runs.
    for (const Step* step : part_.steps)
      if (const Value* output = step->outputs[0]; std::holds_alternative<ViewStep>(step->work) &&
                                                  output != nullptr && needed_[output->number])
        views_.push_back({step, step->inputs[0]->number, output->number});
  }

  void make(const Ref<Value>& value, std::uint32_t number, const Tensor& tensor) {
    made_.push_back({value, std::make_unique<Tensor>(tensor)});
    memory_[number] = made_.back().tensor.get();
  }

  void look(const View& view) {
    Value* output = view.step->outputs[0];
    if (output == nullptr || output->tensor) return;
    const Value& base = *view.step->inputs[0];
    make(Ref<Value>(output), view.to,
         apply(std::get<ViewStep>(view.step->work),
               base.tensor ? *base.tensor : *memory_[view.from]));
  }

  void compute(Lock& lock) {
    std::vector<SharedForm> forms;
    std::vector<Ref<Value>> outputs;
    for (const std::uint32_t number : outputs_) {
      outputs.emplace_back(part_.values[number]);
      forms.push_back(outputs.back()->form);
    }
    if (const auto* function = std::get_if<FunctionWork>(&part_.steps[0]->work))
      return call(lock, *function);
    std::vector<Tensor> tensors = state_.allocate(forms);
    const auto* kernel = std::get_if<Ref<Kernel>>(&part_.steps[0]->work);
    if (part_.steps.size() == 1 && kernel != nullptr && has_inputs(*part_.steps[0]) &&
        outputs.size() == computed_outputs(**kernel))
      call(**kernel, tensors);
    else
      run_graph(lock, tensors);
    for (std::size_t k = 0; k < outputs.size(); ++k) make(outputs[k], outputs_[k], tensors[k]);
  }

  static bool has_inputs(const Step& step) {
    return std::ranges::all_of(
        step.inputs, [](const Value* input) { return input == nullptr || input->tensor; });
  }
  static std::size_t computed_outputs(const Kernel& kernel) {
    return static_cast<std::size_t>(std::ranges::count_if(
        kernel.outputs, [](const SharedForm& form) { return form != nullptr; }));
  }
  /// Computes a single command, whose tensors are those of the outputs that are there. What fails
  /// stays pending, so that this waits for a device.
  void call(Kernel& kernel, const std::vector<Tensor>& tensors) {
    std::vector<const Tensor*> outputs(kernel.outputs.size());
    std::size_t next = 0;
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (kernel.outputs[k]) outputs[k] = &tensors[next++];
    const ValueList& inputs = part_.steps[0]->inputs;
    const std::uint64_t command =
        state_.call(kernel, std::span<Value* const>(inputs.begin(), inputs.size()), outputs);
    if (command == 0) return;
    DeviceQueue& queue = state_.queue_of(*kernel.device);
    queue.wait();
    queue.check(command);
  }

  /// Computes all outputs of the caller's function, which is the only step.
  void call(Lock& lock, const FunctionWork& work) {
    const Step& step = *part_.steps[0];
    std::vector<Ref<Value>> outputs;
    for (Value* output : step.outputs) outputs.emplace_back(output);
    const std::vector<Tensor> tensors = state_.allocate(work.outputs);
    const std::span<Value* const> inputs(step.inputs.begin(), step.inputs.size());
    const Kept stay(state_, inputs);
    const Running running(*this);
    state_.call_function(lock, *work.function, inputs, tensors);
    for (std::size_t k = 0; k < outputs.size(); ++k)
      if (outputs[k]) make(outputs[k], 0, tensors[k]);
  }

  CachedGraph& graph() {
    Structure structure = part_.structure;
    structure.push_back(kEvaluated);
    structure.insert(structure.end(), outputs_.begin(), outputs_.end());
    if (CachedGraph* known = state_.graphs.find(structure)) return *known;
    const PartGraph all = symbolic(part_);
    std::vector<TensorSymbol> asked;
    for (const std::uint32_t number : outputs_) asked.push_back(all.symbols[number]);
    return state_.graphs.add(std::move(structure), cut(all, part_.is_leaf, asked));
  }

  void run_graph(Lock& lock, std::span<const Tensor> tensors) {
    CachedGraph& cached = graph();
    const std::shared_ptr<GraphWork> work = cached.work;
    const std::vector<Ref<Value>> owned = inputs_of(state_, cached, part_);
    std::vector<Value*> inputs;
    for (const Ref<Value>& input : owned) inputs.push_back(require_memory(*input));
    const Kept stay(state_, inputs);
    std::optional<Running> running;
    if (work->has_functions) running.emplace(*this);
    state_.run_work(lock, *work, inputs, tensors);
  }
  static Value* require_memory(Value& value) {
    if (!value.tensor)
      throw InternalError("dynamic graph: a value of " + to_string(value.form->form) +
                          " is needed and its memory was given back");
    return &value;
  }

  /// Notes that this thread runs the steps, except those that one runs already.
  class Running {
   public:
    explicit Running(const Evaluation& all) : state_(all.state_) {
      steps_.reserve(all.steps_.size());  // behind a failure nothing would end the notes
      for (const Ref<Step>& step : all.steps_) {
        if (step->runner != std::thread::id{}) continue;
        steps_.push_back(step);
        step->runner = std::this_thread::get_id();
      }
    }
    ~Running() {
      for (const Ref<Step>& step : steps_) step->runner = {};
      state_.end_waits();
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    State& state_;
    std::vector<Ref<Step>> steps_;
  };

  State& state_;
  Part part_;
  std::vector<Ref<Step>> steps_;
  std::size_t again_ = 0;  ///< the steps that are not pending
  std::vector<bool> needed_;
  std::vector<View> views_;             ///< those whose output is needed
  std::vector<std::uint32_t> outputs_;  ///< numbers of values that the graph computes
  std::vector<Made> made_;
  std::vector<const Tensor*> memory_;  ///< by number: that of `made_`
};

bool is_function(const Step* step) { return std::holds_alternative<FunctionWork>(step->work); }

/// True if a thread runs the step, and it is code of the caller's, which runs once. Whoever needs
/// the value of another step that runs computes it too: it may run beside a function that waits for
/// that value.
bool runs_code(const Step* step) {
  if (step->runner == std::thread::id{}) return false;
  const auto* graph = std::get_if<std::shared_ptr<GraphWork>>(&step->work);
  return is_function(step) || (graph != nullptr && (*graph)->has_functions);
}

std::vector<Value*> missing_of(std::span<Value* const> values) {
  std::vector<Value*> missing;
  for (Value* value : values)
    if (value != nullptr && !value->tensor) missing.push_back(value);
  return missing;
}

}  // namespace

std::vector<Step*> State::missing(std::span<Value* const> wanted) {
  const std::uint64_t walk = ++last_walk;
  std::vector<Step*> steps;
  const auto look_at = [&](Value* value) {
    if (value == nullptr || value->tensor || value->walk == walk) return;
    value->walk = walk;
    // Without memory and a step that computes it, only its shape can be needed.
    if (!value->producer) return;
    Step& step = *value->producer;
    if (step.walk == walk) return;
    step.walk = walk;
    steps.push_back(&step);
  };
  for (Value* value : wanted) {
    if (!value->tensor && !value->producer)
      throw InternalError("dynamic graph: a value that is asked for has no memory");
    look_at(value);
  }
  for (std::size_t k = 0; k < steps.size(); ++k)
    for (Value* input : steps[k]->inputs) look_at(input);
  return steps;
}

void State::evaluate(Lock& lock, std::span<Value* const> wanted) {
  const Kept stay(*this, wanted);  // another thread may free them while this one waits
  std::list<Kept> computed;
  while (true) {
    std::vector<Step*> steps = missing(wanted);
    if (steps.empty()) return;
    if (const auto running = std::ranges::find_if(steps, runs_code); running != steps.end()) {
      wait_for(lock, **running);
    } else if (std::ranges::any_of(steps, is_function)) {
      run_functions(lock, steps, computed);
    } else {
      Evaluation(*this, std::move(steps), wanted).run(lock);
      if (options.saved_bytes > 0) limit_saved();
      return;
    }
  }
}

/// Runs the functions among the steps, in the order in which they were given, until one is found
/// that another thread runs: what a function looks at was there before it, as in eager mode. What
/// the others are to compute again stays in `computed`.
void State::run_functions(Lock& lock, std::span<Step* const> steps, std::list<Kept>& computed) {
  std::vector<Step*> in_order;
  std::ranges::copy_if(steps, std::back_inserter(in_order), is_function);
  sort_by_id(in_order);
  std::vector<Ref<Step>> functions;
  for (Step* step : in_order) functions.emplace_back(step);
  for (const Ref<Step>& step : functions) {
    const std::span<Value* const> inputs(step->inputs.begin(), step->inputs.size());
    const Kept stay(*this, inputs);
    evaluate(lock, missing_of(inputs));
    if (step->runner != std::thread::id{}) return;
    const std::vector<Value*> outputs =
        missing_of(std::span<Value* const>(step->outputs.begin(), step->outputs.size()));
    if (outputs.empty()) continue;
    if (!step->is_pending) computed.emplace_back(*this, outputs);
    Evaluation(*this, {step.get()}, outputs).run(lock);
  }
}

std::vector<Ref<Value>> State::pending_of_variables() {
  std::vector<Ref<Value>> pending;
  for (Value* value = unseen; value != nullptr; value = value->next_unseen)
    pending.emplace_back(value);
  return pending;
}

}  // namespace mote::trace
