// SPDX-License-Identifier: Apache-2.0
#include "schedule/once.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "mote/codegen/in_place.h"
#include "mote/codegen/optional_outputs.h"
#include "mote/uops/once.h"

namespace mote {
Refusal compute_once(LoopProgram& p, std::string& effect) {
  std::optional<Program> once = computed_once(*p.source);
  if (!once) return "no costly value is computed twice, along axes in different orders";
  std::vector<std::string> outputs;
  for (const Output& o : once->outputs) outputs.push_back(o.name);
  LoopProgram now = compile_for_calls(std::make_shared<const Program>(*std::move(once)), outputs);
  for (const InPlacePair& pair : pairs_in_place(p))
    if (auto why = why_not_in_place(now, {&pair, 1}))
      return fmt::format("a call in place that is allowed would not be any more: {}", *why);
  now.native = p.native;
  std::vector<std::string> kept;
  for (const TensorDecl& t : now.tensors)
    if (t.role == TensorRole::temporary && !t.shape.empty()) kept.push_back(t.name);
  if (!kept.empty()) effect = fmt::format("keeps {}", fmt::join(kept, ", "));
  p = std::move(now);
  return std::nullopt;
}

}  // namespace mote
