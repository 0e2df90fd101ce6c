// SPDX-License-Identifier: Apache-2.0
// Says what a graph consists of, and why memory is kept.
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "graph_work.h"
#include "state.h"

namespace mote {
namespace trace {

namespace {

/// Values with the same result share memory.
const void* memory_of(const Value& value) {
  return value.tensor->owns_memory() ? static_cast<const void*>(value.tensor->raw().storage)
                                     : value.tensor->data();
}

/// The first reason for which each piece of memory is kept.
class Reasons {
 public:
  explicit Reasons(const State& state) {
    for (const Value* value = state.all_values; value != nullptr; value = value->next)
      if (value->handles > 0) note(value, "a variable has it");
    for (const Step* step = state.steps; step != nullptr; step = step->next) {
      const std::string reader =
          (step->is_pending ? "pending " : "the gradient of ") + text_of(*step) + " reads it";
      for (std::size_t k = 0; k < step->inputs.size(); ++k)
        if (state.pin_count(*step, k) > 0) note(step->inputs[k], reader);
      for (std::size_t k = 0; k < step->outputs.size(); ++k)
        if (is_in(step->pinned_outputs, k)) note(step->outputs[k], reader);
      for (const Ref<Value>& hidden : step->hidden) note(hidden.get(), reader);
    }
    for (const Value* value : state.memo.values()) note(value, "it is kept for equal commands");
    for (const auto& [number, constant] : state.scalars)
      note(constant.get(), "it is a constant that commands have used");
  }
  const std::string& of(const Value& value) {
    return reasons_.try_emplace(memory_of(value), "it is being computed").first->second;
  }

 private:
  void note(const Value* value, const std::string& reason) {
    if (value != nullptr && value->tensor) reasons_.try_emplace(memory_of(*value), reason);
  }

  std::unordered_map<const void*, std::string> reasons_;
};

std::size_t free_device_bytes(const State& state) {
  std::size_t bytes = 0;
  for (const auto& queue : state.queues) bytes += queue->free_bytes();
  return bytes;
}

}  // namespace

std::vector<KeptMemory> State::kept_memory() {
  forget_unasked();
  Reasons reasons(*this);
  std::vector<KeptMemory> found;
  std::unordered_set<const void*> listed;
  for (const Value* value = all_values; value != nullptr; value = value->next)
    if (value->tensor && listed.insert(memory_of(*value)).second)
      found.push_back({to_string(value->form->form), value->form->bytes, reasons.of(*value)});
  for (const Step* step = steps; step != nullptr; step = step->next)
    if (step->tape_bytes > 0)
      found.push_back(
          {"a tape", step->tape_bytes, "the gradient of " + text_of(*step) + " reads it"});
  return found;
}

DynamicStatistics State::statistics() {
  forget_unasked();
  DynamicStatistics found{
      .variables = variables,
      .values = values,
      .steps = step_count,
      .pending_steps = pending_steps,
      .free_bytes = pool->free_bytes() + kernels.unused_bytes() + free_device_bytes(*this),
      .memo_hits = memo.hits(),
      .compiled_graphs = graphs.size(),
      .compilations = graphs.made(),
      .compiled_bytes = graphs.bytes(),
      .computed_again = computed_again,
      .forgotten = forgotten};
  // Memory that several values share counts once, for the first reason.
  std::unordered_set<const void*> counted;
  const auto count = [&](const Value& value, std::size_t& bytes) {
    if (counted.insert(memory_of(value)).second) bytes += value.form->bytes;
  };
  std::unordered_set<const Value*> in_memo;
  for (const Value* value : memo.values()) in_memo.insert(value);
  for (const Value* value = all_values; value != nullptr; value = value->next)
    if (value->tensor && value->handles > 0) count(*value, found.variable_bytes);
  for (const Value* value = all_values; value != nullptr; value = value->next) {
    if (!value->tensor || value->handles > 0) continue;
    const bool is_only_memo = in_memo.contains(value) && value->pins == 1;
    count(*value, is_only_memo ? found.memo_bytes : found.saved_bytes);
  }
  for (const Step* step = steps; step != nullptr; step = step->next)
    found.saved_bytes += step->tape_bytes;
  return found;
}

std::string text_of(const Step& step) {
  if (const auto* kernel = std::get_if<Ref<Kernel>>(&step.work))
    return to_string((*kernel)->command);
  if (const auto* function = std::get_if<FunctionWork>(&step.work)) return function->function->name;
  if (const auto* view = std::get_if<ViewStep>(&step.work)) return name(view->kind);
  if (const auto* graph = std::get_if<std::shared_ptr<GraphWork>>(&step.work))
    return "graph " + (*graph)->graph.name();
  return "a conversion";
}

}  // namespace trace

std::string to_text(const DynamicStatistics& s) {
  const auto line = [](const char* what, std::size_t count) {
    return std::string(what) + " " + std::to_string(count) + "\n";
  };
  return line("variables", s.variables) + line("values", s.values) + line("steps", s.steps) +
         line("pending steps", s.pending_steps) + line("bytes of variables", s.variable_bytes) +
         line("bytes that gradients and pending steps read", s.saved_bytes) +
         line("bytes kept for equal commands", s.memo_bytes) + line("bytes free", s.free_bytes) +
         line("equal commands found", s.memo_hits) + line("graphs kept", s.compiled_graphs) +
         line("bytes of their memory", s.compiled_bytes) + line("graphs compiled", s.compilations) +
         line("steps computed again", s.computed_again);
}

}  // namespace mote
