// SPDX-License-Identifier: Apache-2.0
// In: a stage as it was cut; out: the form that the steps of a GPU begin with, whose iterations
// threads take, and the loops that its workers share.
#include "stage_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/dependence.h"
#include "schedule/iterations.h"

namespace mote::cuda {
namespace {

Loop* first_of_shared(Body& body) {
  for (Stmt& s : body) {
    Loop* loop = as_loop(s);
    if (loop != nullptr && loop->kind == LoopKind::threads) return loop;
    Body* nested = nested_body(s);
    if (Loop* found = nested != nullptr ? first_of_shared(*nested) : nullptr) return found;
  }
  return nullptr;
}

/// Leaves the first `count` of the shared loops to the workers, and the others to each iteration.
void share_first(StageForm& form, std::size_t count) {
  const std::vector<const Loop*> chain = shared_by_workers(form.stage.body);
  if (count == chain.size()) return;
  Expr iterations = 1;
  for (std::size_t k = 0; k < count; ++k)
    iterations = iterations * max(0, ceil_div(chain[k]->end - chain[k]->begin, chain[k]->step));
  Loop& first = *first_of_shared(form.stage.body);
  mark_threads(first, count);
  first.work = form.iterations = form.stage.iterations = iterations;
  form.version.program.body = form.stage.body;
  form.stage.rows = std::nullopt;
}

/// Returns why the workers of the stage do not share `loop` as the k-th of its loops: the
/// dependence that forbids it, or the loop that is expected.
std::string why_not_shared(const StageForm& form, std::size_t k, const std::string& loop) {
  const std::vector<const Loop*> chain = shared_by_workers(form.stage.body);
  const auto is_it = [&](const Loop* l) { return l->variable.name() == loop; };
  std::string why;
  for_each(form.version.program.body, [&](const Stmt& s) {
    const Loop* found = as_loop(s);
    if (found != nullptr && (chain.empty() || is_it(found)) && why.empty())
      why = why_dependent(form.version.program, s);
  });
  if (!why.empty() && std::ranges::none_of(chain, is_it)) return why;
  if (k < chain.size())
    return fmt::format("expected {} in the place of {}", chain[k]->variable.name(), loop);
  return fmt::format(
      "{} is not the only statement of a loop that is shared, with limits that do not change",
      loop);
}

}  // namespace

std::vector<const Loop*> shared_by_workers(const Body& body) {
  const std::vector<const Loop*> first = first_of_threads(body);
  return first.empty() ? std::vector<const Loop*>() : threads_chain(*first.front());
}

Refusal why_has_workers(const StageForm& form) {
  if (form.version.steps.size() == form.steps_before) return std::nullopt;
  return fmt::format("step '{}' was taken before it", to_string(form.version.steps.back().step));
}

StageForm start_of(const LoopProgram& all, const Stage& stage, std::vector<TakenStep> before,
                   CudaVariant variant) {
  const std::size_t steps = before.size();
  StageForm form{
      {"", std::move(before), all}, stage, variant, CudaPerThread(), stage.iterations, steps};
  form.version.program.body = stage.body;
  if (stage.in_order) form.worker = CudaInOrder();
  return form;
}

Refusal share_loops(StageForm& form, const Step& step) {
  const std::vector<const Loop*> chain = shared_by_workers(form.stage.body);
  for (std::size_t k = 0; k < step.targets.size(); ++k)
    if (k >= chain.size() || chain[k]->variable.name() != step.targets[k].name)
      return why_not_shared(form, k, step.targets[k].name);
  share_first(form, step.targets.size());
  return std::nullopt;
}

std::optional<Step> step_of_shared(StepKind kind, const Stage& stage, std::size_t left) {
  const std::vector<const Loop*> chain = shared_by_workers(stage.body);
  if (chain.size() <= left) return std::nullopt;
  Step step{kind, {}};
  for (std::size_t k = 0; k + left < chain.size(); ++k)
    step.targets.push_back({chain[k]->variable.name()});
  return step;
}

}  // namespace mote::cuda
