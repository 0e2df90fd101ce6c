// SPDX-License-Identifier: Apache-2.0
// Values that gradients read are dropped, and computed again when a gradient is asked for. What
// they are computed from stays.
#include <algorithm>
#include <thread>
#include <utility>

#include "state.h"

namespace mote::trace {
namespace {

/// Pins the input, or gives it free. Inputs that no mask holds stay in any case.
void set_pin(State& state, Step& step, std::size_t input, bool is_pinned) {
  if (mask_bit(input) == 0 || is_in(step.pinned_inputs, input) == is_pinned) return;
  step.pinned_inputs ^= mask_bit(input);
  if (is_pinned)
    state.pin(*step.inputs[input]);
  else
    state.unpin(*step.inputs[input]);
}

/// Returns the steps that compute a value again from values with memory: its own, and those whose
/// values have none. Empty if one of those is gone for good, or is the caller's code.
std::vector<Step*> steps_to(const Value& value) {
  std::vector<Step*> steps;
  if (value.producer) steps.push_back(value.producer.get());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (std::holds_alternative<FunctionWork>(steps[k]->work)) return {};
    for (const Value* input : steps[k]->inputs) {
      if (input == nullptr || input->tensor) continue;
      if (!input->producer) return {};
      if (std::ranges::find(steps, input->producer.get()) == steps.end())
        steps.push_back(input->producer.get());
    }
  }
  return steps;
}

/// True if the value is not computed by a step that was made since. A step that no gradient needs
/// is forgotten when it has run: what it computes is as good as given.
bool is_outside(const Value& value, std::uint64_t first) {
  return !value.producer || !value.producer->is_traced || value.producer->id <= first;
}

/// Makes the values with memory stay that the value is computed again from.
void pin_sources(State& state, const Value& value) {
  for (Step* step : steps_to(value))
    for (std::size_t k = 0; k < step->inputs.size(); ++k)
      if (step->inputs[k] != nullptr && step->inputs[k]->tensor) set_pin(state, *step, k, true);
}

/// Returns true if a thread runs the step, or one that computes an input of it: which values of
/// them get memory was decided when it began.
bool is_running(const Step& step) {
  const auto runs = [](const Step& s) { return s.runner != std::thread::id{}; };
  return runs(step) || std::ranges::any_of(step.inputs, [&](const Value* input) {
           return input != nullptr && input->producer && runs(*input->producer);
         });
}

/// Drops the value, if it can be computed again.
void drop_memory(State& state, Value& value) {
  pin_sources(state, value);
  for (const Step* step : steps_to(value)) {
    if (step != value.producer.get()) continue;
    state.saved_bytes -= value.form->bytes;
    value.tensor.reset();
    if (value.is_waiting) state.count_waiting(value);
  }
}

/// Drops the outputs of the step that only its gradient reads, and with all of these the tapes. An
/// output that another step's gradient reads too stays.
void drop_hidden(State& state, Step& step) {
  std::erase_if(step.hidden, [&](const Ref<Value>& one) {
    if (one->refs > 1) return false;
    std::ranges::replace(step.outputs, one.get(), nullptr);
    return true;
  });
  if (!step.hidden.empty()) return;
  step.tapes.clear();
  state.saved_bytes -= std::exchange(step.tape_bytes, 0);
}

/// Drops the step's tapes, if its loops can run again.
void drop_tapes(State& state, Step& step) {
  const auto is_lost = [](const Value* input) {
    return input != nullptr && !input->tensor && steps_to(*input).empty();
  };
  const auto is_held = [](const Ref<Value>& output) { return output->held > 0; };
  if (std::ranges::any_of(step.inputs, is_lost) || std::ranges::any_of(step.hidden, is_held))
    return;
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    if (step.inputs[k] != nullptr && step.inputs[k]->tensor) set_pin(state, step, k, true);
  drop_hidden(state, step);
}

}  // namespace

/// Drops the values that were computed since, except those in `kept`: gradients compute them again.
/// The values that they were computed from stay.
void State::drop_between(std::uint64_t first, std::span<const Ref<Value>> kept) {
  // If a value cannot be computed again, or another thread computes it, none is dropped.
  for (const Step* step = steps; step != nullptr && step->id > first; step = step->next) {
    if (step->is_traced && is_running(*step)) return;
    for (const Value* input : step->inputs)
      if (input != nullptr && step->is_traced && is_outside(*input, first) && !input->tensor &&
          !(input->producer && input->producer->is_pending) && steps_to(*input).empty())
        return;
  }
  for (Step* step = steps; step != nullptr && step->id > first; step = step->next) {
    if (!step->is_traced) continue;
    const Ref<Step> stays(step);
    step->is_in_checkpoint = true;
    for (std::size_t k = 0; k < step->inputs.size(); ++k) {
      const Value* input = step->inputs[k];
      if (input == nullptr) continue;
      set_pin(*this, *step, k, is_outside(*input, first));
      if (is_outside(*input, first) && !input->tensor) pin_sources(*this, *input);
    }
    for (std::size_t k = 0; k < step->outputs.size(); ++k) {
      Value* output = step->outputs[k];
      if (output == nullptr || !is_in(step->pinned_outputs, k) ||
          std::ranges::any_of(kept, [&](const Ref<Value>& one) { return one.get() == output; }))
        continue;
      step->pinned_outputs ^= mask_bit(k);
      unpin(*output);
    }
    for (Value* output : step->outputs)
      if (output != nullptr && step->is_pending) output->is_dropped = true;
    drop_hidden(*this, *step);
  }
  for (const Ref<Value>& one : kept) one->is_dropped = false;
}

/// Drops every other value and tape that only gradients need, the oldest first, then every other of
/// those that are left, until enough is free.
void State::limit_saved() {
  if (saved_bytes <= std::max(options.saved_bytes, saved_threshold)) return;
  const std::size_t least = options.saved_bytes - options.saved_bytes / 4;
  for (std::size_t before = 0; saved_bytes > least && saved_bytes != before;) {
    before = saved_bytes;
    drop_every_other(least);
  }
  // The values that are left cannot be dropped: the search is made again when there are more.
  saved_threshold = saved_bytes <= options.saved_bytes ? 0 : saved_bytes + saved_bytes / 4;
}

void State::drop_every_other(std::size_t least) {
  std::vector<Value*> candidates;
  for (Value* value = all_values; value != nullptr; value = value->next)
    if (value->tensor && value->handles == 0 && value->held == 0 && value->producer &&
        value->producer->is_traced && !value->producer->is_pending)
      candidates.push_back(value);
  std::ranges::reverse(candidates);
  bool drops = true;
  for (Value* value : candidates) {
    if (saved_bytes <= least) break;
    if (std::exchange(drops, !drops)) drop_memory(*this, *value);
  }
  std::vector<Step*> with_tapes;
  for (Step* step = steps; step != nullptr; step = step->next)
    if (step->tape_bytes > 0 && step->is_traced && !step->is_pending) with_tapes.push_back(step);
  std::ranges::reverse(with_tapes);
  for (Step* step : with_tapes) {
    if (saved_bytes <= least) break;
    if (std::exchange(drops, !drops)) drop_tapes(*this, *step);
  }
}

}  // namespace mote::trace
