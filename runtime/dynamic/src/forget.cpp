// SPDX-License-Identifier: Apache-2.0
// Steps that no gradient can need any more: those between two values of a variable that nothing
// else came from, and those that were not computed from anything that still has a name.
#include <algorithm>
#include <array>
#include <thread>
#include <utility>
#include <vector>

#include "state.h"

namespace mote::trace {

namespace {

/// The steps between two values of a variable.
struct History {
  static constexpr std::size_t kMaxSteps = 64;
  std::array<Ref<Step>, kMaxSteps> steps;
  std::size_t count = 0;
  bool is_private = false;  ///< no gradient with respect to anything but the old value needs them
  bool may_become_private = false;  ///< it would be if no variable had values between the two
};

bool is_dropped(const Step& step) {
  return !step.is_pending && std::ranges::any_of(step.outputs, [](const Value* output) {
    return output != nullptr && !output->tensor && (output->handles > 0 || output->pins > 0);
  });
}

/// It takes no memory, so that no history stays because there was none.
History history_of(const Value& now, const Value& old) noexcept {
  History h;
  h.steps[h.count++] = now.producer;
  for (std::size_t k = 0; k < h.count; ++k) {
    // A value that something needs and that was dropped is computed again by its step.
    if (is_dropped(*h.steps[k])) return h;
    for (const Value* input : h.steps[k]->inputs) {
      if (input == nullptr || !input->is_traced || input == &old) continue;
      if (!input->producer) return h;
      h.may_become_private = h.may_become_private || input->handles > 0;
      const auto end = h.steps.begin() + h.count;
      if (std::find(h.steps.begin(), end, input->producer) != end) continue;
      if (h.count == History::kMaxSteps) return h;
      h.steps[h.count++] = input->producer;
    }
  }
  h.is_private = !h.may_become_private;
  return h;
}

}  // namespace

void State::forget_old(Handle& handle, const Ref<Value>& old) noexcept {
  const Value* now = handle.value;
  handle.previous.reset();
  if (now == nullptr || now == old.get() || !now->is_traced || !now->producer || !old->is_traced ||
      old->producer || old->handles > 0)
    return;
  const History history = history_of(*now, *old);
  if (history.may_become_private) handle.previous = old;
  if (!history.is_private) return;
  for (std::size_t k = 0; k < history.count; ++k) stop_tracing(*history.steps[k]);
}

void State::forget_previous(Handle& handle) noexcept {
  if (const Ref<Value> previous = handle.previous) forget_old(handle, previous);
}

namespace {

Step* source_of(const Value& value) {
  return value.producer ? value.producer.get() : value.hidden_by;
}

/// True if a gradient with respect to the value, or to what it was computed from, can be asked for.
/// The steps of which this is so were given that walk.
bool is_asked_for(const Value& value, std::uint64_t walk) {
  const Step* source = source_of(value);
  return value.is_traced && (value.handles > 0 || (source != nullptr && source->walk == walk));
}

/// True if the step keeps the input's memory for its gradient.
bool pins(const State& state, const Step& step, std::size_t input) {
  return state.pin_count(step, input) > std::size_t{step.is_pending};
}

}  // namespace

void State::forget_unasked() {
  if (!has_lost_names) return;
  const std::uint64_t stays = ++last_walk;
  Step* oldest = steps;
  while (oldest != nullptr && oldest->next != nullptr) oldest = oldest->next;
  for (Step* step = oldest; step != nullptr; step = step->previous)
    if (std::ranges::any_of(step->inputs, [&](const Value* input) {
          return input != nullptr && is_asked_for(*input, stays);
        }))
      step->walk = stays;
  // A step is not forgotten either if it computes a value without memory that the gradient of one
  // that stays reads, or from which another such value is computed: it may have been dropped, or
  // will be when it has no variable any more. What no gradient reads keeps nothing: that of a sum
  // needs no terms. A pending step runs in any case.
  const std::uint64_t is_computed = ++last_walk;
  std::vector<Ref<Step>> unasked;  // the list of steps changes when these go
  for (Step* step = steps; step != nullptr; step = step->next) {
    const bool may_run = step->walk == is_computed || is_dropped(*step);
    const bool is_needed = may_run || step->walk == stays;
    const bool may_go = !is_needed && step->is_traced && step->runner == std::thread::id{};
    if (may_go) unasked.emplace_back(step);
    if (may_go && !step->is_pending) continue;
    for (std::size_t k = 0; k < step->inputs.size(); ++k) {
      const Value* input = step->inputs[k];
      if (input == nullptr) continue;
      // In a checkpoint no pin says what is read.
      const bool is_pinned = pins(*this, *step, k);
      if (input->tensor && (is_pinned || !step->is_in_checkpoint)) continue;
      Step* source = source_of(*input);
      if (source == nullptr) continue;
      const bool is_read = may_run || (is_needed && (is_pinned || step->is_in_checkpoint));
      if (is_read || (step->is_pending && !source->is_pending)) source->walk = is_computed;
    }
  }
  has_lost_names = false;  // if nothing has failed
  for (const Ref<Step>& step : unasked) stop_tracing(*step);
  forgotten += unasked.size();
  unasked.clear();  // they count until they go
  steps_to_look_at = std::max(kFewSteps, 2 * step_count);
}

}  // namespace mote::trace
