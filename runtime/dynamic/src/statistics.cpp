// SPDX-License-Identifier: Apache-2.0
#include <unordered_set>

#include "state.h"

namespace mote {
namespace trace {

DynamicStatistics State::statistics() {
  DynamicStatistics found{.variables = variables,
                          .values = values,
                          .steps = step_count,
                          .pending_steps = pending_steps,
                          .free_bytes = pool->free_bytes() + kernels.unused_bytes(),
                          .memo_hits = memo.hits(),
                          .compiled_graphs = graphs.size(),
                          .compilations = graphs.made(),
                          .compiled_bytes = graphs.bytes(),
                          .computed_again = computed_again};
  // Memory that several values share counts once, for the first reason.
  std::unordered_set<const void*> counted;
  const auto count = [&](const Value& value, std::size_t& bytes) {
    const void* memory = value.tensor->owns_memory()
                             ? static_cast<const void*>(value.tensor->raw().storage)
                             : value.tensor->data();
    if (counted.insert(memory).second) bytes += value.form->bytes;
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
