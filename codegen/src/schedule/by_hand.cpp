// SPDX-License-Identifier: Apache-2.0
// Takes the steps that a person names, one after the other, and refuses those that would break a
// dependence.
#include <fmt/format.h>

#include <algorithm>

#include "ir/dependence.h"
#include "mote/base/error.h"
#include "mote/codegen/schedule.h"
#include "schedule/iterations.h"
#include "schedule/take.h"
#include "schedule/versions.h"

namespace mote {
namespace {

/// Returns the variables of the loops of threads that hold the loop; of all of them if it has no
/// name.
std::vector<std::string> threads_around(const LoopProgram& p, const std::string& loop) {
  std::vector<std::string> around;
  if (loop.empty())
    for (const Path& path : loops_of(p))
      if (as_loop(at(p, path))->kind == LoopKind::threads)
        around.push_back(as_loop(at(p, path))->variable.name());
  const auto found = find_loop(p, loop);
  for (std::size_t depth = 1; found && depth < found->size(); ++depth) {
    const Path above(found->begin(), found->begin() + static_cast<std::ptrdiff_t>(depth));
    const Loop* l = as_loop(at(p, above));
    if (l != nullptr && l->kind == LoopKind::threads) around.push_back(l->variable.name());
  }
  return around;
}

/// Takes the step, unless it leaves a loop that threads share without a proof that its iterations
/// are independent; then v is not as it was.
Refusal take_by_hand(Version& v, const Step& step, const ScheduleOptions& options) {
  std::vector<std::string> shared = threads_around(v.program, step.targets.front().name);
  if (step.kind == StepKind::threads)
    for (const StepTarget& target : step.targets) shared.push_back(target.name);
  if (auto why = take(v, step, options)) return why;
  for (const std::string& loop : shared)
    if (find_loop(v.program, loop) &&
        !independent_iterations(v.program, at(v.program, *find_loop(v.program, loop))))
      return fmt::format(
          "the iterations of {}, which threads share, would not be known to be "
          "independent any more",
          loop);
  return std::nullopt;
}

/// Returns true if the text depends on the size of vectors.
bool uses_vectors(const LoopProgram& p) {
  bool found = std::ranges::any_of(
      p.tensors, [](const TensorDecl& t) { return t.memory == TensorMemory::registers; });
  for_each(p.body, [&](const Stmt& s) {
    const Loop* loop = as_loop(s);
    found = found || (loop != nullptr && loop->kind == LoopKind::transposed);
  });
  return found;
}

}  // namespace

Version scheduled_by(const LoopProgram& p, std::span<const Step> steps,
                     const ScheduleOptions& options) {
  Version v = native(p);
  for (const Step& step : steps) {
    Refusal why = take_by_hand(v, step, options);
    if (!why) continue;
    if (*why == kDependent)
      why = why_dependent(v.program, at(v.program, *find_loop(v.program, step.targets[0].name)));
    throw Error(fmt::format("{}: step '{}' cannot be taken: {}", p.name, to_string(step), *why));
  }
  if (!uses_vectors(v.program)) v.program.vector_bytes = 0;
  verify(v.program);
  return v;
}

Schedule schedule_by(const LoopProgram& p, std::span<const Step> steps,
                     const ScheduleOptions& options) {
  Schedule s{{scheduled_by(p, steps, options)}};
  const LoopProgram& own = s.versions.front().program;
  if (own.strides.empty() && own.demands.empty()) return s;
  s.versions.front().name = "by_hand";
  s.versions.push_back(native(p));
  share_outermost(s.versions.back(), options);
  return s;
}

}  // namespace mote
