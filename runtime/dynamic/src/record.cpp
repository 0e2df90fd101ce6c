// SPDX-License-Identifier: Apache-2.0
// Runs what a program gives, and adds it to the trace as far as a gradient may need it.
#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <utility>

#include "fail.h"
#include "gradient/tape_store.h"
#include "mote/runtime/error_under_way.h"
#include "state.h"

namespace mote::trace {
namespace {

thread_local int no_gradients = 0;

std::vector<Value*> pointers(std::span<const Ref<Value>> values) {
  std::vector<Value*> list;
  for (const Ref<Value>& value : values) list.push_back(value.get());
  return list;
}

}  // namespace

bool has_no_gradient() { return no_gradients > 0; }

Tracing::Tracing() : no_gradients_(std::exchange(no_gradients, 0)) {}
Tracing::~Tracing() { no_gradients = no_gradients_; }

TensorMask State::wanted_of(std::span<Value* const> inputs) const {
  TensorMask mask = 0;
  if (no_gradients > 0) return mask;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] != nullptr && inputs[k]->is_traced) mask |= mask_bit(k);
  return mask;
}

bool State::traces(std::span<Value* const> inputs) const {
  return no_gradients == 0 && std::ranges::any_of(inputs, [](const Value* input) {
           return input != nullptr && input->is_traced;
         });
}

/// Returns what the command's gradient will read; null if no gradient can be asked for.
const GradientReads* State::reads_of(Kernel& kernel, std::span<Value* const> inputs) {
  if (!traces(inputs)) return nullptr;
  // If there are more inputs than a mask holds, all are taken to be read.
  static constexpr GradientReads kAll{
      .inputs = ~TensorMask{0}, .outputs = ~TensorMask{0}, .flows = true};
  if (inputs.size() > kMaxMasked) return &kAll;
  const GradientReads& reads = kernels.reads(kernel, wanted_of(inputs));
  return reads.flows ? &reads : nullptr;
}

bool State::defers(std::span<Value* const> inputs) const {
  return options.deferred || std::ranges::any_of(inputs, [](const Value* input) {
           return input != nullptr && !input->tensor;
         });
}

std::uint64_t State::call(Kernel& kernel, std::span<Value* const> inputs,
                          std::span<const Tensor* const> outputs) {
  BoundCall& call = *kernel.call;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] != nullptr) call.bind_input(static_cast<int>(k), inputs[k]->tensor->data());
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k] != nullptr) call.bind_output(static_cast<int>(k), outputs[k]->data());
  if (kernel.device) return call_on_device(kernel, call, inputs, outputs);
  if (!kernel.is_on_host) {
    wait_for_devices();
    check_devices(inputs);
  }
  call.run();
  return 0;
}

/// Makes the values of a command's outputs, and computes them unless they are pending.
CommandResults State::compute(Kernel& kernel, std::span<Value* const> inputs, bool is_traced,
                              bool is_pending) {
  CommandResults results(kernel.outputs.size());
  constexpr std::size_t kFew = 4;
  std::array<const Tensor*, kFew> few{};
  std::vector<const Tensor*> many(kernel.outputs.size() > kFew ? kernel.outputs.size() : 0);
  const std::span<const Tensor*> tensors =
      many.empty() ? std::span(few.data(), kernel.outputs.size()) : std::span(many);
  for (std::size_t k = 0; k < kernel.outputs.size(); ++k) {
    const SharedForm& form = kernel.outputs[k];
    if (!form) continue;
    Ref<Value>& result = results.all()[k];
    result = is_pending ? make_value(form, std::nullopt, is_traced && form->is_real)
                        : make_value_with_memory(form, is_traced && form->is_real);
    if (!is_pending) tensors[k] = &*result->tensor;
  }
  if (is_pending) return results;
  if (const std::uint64_t command = call(kernel, inputs, tensors))
    for (const Ref<Value>& result : results.all())
      if (result) result->on_device = command;
  return results;
}

CommandResults State::run(Lock& lock, const Command& command, std::span<Value* const> inputs,
                          std::optional<DType> dtype) {
  // This comes first, since a value that is computed now has no variable yet and would be dropped.
  forget_on_the_way();
  if (options.saved_bytes > 0) limit_saved();
  const Ref<Kernel> kernel = kernels.find(command, inputs, dtype);
  const GradientReads* reads = reads_of(*kernel, inputs);
  const bool is_kept = memo.is_on() && !kernel->is_random;
  if (is_kept)
    if (const auto* known = memo.find(*kernel, inputs, reads != nullptr))
      return CommandResults(*known);
  const bool is_pending = defers(inputs);
  CommandResults results = compute(*kernel, inputs, reads != nullptr, is_pending);
  if (is_pending || reads != nullptr) {
    Step* step = make_step(kernel, inputs, results.all(), reads != nullptr, is_pending);
    if (reads != nullptr) pin_reads(*step, *reads);
  }
  if (is_kept) memo.add(kernel, inputs, results.all(), reads != nullptr);
  if (is_pending) limit_pending(lock);
  return results;
}

Ref<Value> State::view(Value& x, const ViewStep& step, bool is_traced) {
  const ViewRegion region = apply(step, ViewRegion{x.form->form, 0});
  std::optional<Tensor> tensor;
  if (x.tensor) tensor = apply(step, *x.tensor);
  Value* const input = &x;
  const bool is_pending = !tensor;
  Results results{make_value(kernels.form_of(region.form), tensor, is_traced)};
  results[0]->on_device = x.on_device;
  if (is_traced || is_pending)
    make_step(step, std::span(&input, 1), results, is_traced, is_pending);
  return results[0];
}

Ref<Value> State::convert(Value& x, const SharedForm& form) {
  Value* const input = &x;
  const bool is_pending = defers(std::span(&input, 1));
  const bool is_traced = traces(std::span(&input, 1)) && form->is_real && x.form->is_real;
  std::optional<Tensor> tensor;
  if (!is_pending) {
    tensor = allocate(*form);
    wait_for_devices(std::span(&input, 1), std::span(&*tensor, 1));
    copy(*x.tensor, *tensor);
  }
  Results results{make_value(form, tensor, is_traced)};
  if (is_traced || is_pending)
    make_step(Conversion{form}, std::span(&input, 1), results, is_traced, is_pending);
  return results[0];
}

Results State::run_graph(Lock& lock, const std::shared_ptr<GraphWork>& work,
                         std::span<Value* const> inputs, bool is_traced) {
  const bool is_pending = defers(inputs);
  std::vector<SharedForm> forms;
  for (const TensorSymbol output : work->outputs)
    forms.push_back(kernels.form_of(work->graph.form(output)));
  const std::vector<Tensor> tensors = is_pending ? std::vector<Tensor>() : allocate(forms);
  const Kept stay(*this, inputs);
  std::vector<std::shared_ptr<TapeStore>> tapes;
  if (!is_pending && is_traced && work->has_tape) {
    const TapeHold hold;
    run_work(lock, *work, inputs, tensors);
    tapes = hold.stores();
  } else if (!is_pending) {
    run_work(lock, *work, inputs, tensors);
  }
  Results results = make_values(forms, tensors, is_traced);
  if (is_traced || is_pending) {
    Step* step = make_step(work, inputs, results, is_traced, is_pending);
    for (const auto& tape : tapes) step->tape_bytes += static_cast<std::size_t>(tape->bytes());
    step->tapes = std::move(tapes);
    saved_bytes += step->tape_bytes;
    if (is_traced) pin_reads(*step, {.inputs = ~TensorMask{0}, .outputs = work->read_outputs});
    hide(*step, std::span(results).subspan(work->visible_outputs));
    if (is_pending) limit_pending(lock);
  }
  results.resize(work->visible_outputs);
  return results;
}

/// Makes outputs the step's own, which only its gradient reads.
void State::hide(Step& step, std::span<const Ref<Value>> outputs) {
  for (const Ref<Value>& output : outputs) {
    pin(*output);
    step.hidden.push_back(output);
    output->hidden_by = &step;
    output->producer.reset();
  }
}

/// Makes the values of a step's outputs; without tensors they are pending.
Results State::make_values(std::span<const SharedForm> forms, std::span<const Tensor> tensors,
                           bool is_traced) {
  Results results;
  for (std::size_t k = 0; k < forms.size(); ++k)
    results.push_back(make_value(forms[k],
                                 tensors.empty() ? std::nullopt : std::optional(tensors[k]),
                                 is_traced && forms[k]->is_real));
  return results;
}

std::vector<Tensor> State::allocate(std::span<const SharedForm> forms) {
  std::vector<Tensor> tensors;
  for (const SharedForm& form : forms) tensors.push_back(allocate(*form));
  return tensors;
}

/// Calls the function without the lock.
void State::call_function(Lock& lock, const NamedFunction& function, std::span<Value* const> inputs,
                          std::span<const Tensor> outputs) {
  wait_for_devices(inputs, outputs);
  std::vector<Tensor> given;
  for (const Value* input : inputs) given.push_back(input == nullptr ? Tensor() : *input->tensor);
  const Unlocked unlocked(lock);
  try {
    function.run(given, outputs);
  } catch (...) {
    const auto [status, what] = error_under_way();
    fail("function " + function.name + ": " + what, status);
  }
}

/// Runs a graph on values with memory, without the lock if it runs the caller's code.
void State::run_work(Lock& lock, GraphWork& work, std::span<Value* const> inputs,
                     std::span<const Tensor> outputs) {
  wait_for_devices(inputs, outputs);
  std::vector<const Tensor*> given;
  std::vector<std::shared_ptr<TapeStore>> tapes;  // another thread may free what has them
  for (const Value* input : inputs) {
    given.push_back(input == nullptr || !input->tensor ? nullptr : &*input->tensor);
    if (input != nullptr && input->hidden_by != nullptr)
      tapes.insert(tapes.end(), input->hidden_by->tapes.begin(), input->hidden_by->tapes.end());
  }
  RunningGraph running(work, *context);
  if (running.is_new()) graphs.limit_bytes();
  if (!work.has_functions) {
    running.run(given, outputs);
    return;
  }
  const Unlocked unlocked(lock);
  running.run(given, outputs);
}

Results State::run_function(Lock& lock, const std::shared_ptr<const NamedFunction>& function,
                            std::span<Value* const> inputs, std::span<const SharedForm> outputs) {
  const bool is_traced = traces(inputs);
  const bool is_pending = defers(inputs);
  const std::vector<Tensor> tensors = is_pending ? std::vector<Tensor>() : allocate(outputs);
  const Kept stay(*this, inputs);
  if (!is_pending) call_function(lock, *function, inputs, tensors);
  const Results results = make_values(outputs, tensors, is_traced);
  if (!is_traced && !is_pending) return results;
  Step* step = make_step(FunctionWork{function, {outputs.begin(), outputs.end()}}, inputs, results,
                         is_traced, is_pending);
  if (is_traced) pin_reads(*step, {.inputs = ~TensorMask{0}, .outputs = ~TensorMask{0}});
  if (is_pending) limit_pending(lock);
  return results;
}

void State::set_tensor(Value& value, std::unique_ptr<Tensor> tensor) noexcept {
  value.tensor = std::move(tensor);
  if (value.handles == 0) saved_bytes += value.form->bytes;
  if (value.is_unseen) count_unseen(value);
  if (value.pending_reads > 0) count_waiting(value);
  drop_memory_if_unneeded(value);
}

/// Computes what variables have if pending values, and those that wait for them, need too much
/// memory. What fails stays pending, and is not tried here again: its error belongs to whoever
/// looks at it, and not to the command that needs the memory.
void State::limit_pending(Lock& lock) {
  if (pending_bytes + waiting_bytes <= options.pending_bytes) return;
  std::vector<Ref<Value>> pending = pending_of_variables();
  std::erase_if(pending, [](const Ref<Value>& value) { return value->has_failed; });
  try {
    evaluate(lock, pointers(pending));
  } catch (const std::exception&) {
    compute_each(lock, pending);
  }
}

void State::compute_each(Lock& lock, std::span<const Ref<Value>> values) {
  for (const Ref<Value>& value : values) {
    try {
      evaluate(lock, *value);
    } catch (const std::bad_alloc&) {
      continue;  // there may be memory the next time
    } catch (const std::exception&) {
      value->has_failed = true;
    }
  }
}

void State::finish(Lock& lock) {
  const std::vector<Ref<Value>> pending = pending_of_variables();
  const std::vector<Value*> wanted = pointers(pending);
  evaluate(lock, wanted);
  wait_for_devices();
  for (const auto& queue : queues) queue->check_all();
}

}  // namespace mote::trace

namespace mote {

NoGradient::NoGradient() { ++trace::no_gradients; }
NoGradient::~NoGradient() { --trace::no_gradients; }

}  // namespace mote
