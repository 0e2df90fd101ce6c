// SPDX-License-Identifier: Apache-2.0
// The life of values and steps: who needs them, and when their memory goes.
#include <algorithm>
#include <new>
#include <utility>
#include <variant>

#include "fail.h"
#include "mote/runtime/overlap.h"
#include "state.h"
#include "tensor/storage.h"

namespace mote::trace {

namespace {

/// Orders heaps of tensors so that the lowest address is on top.
bool is_above(const std::unique_ptr<Tensor>& a, const std::unique_ptr<Tensor>& b) {
  return a->data() > b->data();
}

/// True if code of the caller's may end with the step.
bool has_code(const Step& step) {
  const auto* graph = std::get_if<std::shared_ptr<GraphWork>>(&step.work);
  return !step.tapes.empty() || std::holds_alternative<FunctionWork>(step.work) ||
         (graph != nullptr && (*graph)->has_functions);
}

}  // namespace

void drop(Value* value) noexcept {
  State& state = *value->state;
  value->next_dead = std::exchange(state.dead_values, value);
  state.free_dead();
}

void drop(Step* step) noexcept {
  State& state = *step->state;
  step->next_dead = std::exchange(state.dead_steps, step);
  state.free_dead();
}

State::State(Context& with, const DynamicOptions& of)
    : context(&with),
      options(of),
      pool(Pool::make()),
      allocator(pool->allocator()),
      kernels(with),
      graphs(of.kept_graphs, of.kept_graph_bytes, mutex.gone.graphs),
      memo(of.memo_bytes) {}

State::~State() {
  memo.clear();
  scalars.clear();
  graphs.clear();
  kernels.clear();
}

void State::release(std::uint32_t count) noexcept {
  if (count > 0 && owners.fetch_sub(count, std::memory_order_acq_rel) == count) delete this;
}

void State::release_graph() noexcept {
  if (graph_handles.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const Lock lock(mutex);
    graphs.forget_code();
  }
  release();
}

Ref<Value> State::make_value(SharedForm form, const std::optional<Tensor>& tensor, bool is_traced) {
  // Behind `new Value` nothing may fail: a value that goes is taken out of lists and counts.
  std::unique_ptr<Tensor> memory = tensor ? std::make_unique<Tensor>(*tensor) : nullptr;
  Ref<Value> value(new Value);
  value->state = this;
  value->id = new_id();
  value->is_traced = is_traced;
  value->form = std::move(form);
  value->tensor = std::move(memory);
  value->next = all_values;
  if (all_values != nullptr) all_values->previous = value.get();
  all_values = value.get();
  ++values;
  if (value->tensor) saved_bytes += value->form->bytes;
  return value;
}

/// Returns a value with memory, which may be that of one that is gone.
Ref<Value> State::make_value_with_memory(const SharedForm& form, bool is_traced) {
  std::unique_ptr<Tensor> tensor;
  if (form->unused.empty()) {
    tensor = std::make_unique<Tensor>(allocate(*form));
  } else {
    std::ranges::pop_heap(form->unused, is_above);
    tensor = std::move(form->unused.back());
    form->unused.pop_back();
  }
  Ref<Value> value = make_value(form, std::nullopt, is_traced);
  value->tensor = std::move(tensor);
  value->is_own_memory = true;
  saved_bytes += form->bytes;
  return value;
}

/// Gives the value's memory back, or keeps it for the next one of its form.
void State::free_memory(Value& value) noexcept {
  constexpr std::size_t kMaxUnusedBytes = 512;
  std::unique_ptr<Tensor> tensor = std::move(value.tensor);
  const bool is_own = std::exchange(value.is_own_memory, false);
  const Form& form = *value.form;
  if (is_own && form.bytes <= kMaxUnusedBytes && form.unused.size() < kMaxUnused &&
      form.form.is_on_host() && tensor->owners() == 1) {
    try {
      form.unused.push_back(std::move(tensor));
    } catch (const std::bad_alloc&) {
      return;
    }
    std::ranges::push_heap(form.unused, is_above);
  }
}

void State::give_own_memory(std::span<const Tensor> lent) {
  const auto places = [](const Tensor& t) {
    return ViewPlaces(t.form(),
                      static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(t.data())));
  };
  const auto is_lent = [&](const Tensor& t) {
    return std::ranges::any_of(
        lent, [&](const Tensor& other) { return share_bytes(places(other), places(t)); });
  };
  wait_for_devices();
  for (Value* value = all_values; value != nullptr; value = value->next) {
    if (!value->tensor || !is_lent(*value->tensor)) continue;
    auto own = std::make_unique<Tensor>(allocate(*value->form));
    copy(*value->tensor, *own);
    value->tensor = std::move(own);
  }
}

Tensor State::filled(const Form& form, double value) {
  Tensor tensor = allocate(form);
  wait_for_devices({}, std::span(&tensor, 1));
  fill(tensor, value);
  return tensor;
}

Tensor State::allocate(const Form& form) {
  const TensorForm& f = form.form;
  if (f.is_on_host() && f.is_row_major()) return Tensor(f.dtype, f.shape, allocator);
  const std::optional<Device> device = Device::of(f.device);
  if (!device && !f.is_on_host()) fail("no plug-in offers the device of " + to_string(f));
  if (device) return queue_of(*device).allocate(f);
  const std::int64_t elements = f.bytes() / static_cast<std::int64_t>(size_of(f.dtype));
  return Tensor::within(Tensor(f.dtype, {elements}, allocator), 0, f);
}

Step* State::make_step(Work work, std::span<Value* const> inputs,
                       std::span<const Ref<Value>> outputs, bool is_traced, bool is_pending) {
  auto made = std::make_unique<Step>();
  made->inputs = ValueList(inputs.size());
  made->outputs = ValueList(outputs.size());
  for (const Value* input : inputs)
    if (input != nullptr && input->hidden_by != nullptr)
      made->sources.emplace_back(input->hidden_by);
  Step* step = made.release();
  step->state = this;
  step->work = std::move(work);
  step->is_traced = is_traced;
  step->is_pending = is_pending;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    step->inputs[k] = inputs[k];
    if (inputs[k] == nullptr) continue;
    ++inputs[k]->refs;
    if (is_pending) add_pending_read(*inputs[k]);
  }
  step->next = steps;
  if (steps != nullptr) steps->previous = step;
  steps = step;
  ++step_count;
  if (is_pending) ++pending_steps;
  const Ref<Step> owner(step);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (!outputs[k]) continue;
    step->outputs[k] = outputs[k].get();
    outputs[k]->producer = owner;
    outputs[k]->output = static_cast<std::uint32_t>(k);
    if (is_pending) pending_bytes += outputs[k]->form->bytes;
  }
  step->id = new_id();
  for (const Ref<Value>& output : outputs)
    if (output) output->id = new_id();
  return step;
}

/// The reads of an input that this step needs elements for.
std::size_t State::pin_count(const Step& step, std::size_t input) const {
  const bool is_pinned = input < kMaxMasked ? is_in(step.pinned_inputs, input) : step.pins_rest;
  return static_cast<std::size_t>(step.is_pending) + static_cast<std::size_t>(is_pinned);
}

void State::pin_reads(Step& step, const GradientReads& reads) {
  // This comes first: a step that has pinned an output has room for all as its own.
  if (reads.outputs != 0 && step.outputs.size() > 1) step.hidden.reserve(step.outputs.size());
  step.pins_rest = step.inputs.size() > kMaxMasked;
  step.pinned_inputs = reads.inputs & first_masked(step.inputs.size());
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    if (step.inputs[k] != nullptr && pin_count(step, k) > std::size_t{step.is_pending})
      pin(*step.inputs[k]);
  for (std::size_t k = 0; k < step.outputs.size(); ++k) {
    if (step.outputs[k] == nullptr || !is_in(reads.outputs, k)) continue;
    step.pinned_outputs |= mask_bit(k);
    pin(*step.outputs[k]);
  }
}

void State::drop_memory_if_unneeded(Value& value) noexcept {
  if (!value.tensor || value.handles > 0 || value.pins > 0) return;
  saved_bytes -= value.form->bytes;
  free_memory(value);
}

void State::unpin(Value& value) {
  --value.pins;
  drop_memory_if_unneeded(value);
}

void State::add_pending_read(Value& value) {
  pin(value);
  if (value.pending_reads++ == 0) count_waiting(value);
}

void State::end_pending_read(Value& value) {
  if (--value.pending_reads == 0) count_waiting(value);
  unpin(value);
}

void State::count_waiting(Value& value) noexcept {
  const bool is_waiting = value.tensor && value.handles == 0 && value.pending_reads > 0;
  if (std::exchange(value.is_waiting, is_waiting) == is_waiting) return;
  waiting_bytes -= std::exchange(value.waiting_bytes, 0);
  if (!is_waiting) return;
  const mote_storage* storage = value.tensor->raw().storage;
  value.waiting_bytes = std::max(value.form->bytes, storage == nullptr ? 0 : storage->block_bytes);
  waiting_bytes += value.waiting_bytes;
}

void State::set_done(Step& step) {
  if (!std::exchange(step.is_pending, false)) return;
  --pending_steps;
  for (const Value* output : step.outputs)
    if (output != nullptr) pending_bytes -= output->form->bytes;
  for (Value* input : step.inputs)
    if (input != nullptr) end_pending_read(*input);
}

void State::forget(Step& step) {
  const Ref<Step> stays(&step);
  for (Value*& output : step.outputs)
    if (Value* value = std::exchange(output, nullptr)) value->producer.reset();
}

/// No gradient with respect to what the step reads can be asked for any more.
void State::stop_tracing(Step& step) {
  step.is_traced = false;
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    if (step.inputs[k] != nullptr && pin_count(step, k) > std::size_t{step.is_pending})
      unpin(*step.inputs[k]);
  for (std::size_t k = 0; k < step.outputs.size(); ++k)
    if (step.outputs[k] != nullptr && is_in(step.pinned_outputs, k)) unpin(*step.outputs[k]);
  step.pinned_inputs = step.pinned_outputs = 0;
  step.pins_rest = false;
  if (!step.is_pending) forget(step);
}

/// Makes an output that nothing names any more its step's own, if the step's gradient reads it and
/// another output stays.
bool State::keep_for_gradient(Value& value) noexcept {
  if (!value.producer || value.producer->refs == 1) return false;
  Step& step = *value.producer;
  const bool is_there = value.tensor || step.is_pending;
  if (!is_there || !is_in(step.pinned_outputs, value.output)) return false;
  step.hidden.emplace_back(&value);  // there is room for all outputs
  value.hidden_by = &step;
  value.producer.reset();
  return true;
}

/// Frees what nothing owns any more, and what that owned, without recursion: traces are long.
void State::free_dead() noexcept {
  if (is_freeing) return;
  is_freeing = true;
  while (dead_values != nullptr || dead_steps != nullptr) {
    if (Value* value = dead_values) {
      dead_values = value->next_dead;
      if (keep_for_gradient(*value)) continue;
      if (value->is_in_memo) memo.forget(*value);
      if (value->producer) {
        Step& step = *value->producer;
        if (step.is_pending) pending_bytes -= value->form->bytes;
        step.outputs[value->output] = nullptr;
      }
      if (value->tensor && value->handles == 0) saved_bytes -= value->form->bytes;
      if (value->tensor) free_memory(*value);
      if (value->previous != nullptr) value->previous->next = value->next;
      if (value->next != nullptr) value->next->previous = value->previous;
      if (all_values == value) all_values = value->next;
      --values;
      delete value;
      continue;
    }
    Step* step = dead_steps;
    dead_steps = step->next_dead;
    if (step->previous != nullptr) step->previous->next = step->next;
    if (step->next != nullptr) step->next->previous = step->previous;
    if (steps == step) steps = step->next;
    --step_count;
    if (step->is_pending) --pending_steps;
    for (std::size_t k = 0; k < step->inputs.size(); ++k) {
      Value* input = step->inputs[k];
      if (input == nullptr) continue;
      if (step->is_pending) end_pending_read(*input);
      if (pin_count(*step, k) > std::size_t{step->is_pending}) unpin(*input);
      if (--input->refs == 0) input->next_dead = std::exchange(dead_values, input);
    }
    for (const Ref<Value>& one : step->hidden) one->hidden_by = nullptr;
    saved_bytes -= step->tape_bytes;
    if (has_code(*step)) {
      step->hidden.clear();
      step->sources.clear();
      mutex.gone.add(*step);
    } else {
      delete step;
    }
  }
  is_freeing = false;
}

}  // namespace mote::trace
